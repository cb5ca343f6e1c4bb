// The findings of a diagnosis: what is good, what could be better, what is wrong.
#include "clients/ctl/diagnosis.h"

#include <gtest/gtest.h>

namespace cascade::ctl {
namespace {

using Level = Finding::Level;

DaemonFacts healthy() {
  DaemonFacts facts;
  facts.endpoint = "ipc:///run/cascaded/cascaded.sock";
  facts.status.emplace();
  facts.status->version = "1.0";
  facts.status->model = "demo";
  facts.status->threads = 2;
  facts.status->kv_bytes_max = int64_t{1} << 30;
  facts.answer_us = 5000;
  facts.settings_files = {"/etc/cascaded/cascaded.toml"};
  return facts;
}

MachineFacts roomy() {
  return {.memory_available_bytes = int64_t{2} << 30,
          .swap_used_bytes = 0,
          .state_free_bytes = int64_t{100} << 30,
          .threads = 2,
          .huge_pages = "madvise"};
}

// The texts of a level that contain `part`.
size_t count(const std::vector<Finding>& findings, Level level, const std::string& part = "") {
  size_t found = 0;
  for (const Finding& finding : findings) {
    found += finding.level == level && finding.text.find(part) != std::string::npos;
  }
  return found;
}

TEST(Diagnosis, of_a_healthy_daemon_finds_nothing) {
  const auto findings = diagnose(healthy(), roomy(), "1.0");
  EXPECT_EQ(count(findings, Level::kProblem) + count(findings, Level::kHint), 0u);
  EXPECT_EQ(count(findings, Level::kGood, "serves demo"), 1u);
  EXPECT_EQ(count(findings, Level::kGood, "answers a prompt (5 ms)"), 1u);
  EXPECT_EQ(count(findings, Level::kGood, "cascaded.toml has no mistakes"), 1u);
}

TEST(Diagnosis, names_what_is_wrong_with_the_daemon) {
  DaemonFacts facts = healthy();
  facts.status->warnings = {"the disk is full"};
  facts.status->actors_restarted = {"decode"};
  facts.answer = Error{ErrorCode::kResourceExhausted, "", "the queue is full"};
  facts.settings_problems = {"cascaded.toml:3: kv: no such type"};
  const auto findings = diagnose(facts, roomy(), "1.1");
  EXPECT_EQ(count(findings, Level::kProblem, "the disk is full"), 1u);
  EXPECT_EQ(count(findings, Level::kProblem, "restarted 1 time:"), 1u);
  EXPECT_EQ(count(findings, Level::kProblem, "the queue is full"), 1u);
  EXPECT_EQ(count(findings, Level::kProblem, "cascaded.toml:3"), 1u);
  EXPECT_EQ(count(findings, Level::kGood, "no mistakes"), 0u);
  EXPECT_EQ(count(findings, Level::kHint, "version 1.1"), 1u);
}

TEST(Diagnosis, without_a_daemon_says_so_and_looks_at_the_settings) {
  DaemonFacts facts = healthy();
  facts.status.reset();
  facts.answer_us.reset();
  facts.unreachable = Error{ErrorCode::kUnavailable, "endpoint", "there is no such socket"};
  const auto findings = diagnose(facts, roomy(), "1.0");
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(count(findings, Level::kProblem, "there is no such socket"), 1u);
  EXPECT_EQ(count(findings, Level::kGood, "no mistakes"), 1u);
}

TEST(Diagnosis, names_what_the_machine_lacks) {
  const MachineFacts poor = {.memory_available_bytes = int64_t{1} << 20,
                             .swap_used_bytes = int64_t{1} << 30,
                             .state_free_bytes = int64_t{1} << 20,
                             .threads = 1,
                             .huge_pages = "never"};
  const auto findings = diagnose(healthy(), poor, "1.0");
  EXPECT_EQ(count(findings, Level::kHint, "lower kv_memory"), 1u);
  EXPECT_EQ(count(findings, Level::kHint, "swapped out"), 1u);
  EXPECT_EQ(count(findings, Level::kHint, "2 threads compute on 1"), 1u);
  EXPECT_EQ(count(findings, Level::kHint, "huge pages"), 1u);
  EXPECT_EQ(count(findings, Level::kProblem, "make room"), 1u);
  EXPECT_EQ(diagnose(healthy(), MachineFacts(), "1.0").size(), 3u) << "nothing is known of it";
}

}  // namespace
}  // namespace cascade::ctl
