// Rules for what a request says about a retained output and about a prompt's pages.
#include <gtest/gtest.h>

#include <string>

#include "tests/wire/request_rule.h"
#include "wire/request_rules.h"

namespace cascade::wire {
namespace {

using testing::rule_of;

TEST(RetentionRules, settings_want_what_they_belong_to) {
  GenerateRequest request;
  request.prompt = "x";
  request.output_pinned = true;
  EXPECT_EQ(rule_of(request),
            "invalid_argument: output_pinned: is only allowed together with retain_output");
  request.retain_output = true;
  EXPECT_EQ(rule_of(request), "none");
  request.output_priority = -1;
  EXPECT_EQ(rule_of(request),
            "invalid_argument: output_priority: must be between 0 and 100, got -1");
  request.output_priority = 1;
  request.output_name = "a\nb";
  EXPECT_EQ(rule_of(request), "invalid_argument: output_name: has a control character at byte 1");
  request.output_name.reset();
  request.client_data.assign(kClientDataBytesMax, 'x');
  EXPECT_EQ(rule_of(request), "none");
  request.client_data += "x";
  EXPECT_EQ(rule_of(request),
            "invalid_argument: client_data: has 262145 bytes; the limit is 262144");
  request.client_data = "x";
  request.retain_output = false;
  request.output_pinned.reset();
  request.output_priority.reset();
  EXPECT_EQ(rule_of(request),
            "invalid_argument: client_data: is only allowed together with retain_output");
  request.client_data.clear();
  request.retain_output = true;
  request.prompt_priority = 5;
  EXPECT_EQ(rule_of(request),
            "invalid_argument: prompt_priority_ms: must be set with prompt_priority: how long it "
            "holds");
  request.prompt_priority_ms = 5;
  EXPECT_EQ(rule_of(request), "none");
  request.prompt_priority.reset();
  EXPECT_EQ(rule_of(request),
            "invalid_argument: prompt_priority: must be set with prompt_priority_ms");
}

}  // namespace
}  // namespace cascade::wire
