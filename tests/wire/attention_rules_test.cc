// What a request may say about its attention mode.
#include <gtest/gtest.h>

#include <string>

#include "tests/wire/request_rule.h"
#include "wire/request_rules.h"

namespace cascade::wire {
namespace {

TEST(AttentionRules, a_mode_has_a_limit_and_is_not_repeated_beyond_it) {
  GenerateRequest request;
  request.prompt = "x";
  request.attention = "window:1048576:65536";
  EXPECT_EQ(testing::rule_of(request), "none");
  request.attention = std::string(kAttentionBytesMax, 'w');
  EXPECT_EQ(testing::rule_of(request), "none") << "the scheduler says what is wrong with it";
  *request.attention += "w";
  EXPECT_EQ(testing::rule_of(request),
            "invalid_argument: attention: has 65 bytes, more than the limit of 64; must be dense, "
            "window, window:W, window:W:S, select, select:B, select:B:D, verify, verify:B or "
            "verify:B:D");
}

}  // namespace
}  // namespace cascade::wire
