// The service's commands of cascade-bench as processes, with small settings. No times are checked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "tests/long_tests.h"
#include "tests/shared_dir.h"
#include "tests/system/process.h"

namespace cascade {
namespace {

using ::testing::HasSubstr;
using testing::ProgramResult;
using testing::run_program;
using testing::RunningProgram;
using testing::wait_until;

// Each test has its own folder for temporary files, to see what is left in it.
class BenchServe : public ::testing::Test {
 protected:
  BenchServe() { ::setenv("TMPDIR", temporary_.path().c_str(), 1); }
  ~BenchServe() override { ::unsetenv("TMPDIR"); }

  static std::vector<std::string> arguments(const char* command, std::vector<std::string> options) {
    std::vector<std::string> all = {command, "--model", testing::demo_model_dir().string()};
    all.insert(all.end(), options.begin(), options.end());
    return all;
  }
  static ProgramResult bench(const char* command, std::vector<std::string> options) {
    return run_program("cascade-bench", arguments(command, std::move(options)));
  }
  // The report of a run that must succeed.
  static Json report(const char* command, std::vector<std::string> options) {
    options.insert(options.end(), {"--json", "--threads", "1", "--kv-memory", "64M"});
    const ProgramResult result = bench(command, std::move(options));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const Json report = Json::parse(result.out, nullptr, /*allow_exceptions=*/false);
    EXPECT_EQ(report.value("command", ""), command);
    EXPECT_EQ(report.value("model", ""), "demo");
    return report;
  }
  // Lists only the folders of cascade-bench, because tests put their own folders beside them.
  std::vector<std::filesystem::path> left_over() const {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(temporary_.path())) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("cascade-bench-")) paths.push_back(entry.path());
    }
    return paths;
  }

  testing::ScratchDir temporary_;
};

// The rows that have `column`.
std::vector<Json> rows_with(const Json& report, const char* column) {
  std::vector<Json> rows;
  for (const Json& row : report["rows"]) {
    if (row.contains(column)) rows.push_back(row);
  }
  return rows;
}

TEST_F(BenchServe, chat_gives_the_same_tokens_in_three_ways) {
  const Json chat = report("chat", {"--turns", "3", "--max-tokens", "24", "--system-tokens", "200",
                                    "--query-tokens", "24"});
  EXPECT_EQ(chat["identical"], true);
  const auto turns = rows_with(chat, "turn");
  ASSERT_EQ(turns.size(), 9u);
  for (const Json& turn : turns) {
    EXPECT_EQ(turn["reused"].get<int>() + turn["prefilled"].get<int>(), turn["prompt_tokens"]);
    EXPECT_GT(turn["rss_mb"], 0);
    EXPECT_GT(turn["answer_tokens"], 0);
    if (turn["way"] == "no_reuse") {
      EXPECT_EQ(turn["reused"], 0);
    }
    if (turn["turn"] == 1) {
      EXPECT_EQ(turn["reused"], 0);
    } else if (turn["way"] == "retained") {
      EXPECT_GT(turn["reused"], 200);
    }
  }
  const auto ways = rows_with(chat, "reused_share");
  ASSERT_EQ(ways.size(), 3u);
  EXPECT_EQ(ways[0]["way"], "retained");
  EXPECT_GE(ways[0]["reused"], ways[1]["reused"]);
  EXPECT_EQ(ways[2]["reused"], 0);
  EXPECT_TRUE(left_over().empty());
}

TEST_F(BenchServe, overload_tells_goodput_from_refusals) {
  // Refusals are paced: those of a large overload take half a minute.
  const std::string factor = testing::long_tests() ? "20" : "4";
  const Json overload =
      report("overload",
             {"--seconds", "1.5", "--capacity-seconds", "1.5", "--factor", factor, "--running", "4",
              "--prompt-tokens", "16", "--max-tokens", "4", "--daemon-arg=--max-waiting=4"});
  EXPECT_FALSE(overload["rss_mb"].empty());
  const auto phases = rows_with(overload, "phase");
  ASSERT_EQ(phases.size(), 3u);
  EXPECT_EQ(phases[0]["refused_per_s"], 0);
  const auto refusals = rows_with(overload, "error");
  EXPECT_LE(refusals.size(), 1u);
  for (const Json& refusal : refusals) {
    EXPECT_EQ(refusal["error"], "resource_exhausted");
    EXPECT_EQ(refusal["with_retry_after"], refusal["count"]);
  }
  // How much a machine does in a second and a half depends on the machine.
  if (testing::long_tests()) {
    EXPECT_GT(overload["goodput_share_tokens"], 0);
    EXPECT_GT(phases[1]["refused_per_s"], 0);
    for (const Json& phase : phases) EXPECT_GT(phase["done_per_s"], 0);
    EXPECT_EQ(refusals.size(), 1u);
  }
  EXPECT_EQ(rows_with(overload, "memory").size(), 2u);
  EXPECT_TRUE(left_over().empty());
}

TEST_F(BenchServe, vanish_leaves_no_slot_taken_and_no_output_changed) {
  const Json vanish =
      report("vanish", {"--clients", "25", "--at-once", "6", "--steady", "2", "--prompt-tokens",
                        "16", "--max-tokens", "24", "--steady-tokens", "32"});
  EXPECT_EQ(vanish["slots_free"], true);
  EXPECT_EQ(vanish["steady_unchanged"], true);
  EXPECT_GE(vanish["steady_outputs"], 2);
  const auto leavers = rows_with(vanish, "leaves");
  ASSERT_EQ(leavers.size(), 5u);
  for (const Json& row : leavers) {
    EXPECT_EQ(row["clients"], 5);
    EXPECT_EQ(row["failed_before"], 0);
    EXPECT_EQ(row["left"].get<int>() + row["answered_before"].get<int>(), 5);
  }
  EXPECT_TRUE(left_over().empty());
}

TEST_F(BenchServe, fairness_measures_alone_and_beside) {
  const Json fairness =
      report("fairness", {"--one-tenant", "--samples", "3", "--pause-ms", "20", "--prompt-tokens",
                          "40", "--max-tokens", "2", "--flood", "6", "--flood-prompt-tokens", "24",
                          "--flood-max-tokens", "8", "--daemon-arg=--max-waiting=2",
                          "--daemon-arg=--max-running=2"});
  EXPECT_EQ(fairness["tenants"], 1);
  EXPECT_GT(fairness["first_text_p95_ratio"], 0);
  const auto phases = rows_with(fairness, "light_tenant");
  ASSERT_EQ(phases.size(), 2u);
  for (const Json& phase : phases) EXPECT_EQ(phase["samples"], 3);
  EXPECT_EQ(phases[0]["refusals"], 0);
  EXPECT_EQ(rows_with(fairness, "flood_in_flight").size(), 1u);
  EXPECT_TRUE(left_over().empty());
}

TEST_F(BenchServe, fairness_finds_that_nothing_is_refused_to_the_light_tenant) {
  const Json fairness =
      report("fairness", {"--tenants", "4", "--samples", "4", "--pause-ms", "20", "--prompt-tokens",
                          "40", "--max-tokens", "2", "--flood", "6", "--flood-prompt-tokens", "24",
                          "--flood-max-tokens", "8", "--daemon-arg=--max-waiting=2",
                          "--daemon-arg=--max-running=2"});
  EXPECT_EQ(fairness["tenants"], 4);
  for (const Json& phase : rows_with(fairness, "light_tenant")) EXPECT_EQ(phase["refusals"], 0);
  const auto flood = rows_with(fairness, "flood_in_flight");
  ASSERT_EQ(flood.size(), 1u);
  EXPECT_EQ(flood[0]["flood_in_flight"], 18);
  if (testing::long_tests()) {
    EXPECT_GT(flood[0]["refused_per_s"], 0) << "there was no flood";
  }
}

TEST_F(BenchServe, interference_measures_gaps_prefills_and_cancels) {
  const Json interference =
      report("interference", {"--prompt-tokens", "600", "--seconds", "0.5", "--decodes", "2",
                              "--decode-tokens", "400", "--repeats", "2"});
  EXPECT_GT(interference["gap_p95_ratio"], 0);
  EXPECT_GT(interference["prefill_ratio"], 0);
  EXPECT_GT(interference["prompt_tokens"], 590);
  EXPECT_EQ(rows_with(interference, "decodes").size(), 2u);
  EXPECT_EQ(rows_with(interference, "prefill").size(), 2u);
  const auto cancels = rows_with(interference, "cancelled_after_tokens");
  ASSERT_EQ(cancels.size(), 2u);
  // The prompt's last token is always computed.
  for (const Json& cancel : cancels) {
    EXPECT_GE(cancel["repetition_reused"].get<int>() + 1, cancel["cancelled_after_tokens"]);
  }
  EXPECT_TRUE(left_over().empty());
}

TEST_F(BenchServe, slow_clients_has_both_doors_alone_and_beside_a_crowd) {
  const Json slow = report("slow-clients", {"--connections", "40", "--pace-ms", "5", "--rounds",
                                            "2", "--requests", "5", "--warm-up", "2"});
  EXPECT_EQ(slow["connections"], 40);
  const auto doors = rows_with(slow, "door");
  ASSERT_EQ(doors.size(), 2u);
  for (const Json& door : doors) {
    EXPECT_GT(door["alone_ms_p95"], 0);
    EXPECT_GT(door["beside_ms_p95"], 0);
    EXPECT_GT(door["p95_ratio"], 0);
  }
  EXPECT_TRUE(left_over().empty());
}

TEST_F(BenchServe, tables_begin_with_what_was_measured) {
  const ProgramResult result =
      bench("chat", {"--turns", "1", "--max-tokens", "2", "--system-tokens", "0"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("command: chat\n")) << result.out;
  EXPECT_THAT(result.out, HasSubstr("identical: true\n"));
  EXPECT_THAT(result.out, HasSubstr("retained"));
}

// The daemon that `bench` has started, once it serves; 0 if that takes too long.
pid_t daemon_of(const RunningProgram& bench, const std::filesystem::path& temporary) {
  const auto serves = [&] {
    for (const auto& folder : std::filesystem::directory_iterator(temporary)) {
      if (std::filesystem::exists(folder.path() / "1" / "run" / "cascaded.sock")) return true;
    }
    return false;
  };
  if (!wait_until(serves)) return 0;
  const std::string pid = std::to_string(bench.pid());
  std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
  pid_t child = 0;
  children >> child;
  return child;
}

// Whether the process has ended or only waits for its parent to ask how it ended.
bool is_gone(pid_t pid) {
  std::ostringstream text;
  text << std::ifstream("/proc/" + std::to_string(pid) + "/status").rdbuf();
  return text.str().empty() || text.str().find("State:\tZ") != std::string::npos;
}

TEST_F(BenchServe, a_signal_stops_the_daemon_and_leaves_nothing) {
  for (const int signal : {SIGINT, SIGTERM}) {
    RunningProgram bench("cascade-bench", arguments("overload", {"--threads", "1"}));
    const pid_t daemon = daemon_of(bench, temporary_.path());
    ASSERT_GT(daemon, 0) << bench.err();
    EXPECT_EQ(bench.stop(signal), 1);
    EXPECT_THAT(bench.err(), HasSubstr("ended by signal " + std::to_string(signal)));
    EXPECT_TRUE(is_gone(daemon));
    EXPECT_TRUE(left_over().empty());
  }
}

TEST_F(BenchServe, a_bench_that_is_killed_takes_its_daemon_along) {
  RunningProgram bench("cascade-bench", arguments("overload", {"--threads", "1"}));
  const pid_t daemon = daemon_of(bench, temporary_.path());
  ASSERT_GT(daemon, 0) << bench.err();
  EXPECT_EQ(bench.stop(SIGKILL), 128 + SIGKILL);
  EXPECT_TRUE(wait_until([&] { return is_gone(daemon); }));
}

TEST_F(BenchServe, a_daemon_that_ends_is_an_error) {
  RunningProgram bench("cascade-bench", arguments("overload", {"--threads", "1"}));
  const pid_t daemon = daemon_of(bench, temporary_.path());
  ASSERT_GT(daemon, 0) << bench.err();
  ASSERT_EQ(::kill(daemon, SIGKILL), 0);
  EXPECT_TRUE(wait_until([&] { return bench.err().find("cascaded ended") != std::string::npos; }))
      << bench.err();
  EXPECT_EQ(bench.stop(0), 1);
  EXPECT_THAT(bench.err(), HasSubstr("exit code 137"));
  EXPECT_TRUE(left_over().empty());
}

struct WrongWorkload {
  const char* command;
  std::vector<std::string> options;
  const char* error;
};

TEST_F(BenchServe, wrong_options_are_explained_before_anything_starts) {
  const std::vector<WrongWorkload> cases = {
      {"chat",
       {"--weights", "f16"},
       "--weights: must be f32, bf16, int8, int4, q4k, q5k, q6k or mxfp4, got \"f16"},
      {"chat", {"--kv", "int4"}, "--kv: must be f32, bf16, fp16, fp8 or int8, got \"int4"},
      {"chat", {"--turns", "0"}, "--turns: Value 0 not in range 1 to 10000"},
      {"chat", {"--turns", "100"}, "--turns: asks for"},
      {"chat", {"--cascaded", "no/such/program"}, "--cascaded: no/such/program is not a program"},
      {"chat", {"--threads", "257"}, "--threads: Value 257 not in range 1 to 256"},
      {"chat", {"--bogus"}, "--bogus"},
      {"chat", {"--kv-memory", ""}, "--kv-memory: must not be empty"},
      {"overload", {"--factor", "0"}, "--factor: 0 is not a number from 0.1 to 100"},
      {"overload", {"--seconds", "0"}, "--seconds: 0 is not a number from 0.1 to 86400"},
      {"overload", {"--seconds", "nan"}, "--seconds: nan is not a number from 0.1 to 86400"},
      {"overload", {"--connections", "1025"}, "--connections: Value 1025 not in range"},
      {"overload", {"--prompt-tokens", "16384"}, "--prompt-tokens: asks for 16496 tokens in all"},
      {"vanish", {"--clients", "0"}, "--clients: Value 0 not in range"},
      {"vanish", {"--steady-tokens", "16384"}, "--prompt-tokens: asks for 16448 tokens in all"},
      {"fairness", {"--samples", "0"}, "--samples: Value 0 not in range"},
      {"fairness",
       {"--flood-max-tokens", "16384"},
       "--flood-prompt-tokens: asks for 16656 tokens in all; the model's context holds 16384"},
      {"interference", {"--decodes", "257"}, "--decodes: Value 257 not in range"},
      {"slow-clients", {"--connections", "4001"}, "--connections: Value 4001 not in range"},
      {"slow-clients", {"--tokens", "16384"}, "--prompt-tokens: asks for 16448 tokens in all"},
      {"interference",
       {"--prompt-tokens", "16384"},
       "--prompt-tokens: asks for 16448 tokens in all; the model's context holds 16384"},
      {"interference", {"--decode-tokens", "16384"}, "--decode-tokens: asks for 16448 tokens"},
  };
  for (const auto& [command, options, error] : cases) {
    const ProgramResult result = bench(command, options);
    EXPECT_EQ(result.exit_code, 2) << error;
    EXPECT_THAT(result.err, HasSubstr(error));
    EXPECT_EQ(result.out, "");
  }
  EXPECT_TRUE(left_over().empty());
}

TEST_F(BenchServe, what_the_daemon_refuses_is_told) {
  const ProgramResult memory = bench("chat", {"--kv-memory", "1K"});
  EXPECT_EQ(memory.exit_code, 2);
  EXPECT_THAT(memory.err, HasSubstr("cascaded refuses its command line"));
  EXPECT_THAT(memory.err, HasSubstr("--kv-memory: must be at least"));
  const ProgramResult unknown = bench("chat", {"--daemon-arg=--bogus", "--daemon-arg", "x"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--bogus"));
  const ProgramResult model = run_program("cascade-bench", {"vanish", "--model", "no/such/model"});
  EXPECT_EQ(model.exit_code, 1);
  EXPECT_THAT(model.err, HasSubstr("no/such/model"));
  const ProgramResult missing = run_program("cascade-bench", {"vanish"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("--model is required"));
  EXPECT_TRUE(left_over().empty());
}

class BenchServeRestore : public BenchServe, public ::testing::WithParamInterface<const char*> {};

// KV of every type comes back from disk bit for bit, and so do the tokens and log-probabilities of
// the answer.
TEST_P(BenchServeRestore, gives_the_same_answers_after_kill_9) {
  const Json restored = report(
      "restore", {"--kv", GetParam(), "--prompt-tokens", "700", "--repeats", "2", "--rounds", "0"});
  EXPECT_EQ(restored.value("identical", false), true);
  int64_t prompts = 0;
  for (const Json& row : restored["rows"]) {
    if (!row.contains("loaded_tokens")) continue;
    // Only the first prompt must be read from disk: the daemon computes a prompt if it has measured
    // that computing is quicker.
    if (prompts++ == 0) {
      EXPECT_GE(row["loaded_tokens"].get<int64_t>(), 576);
    }
    EXPECT_LE(row["loaded_tokens"].get<int64_t>(), 700);
  }
  EXPECT_EQ(prompts, 2);
}

INSTANTIATE_TEST_SUITE_P(KvTypes, BenchServeRestore,
                         ::testing::Values("f32", "bf16", "fp16", "fp8", "int8"),
                         [](const auto& type) { return std::string(type.param); });

TEST_F(BenchServe, registry_asks_of_few_and_of_many_chunks) {
  const Json many = report("registry", {"--chunks", "1200", "--repeats", "2", "--starts", "1"});
  EXPECT_GT(many["chunks_put_per_s"].get<double>(), 0);
  EXPECT_GT(many["start_s_p50"].get<double>(), 0);
  ASSERT_EQ(many["rows"].size(), 15u);
  for (const Json& row : many["rows"]) EXPECT_GT(row["ms_p50"].get<double>(), 0) << row;
}

TEST_F(BenchServe, isolation_compares_what_another_tenant_knows_with_what_nobody_does) {
  const Json all = report("isolation", {"--probes", "4", "--prompt-tokens", "200"});
  const Json& row = all.at("rows").at(0);
  EXPECT_GE(row.at("area_under_curve").get<double>(), 0);
  EXPECT_LE(row.at("area_under_curve").get<double>(), 1);
  EXPECT_GT(row.at("known_to_another_ms_p50").get<double>(), 0);
  EXPECT_GT(row.at("known_to_nobody_ms_p50").get<double>(), 0);
  EXPECT_GT(row.at("own_again_ms_p50").get<double>(), 0);
}

TEST_F(BenchServe, gateway_asks_through_both_doors) {
  const Json both = report("gateway", {"--requests", "5", "--warm-up", "1"});
  ASSERT_EQ(both["rows"].size(), 2u);
  EXPECT_EQ(both["rows"][0]["door"], "zeromq");
  EXPECT_EQ(both["rows"][1]["door"], "http");
  for (const Json& row : both["rows"]) {
    EXPECT_GT(row["added_ms_p50"].get<double>(), 0) << row;
    EXPECT_GT(row["engine_ms_p50"].get<double>(), 0) << row;
    EXPECT_GE(row["seen_ms_p50"].get<double>(), row["engine_ms_p50"].get<double>()) << row;
  }
}

}  // namespace
}  // namespace cascade
