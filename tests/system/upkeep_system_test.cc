// An operator's work on a state directory, both while its daemon runs and while none does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "base/json.h"
#include "clients/cpp/client.h"
#include "tests/system/process.h"

namespace cascade {
namespace {

using client::Client;
using testing::DaemonProcess;
using ::testing::HasSubstr;
using testing::ProgramResult;
using testing::run_program;
using testing::ScratchDir;

class UpkeepSystem : public ::testing::Test {
 protected:
  std::string path(const char* name) const { return scratch_.path() / name; }
  std::unique_ptr<DaemonProcess> start(const char* state = "state") {
    auto daemon = std::make_unique<DaemonProcess>(scratch_.path() / "run", "", path(state));
    EXPECT_TRUE(daemon->serving()) << daemon->log();
    endpoint_ = daemon->endpoint();
    return daemon;
  }
  ProgramResult ctl(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--endpoint", endpoint_});
    return run_program("cascadectl", arguments);
  }
  ProgramResult fsck(std::vector<std::string> arguments, const char* state = "state") const {
    arguments.insert(arguments.begin(), {"fsck", "--state-dir", path(state)});
    return ctl(arguments);
  }
  // Generates and retains a turn that fills some pages, and waits until the pages are written.
  client::Generation generate(const DaemonProcess& daemon) {
    Client client = *Client::connect(daemon.endpoint(), {.timeout_ms = 60'000});
    wire::GenerateRequest request;
    std::string question = "What is the capital of France?";
    while (question.size() < 2000) question += " What is the capital of France?";
    request.chunks = {{ChunkType::kQuery, "", question}};
    request.sampling.temperature = 0;
    request.max_tokens = 50;
    request.retain_output = true;
    const auto generation = client.generate(request);
    EXPECT_TRUE(generation.ok()) << generation.error().to_string();
    EXPECT_TRUE(testing::wait_until([&] {
      const auto stats = client.get_chunk_stats();
      return stats.ok() && stats->disk && stats->disk->pages_written >= 4;
    }));
    return generation.ok() ? *generation : client::Generation{};
  }
  // Changes bytes in the middle of the first KV file.
  void damage_a_page() const {
    std::fstream file(path("state") + "/kv/00000001.kv",
                      std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(200'000);
    file << "damage";
    EXPECT_TRUE(file.good());
  }

  const ScratchDir scratch_;
  std::string endpoint_ = "ipc://" + path("none.sock");
};

TEST_F(UpkeepSystem, chunks_are_found_by_their_words_also_after_a_kill) {
  auto daemon = start();
  const std::string id = generate(*daemon).output_chunk_id;
  ASSERT_EQ(
      ctl({"chunk", "put", "Quantum tunnelling of crème brûlée", "--name", "dessert"}).exit_code,
      0);
  const auto expect_found = [&] {
    const ProgramResult table = ctl({"chunk", "search", "CREME quantum"});
    EXPECT_EQ(table.exit_code, 0) << table.err;
    EXPECT_THAT(table.out, HasSubstr("CONTEXT  dessert"));
    EXPECT_THAT(table.out, HasSubstr("crème brûlée"));
    const ProgramResult json = ctl({"chunk", "search", "capital", "--limit", "1", "--json"});
    const Json hits = Json::parse(json.out)["hits"];
    ASSERT_EQ(hits.size(), 1u);
    EXPECT_EQ(hits[0]["id"], id);
    EXPECT_EQ(hits[0]["type"], "OUTPUT");
    const ProgramResult nothing = ctl({"chunk", "search", "zebra"});
    EXPECT_EQ(nothing.exit_code, 0);
    EXPECT_EQ(nothing.out, "");
  };
  expect_found();
  EXPECT_EQ(daemon->stop(SIGKILL), 128 + SIGKILL);
  daemon = start();
  expect_found();
  EXPECT_EQ(ctl({"chunk", "search", ""}).exit_code, 2);
}

TEST_F(UpkeepSystem, a_stopped_daemons_directory_is_checked_repaired_and_rebuilt) {
  auto daemon = start();
  generate(*daemon);
  EXPECT_EQ(daemon->stop(SIGTERM), 0);
  EXPECT_THAT(fsck({}).out, HasSubstr("all is well"));
  damage_a_page();
  const ProgramResult report = fsck({"--json"});
  EXPECT_EQ(report.exit_code, 1);
  EXPECT_EQ(Json::parse(report.out)["left"], 1);
  EXPECT_THAT(fsck({}).err, HasSubstr("fsck --repair"));
  const ProgramResult repair = fsck({"--repair"});
  EXPECT_EQ(repair.exit_code, 0) << repair.out;
  EXPECT_THAT(repair.out, HasSubstr("(repaired)"));
  EXPECT_EQ(fsck({}).exit_code, 0);
  const ProgramResult rebuilt = fsck({"--rebuild"});
  EXPECT_EQ(rebuilt.exit_code, 0) << rebuilt.out;
  EXPECT_THAT(rebuilt.out, HasSubstr("1 chunk,"));
  daemon = start();
  EXPECT_THAT(ctl({"chunk", "list"}).out, HasSubstr("◀ output"));
}

TEST_F(UpkeepSystem, a_running_daemons_directory_is_checked_and_repaired_by_it) {
  const auto daemon = start();
  const client::Generation first = generate(*daemon);
  EXPECT_THAT(fsck({}).out, HasSubstr("all is well"));
  // Without --state-dir, the directory of the daemon is checked.
  EXPECT_THAT(ctl({"fsck"}).out, HasSubstr("all is well"));
  damage_a_page();
  EXPECT_EQ(fsck({}).exit_code, 1);
  const ProgramResult repair = fsck({"--repair", "--json"});
  EXPECT_EQ(repair.exit_code, 0);
  const Json reply = Json::parse(repair.out);
  EXPECT_EQ(reply["found"], 1);
  EXPECT_EQ(reply["findings"][0]["repaired"], true);
  EXPECT_EQ(fsck({}).exit_code, 0);
  EXPECT_EQ(Json::parse(ctl({"chunk", "stats", "--json"}).out)["disk"]["pages_bad"], 1);
  EXPECT_EQ(generate(*daemon).token_ids, first.token_ids);
  const ProgramResult rebuild = fsck({"--rebuild"});
  EXPECT_EQ(rebuild.exit_code, 1);
  EXPECT_THAT(rebuild.err, HasSubstr("stop the daemon first"));
  // Without --state-dir, a rebuild must not take the directory of some other, stopped daemon.
  const ProgramResult unnamed = ctl({"fsck", "--rebuild"});
  EXPECT_EQ(unnamed.exit_code, 2);
  EXPECT_THAT(unnamed.err, HasSubstr("--state-dir"));
}

TEST_F(UpkeepSystem, a_backup_is_a_state_directory) {
  auto daemon = start();
  const client::Generation first = generate(*daemon);
  const auto backup = [&](const char* to) {
    return ctl({"backup", path(to), "--state-dir", path("state")});
  };
  const ProgramResult running = backup("copy");
  EXPECT_EQ(running.exit_code, 0) << running.err;
  EXPECT_THAT(running.out, HasSubstr("and the database to " + path("copy")));
  const ProgramResult again = backup("copy");
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err, HasSubstr("is not empty"));
  EXPECT_EQ(daemon->stop(SIGTERM), 0);
  EXPECT_EQ(backup("copy2").exit_code, 0);
  for (const char* copy : {"copy", "copy2"}) {
    EXPECT_THAT(fsck({}, copy).out, HasSubstr("all is well"));
    daemon = start(copy);
    Client client = *Client::connect(daemon->endpoint(), {.timeout_ms = 60'000});
    EXPECT_TRUE(client.get_chunk(first.output_chunk_id).ok());
    wire::GenerateRequest next;
    next.chunks = {{ChunkType::kOutput, first.output_chunk_id, ""},
                   {ChunkType::kQuery, "", "And of Italy?"}};
    const auto answer = client.generate(next);
    ASSERT_TRUE(answer.ok()) << answer.error().to_string();
    EXPECT_GT(answer->usage.loaded_tokens, 0);
    EXPECT_EQ(daemon->stop(SIGTERM), 0);
  }
}

TEST_F(UpkeepSystem, what_is_no_state_directory_or_not_reachable_is_said) {
  EXPECT_THAT(fsck({}, "none").err, HasSubstr("there is no such folder"));
  EXPECT_FALSE(std::filesystem::exists(path("none")));
  std::filesystem::create_directory(path("empty"));
  std::filesystem::permissions(path("empty"), std::filesystem::perms::owner_all);
  const ProgramResult empty = fsck({}, "empty");
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_THAT(empty.err, HasSubstr("is not a state directory"));
  EXPECT_TRUE(std::filesystem::is_empty(path("empty")));
  EXPECT_EQ(ctl({"fsck", "--state-dir", ""}).exit_code, 2);
  const auto daemon = start();
  endpoint_ = "ipc://" + path("none.sock");
  const ProgramResult elsewhere = fsck({});
  EXPECT_EQ(elsewhere.exit_code, 3);
  EXPECT_THAT(elsewhere.err, HasSubstr("uses this state directory"));
  EXPECT_THAT(elsewhere.err, HasSubstr("--endpoint"));
}

TEST_F(UpkeepSystem, another_daemons_directory_is_not_taken_for_this_ones) {
  const auto first = start("state");
  const DaemonProcess second(scratch_.path() / "run2", "", path("state2"));
  ASSERT_TRUE(second.serving()) << second.log();
  const ProgramResult mistaken = fsck({}, "state2");
  EXPECT_EQ(mistaken.exit_code, 1);
  EXPECT_THAT(mistaken.err, HasSubstr("the state directory of this daemon is " + path("state")));
}

}  // namespace
}  // namespace cascade
