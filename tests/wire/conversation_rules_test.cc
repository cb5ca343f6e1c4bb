// Which roles may speak last, and what an answer may go on with.
#include "wire/conversation_rules.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/wire/request_rule.h"
#include "wire/request_rules.h"

namespace cascade::wire {
namespace {

using testing::rule_of;

TEST(ConversationRules, say_what_an_answer_goes_on_with) {
  GenerateRequest request;
  request.messages = {{"user", "hi", "", false}, {"assistant", "hello", "", false}};
  request.continue_final_message = true;
  EXPECT_EQ(rule_of(request), "none");
  ApplyTemplateRequest shown;
  shown.messages = request.messages;
  shown.continue_final_message = true;
  EXPECT_EQ(rule_of(shown), "none");
  request.grammar.emplace();
  EXPECT_EQ(
      rule_of(request),
      "invalid_argument: continue_final_message: cannot be set with grammar, which applies from "
      "the beginning of the answer");
  request.grammar.reset();
  request.messages.back().content = "";
  EXPECT_EQ(rule_of(request),
            "invalid_argument: messages[1].content: must not be empty with continue_final_message");
  request.messages.back().tool_calls = R"([{"id":"call"}])";
  EXPECT_EQ(rule_of(request),
            "invalid_argument: messages[1].tool_calls: an answer with calls cannot be "
            "continued: give the results of its calls");
  request.messages.pop_back();
  EXPECT_EQ(rule_of(request),
            "invalid_argument: messages[0].role: with continue_final_message the last message must "
            "be the assistant's");
  request.messages.clear();
  request.prompt = "x";
  EXPECT_EQ(rule_of(request),
            "invalid_argument: continue_final_message: is only allowed together with messages");
}

template <class Request>
void check_efforts(Request request) {
  for (const char* good : {"low", "xhigh", "very_high", "-", "none"}) {
    request.reasoning_effort = good;
    EXPECT_EQ(rule_of(request), "none") << good;
  }
  request.reasoning_effort = std::string(32, 'a');
  EXPECT_EQ(rule_of(request), "none");
  for (const std::string& bad :
       {std::string(), std::string("High"), std::string("very high"), std::string("5"),
        std::string("h\xC3\xB6"), std::string("a\0b", 3), std::string(33, 'a')}) {
    request.reasoning_effort = bad;
    EXPECT_EQ(rule_of(request),
              "invalid_argument: reasoning_effort: must have 1 to 32 characters, each a to z, _ or "
              "-, such as \"high\"")
        << bad;
  }
}

TEST(ConversationRules, an_effort_is_a_word_in_every_request_that_has_one) {
  GenerateRequest request;
  request.messages = {{"user", "hi", "", false}};
  check_efforts(request);
  PrefixCache prefix;
  prefix.messages = request.messages;
  check_efforts(prefix);
  ApplyTemplateRequest shown;
  shown.messages = request.messages;
  check_efforts(shown);
}

}  // namespace
}  // namespace cascade::wire
