// Calls of Gemma 4, OLMo 3, LFM2 and Llama 4.
#include "model/calls/relaxed_body.h"

#include <gtest/gtest.h>

#include "model/mark_bytes.h"
#include "tests/model/calls/calls_testing.h"

namespace cascade {
namespace {

using testing::kCallTools;
using testing::lines_of;

std::string gemma(std::string body, bool has_token = true) {
  const std::string mark = has_token ? mark_bytes("<|\"|>") : "<|\"|>";
  for (size_t at; (at = body.find("~")) != body.npos;) body.replace(at, 1, mark);
  return lines_of(read_gemma(body, ToolTypes(kCallTools)));
}

std::string pythonic(const std::string& body, bool only_known = false) {
  return lines_of(read_pythonic(body, ToolTypes(kCallTools), only_known));
}

TEST(GemmaBody, a_call_has_a_name_and_values_of_all_kinds) {
  for (const bool has_token : {false, true}) {
    EXPECT_EQ(gemma("call:f{filters:{max:3,tags:[~a~,~b~]},query:~café \"best\", }{~,z:null,"
                    "y:true,x:-0.5}",
                    has_token),
              R"({"name": "f", "arguments": {"filters":{"max":3,"tags":["a","b"]},)"
              R"("query":"café \"best\", }{","z":null,"y":true,"x":-0.5}})");
  }
  EXPECT_EQ(gemma("call:f{}"), R"({"name": "f", "arguments": {}})");
  EXPECT_EQ(gemma("call:f{a:~~}"), R"({"name": "f", "arguments": {"a":""}})");
}

TEST(GemmaBody, the_spelling_of_a_mark_is_text_if_the_mark_is_a_token) {
  EXPECT_EQ(gemma("call:f{a:~x<|\"|>y~}"), R"({"name": "f", "arguments": {"a":"x<|\"|>y"}})");
}

TEST(GemmaBody, bare_values_are_what_the_schema_says) {
  EXPECT_EQ(gemma("call:get{city:07,days:7}"),
            R"({"name": "get", "arguments": {"city":"07","days":7}})");
  EXPECT_EQ(gemma("call:get{city:New York (NY) here,days:x}"),
            R"({"name": "get", "arguments": {"city":"New York (NY) here","days":"x"}})");
}

TEST(GemmaBody, damage_that_models_make_is_tolerated) {
  const std::string call = R"({"name": "get", "arguments": {"city":"Paris","days":3}})";
  for (const char* body : {"get{city:~Paris~,days:3}", "call:get(city: \"Paris\", days: 3)",
                           "call:get{city=~Paris~,days=3}", "call:get{~city~:~Paris~,\"days\":3}",
                           " call: get {city:'Paris',days:3", "call:get{city:~Paris~,days:3}}"}) {
    EXPECT_EQ(gemma(body), call) << body;
  }
  EXPECT_EQ(gemma("call:get{city:~Paris}"), R"({"name": "get", "arguments": {"city":"Paris"}})");
  EXPECT_EQ(gemma("call:f{a b c}"), R"({"name": "f", "arguments": "{a b c}"})");
  EXPECT_EQ(gemma("call:a:b.c-d{}"), R"({"name": "a:b.c-d", "arguments": {}})");
  EXPECT_EQ(gemma("call:f"), R"({"name": "f", "arguments": {}})");
  for (const char* body : {"", " ", "call:", "{}", "call:{a:1}", "nothing here"})
    EXPECT_EQ(gemma(body), "") << body;
}

TEST(PythonicBody, calls_are_one_a_line_or_in_a_list) {
  const std::string both =
      "{\"name\": \"get\", \"arguments\": {\"city\":\"Paris\",\"days\":3}}\n"
      "{\"name\": \"a.b-c\", \"arguments\": {}}";
  for (const char* body :
       {"get(city=\"Paris\", days=3)\na.b-c()", "[get(city='Paris', days=3), a.b-c()]",
        "\n[get(city=\"Paris\", days=3),\n  a.b-c()\n]\n", "get(city=\"Paris\",days=3);a.b-c()",
        "[get(city='Paris', days=3), a.b-c("}) {
    EXPECT_EQ(pythonic(body), both) << body;
  }
}

TEST(PythonicBody, a_call_that_cannot_be_read_does_not_lose_the_others) {
  const std::string get = R"({"name": "get", "arguments": {"days":3}})";
  const std::string now = R"({"name": "now", "arguments": {}})";
  EXPECT_EQ(pythonic("f(1, 2)\nget(days=3)\nwhat is this\nnow()"), get + "\n" + now);
  EXPECT_EQ(pythonic("[bad line, get(days=3), now()]"), get + "\n" + now);
  EXPECT_EQ(pythonic("[get(days=), now()]"), now);
  EXPECT_EQ(pythonic("[get(days=3, now()]"), now);
  EXPECT_EQ(pythonic("f(1)\nother()"), "");  // after damage, only known functions count
  EXPECT_EQ(pythonic("get(days=3\nnow()"), get + "\n" + now);
  EXPECT_EQ(pythonic("[get(city=\"x\"]"), R"({"name": "get", "arguments": {"city":"x"}})");
  EXPECT_EQ(pythonic("get(\n  days=3\n)\nf(t=(1,'a'))"),
            get + "\n" + R"({"name": "f", "arguments": {"t":[1,"a"]}})");
  for (const char* body :
       {"", "[", "[]", "text", "f(1)", "two words(a=1)", "(a=1)", "\"f\"(a=1)", "f() is one"}) {
    EXPECT_EQ(pythonic(body), "") << body;
  }
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += "f(,";
  EXPECT_EQ(pythonic(many), "");
}

TEST(PythonicBody, only_known_functions_may_be_asked_for) {
  EXPECT_EQ(pythonic("[print(a=1)]"), R"({"name": "print", "arguments": {"a":1}})");
  for (const char* body :
       {"[print(a=1)]", "[now() is a function]", "[now(), print()]", "[now(1)]"}) {
    EXPECT_EQ(pythonic(body, /*only_known=*/true), "") << body;
  }
  EXPECT_EQ(pythonic("[get(days=1)]", true), R"({"name": "get", "arguments": {"days":1}})");
}

TEST(PythonicBody, bare_values_are_what_the_schema_says) {
  EXPECT_EQ(pythonic("get(city=07, days=7)"),
            R"({"name": "get", "arguments": {"city":"07","days":7}})");
}

}  // namespace
}  // namespace cascade
