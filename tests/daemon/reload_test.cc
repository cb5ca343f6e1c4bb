// What SIGHUP changes: exactly the settings that the table marks.
#include "daemon/reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace cascade {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ParsedOptions parsed(std::vector<const char*> more) {
  std::vector<const char*> arguments = {"cascaded", "--model", "m",         "--http", "8178",
                                        "--tcp",    "8179",    "--tcp-key", "key"};
  if (std::ranges::find(more, std::string_view("--tcp-clients")) == more.end()) {
    arguments.insert(arguments.end(), {"--tcp-clients", "before"});
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  ParsedOptions options = parse_options(static_cast<int>(arguments.size()), arguments.data());
  EXPECT_FALSE(options.exit_code);
  return options;
}

TEST(Reload, applies_limits_policies_keys_and_the_log_level) {
  const ReloadPlan plan = plan_reload(
      parsed({}),
      parsed({"--max-waiting", "1",    "--max-waiting-tokens", "2",   "--max-running",  "3",
              "--max-tokens",  "4",    "--stop-timeout",       "5",   "--think-policy", "keep",
              "--max-pinned",  "0.1",  "--chunk-memory-ratio", "0.2", "--http-keys",    "k",
              "--log-level",   "warn", "--tcp-clients",        "c",   "--heal",         "yes"}));
  EXPECT_EQ(plan.options.requests_waiting_max, 1);
  EXPECT_EQ(plan.options.tokens_waiting_max, 2);
  EXPECT_EQ(plan.options.requests_running_max, 3);
  EXPECT_EQ(plan.options.max_tokens_default, 4);
  EXPECT_EQ(plan.options.stop_timeout_s, 5);
  EXPECT_EQ(plan.options.think_policy, ThinkPolicy::kKeep);
  EXPECT_TRUE(plan.options.heal);
  EXPECT_EQ(plan.options.max_pinned, 0.1);
  EXPECT_EQ(plan.options.chunk_memory_ratio, 0.2);
  EXPECT_EQ(plan.options.http_keys_file, "k");
  EXPECT_EQ(plan.options.tcp_clients_file, "c");
  EXPECT_EQ(plan.options.log_level, "warn");
  EXPECT_EQ(plan.applied.size(), 12u);
  EXPECT_THAT(plan.refused, IsEmpty());
  size_t reloadable = 0;
  for (const config::Setting& setting : config::settings()) reloadable += setting.reloads;
  EXPECT_EQ(reloadable, 12u) << "each is in this test";
}

TEST(Reload, leaves_the_rest_as_it_is_and_says_so) {
  const ParsedOptions before = parsed({"--threads", "1"});
  const ReloadPlan plan =
      plan_reload(before, parsed({"--threads", "2", "--kv-memory", "1G", "--weights", "int4",
                                  "--attention", "window"}));
  EXPECT_EQ(plan.options.threads, 1);
  EXPECT_EQ(plan.options.kv_bytes_max, before.options.kv_bytes_max);
  EXPECT_EQ(plan.options.weight_type, std::nullopt);
  EXPECT_EQ(plan.options.attention, AttentionChoice{});
  EXPECT_THAT(plan.applied, IsEmpty());
  EXPECT_THAT(plan.refused, ElementsAre(HasSubstr("--weights"), HasSubstr("--threads"),
                                        HasSubstr("--kv-memory"), HasSubstr("--attention")));
}

TEST(Reload, takes_back_what_is_not_set_any_more) {
  const ReloadPlan plan = plan_reload(parsed({"--max-running", "3"}), parsed({}));
  EXPECT_EQ(plan.options.requests_running_max, 16);
  EXPECT_THAT(plan.applied, ElementsAre(HasSubstr("the default again")));
}

TEST(Reload, changes_nothing_if_nothing_is_changed) {
  const ReloadPlan plan =
      plan_reload(parsed({"--max-running", "3"}), parsed({"--max-running", "3"}));
  EXPECT_THAT(plan.applied, IsEmpty());
  EXPECT_THAT(plan.refused, IsEmpty());
}

}  // namespace
}  // namespace cascade
