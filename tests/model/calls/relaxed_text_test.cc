// Arguments that are not quite JSON.
#include "model/calls/relaxed_text.h"

#include <gtest/gtest.h>

#include "base/exact_number.h"
#include "base/tool_types.h"

namespace cascade {
namespace {

// The members of a text that ends with ')', as JSON.
std::string members(const std::string& text) {
  RelaxedText relaxed(text);
  const auto read = relaxed.members(')', [](const std::string& member, const std::string& bare) {
    return bare == "?" ? OrderedJson("in " + member) : ToolTypes().value("", "", bare);
  });
  return read ? dump_exact(*read) + std::string(relaxed.rest()) : "none";
}

TEST(RelaxedText, literals_of_python_and_json_are_values) {
  EXPECT_EQ(members("a=1, b = -2.5,c=1e3, d=True, e=false, f=None, g=null) rest"),
            R"({"a":1,"b":-2.5,"c":1000.0,"d":true,"e":false,"f":null,"g":null} rest)");
  EXPECT_EQ(members("a=[1, 'x', [], {}], b={'k': {\"n\": None}, m: 2})"),
            R"({"a":[1,"x",[],{}],"b":{"k":{"n":null},"m":2}})");
  EXPECT_EQ(members(")"), "{}");
  EXPECT_EQ(members("a=two words, b=)"), "none");
  EXPECT_EQ(members("a=two words)"), R"({"a":"two words"})");
}

TEST(RelaxedText, bare_values_know_the_outermost_member) {
  EXPECT_EQ(members("a=?,b=[?],c={d:?})"), R"({"a":"in a","b":["in "],"c":{"d":"in "}})");
}

TEST(RelaxedText, strings_have_the_escapes_of_both_languages) {
  EXPECT_EQ(members(R"(a="\n\t\\\"\/", b='\'\x41\u00e9')"), R"({"a":"\n\t\\\"/","b":"'Aé"})");
  EXPECT_EQ(members(R"(a="\ud83d\ude00\ud83d \u12 \q")"), "{\"a\":\"😀\uFFFD \\\\u12 \\\\q\"}");
  EXPECT_EQ(members("a='two\nlines')"), R"({"a":"two\nlines"})");
  EXPECT_EQ(members("a='\\"), R"({"a":"\\"})");
}

TEST(RelaxedText, a_quote_within_a_string_is_its_text) {
  EXPECT_EQ(members("a='it's', b=\"say \"hi\" now\")"), R"({"a":"it's","b":"say \"hi\" now"})");
  EXPECT_EQ(members("a='x' y)"), "none");
  EXPECT_EQ(members("a='never closed"), R"({"a":"never closed"})");
}

TEST(RelaxedText, strings_between_marks_are_not_escaped) {
  EXPECT_EQ(members("a:\xFF\"\\n', }\xFF,\xFFk\xFF:[\xFF\xFF])"), R"({"a":"\"\\n', }","k":[""]})");
  EXPECT_EQ(members("a:\xFFnever closed)"), R"({"a":"never closed"})");
  // Elsewhere the byte does not count.
  EXPECT_EQ(members("a\xFF:b\xFF"
                    "c,d:'x\xFFy')"),
            R"({"a":"bc","d":"xy"})");
}

TEST(RelaxedText, brackets_that_are_missing_at_the_end_are_tolerated) {
  for (const char* text : {"a=[1,{b:2}", "a=[1,{b:2", "a=[1,{b:2}]", "a=[1,{b:2}],"}) {
    EXPECT_EQ(members(text), R"({"a":[1,{"b":2}]})") << text;
  }
}

TEST(RelaxedText, other_texts_are_no_members) {
  for (const char* text : {"a", "a)", "=", "a=", "1,2)", "a={b})", "a=[,])", "(", "]", "a=)"}) {
    EXPECT_EQ(members(text), "none") << text;
  }
  EXPECT_EQ(members("a=1 b==2)"), R"({"a":"1 b==2"})");
  EXPECT_EQ(members("a=[1})"), "{\"a\":[\"1})\"]}");
}

TEST(RelaxedText, nesting_has_a_limit) {
  const auto nested = [](size_t depth) {
    return members("a=" + std::string(depth, '[') + std::string(depth, ']') + ")");
  };
  EXPECT_NE(nested(64), "none");
  EXPECT_EQ(nested(65), "none");
  EXPECT_EQ(nested(100'000), "none");
}

TEST(RelaxedText, many_quotes_take_no_longer) {
  std::string text = "a='";
  for (int i = 0; i < 200'000; ++i) text += "' x ";
  EXPECT_EQ(members(text), "none");
  std::string lists = "a=[";
  for (int i = 0; i < 50'000; ++i) lists += "'v',";
  EXPECT_NE(members(lists), "none");
}

}  // namespace
}  // namespace cascade
