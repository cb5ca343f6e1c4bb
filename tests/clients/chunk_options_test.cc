// The command line of the chunk commands: how it is read, and what is refused.
#include "clients/ctl/chunk_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clients/ctl/run.h"
#include "clients/ctl/stats_text.h"
#include "clients/ctl/status_text.h"
#include "tests/clients/command_lines.h"

namespace cascade::ctl {
namespace {

using testing::accepted;
using testing::Arguments;
using ::testing::HasSubstr;
using testing::parse_quietly;

TEST(ChunkOptions, put_takes_a_text_and_what_it_is_given) {
  const Options options =
      accepted({"chunk", "put", "Ana likes plums.", "--type", "query", "--name", "ana", "--pin",
                "--ttl", "10m", "--priority", "80", "--priority-for", "2h", "--json"});
  EXPECT_EQ(options.command, Options::Command::kChunkPut);
  EXPECT_TRUE(options.json);
  EXPECT_EQ(options.put.text, "Ana likes plums.");
  const wire::ChunkPut& put = options.put.put;
  EXPECT_EQ(put.type, ChunkType::kQuery);
  EXPECT_EQ(put.name, "ana");
  EXPECT_EQ(put.pinned, true);
  EXPECT_EQ(put.ttl_ms, 600'000);
  EXPECT_EQ(put.priority, 80);
  EXPECT_EQ(put.priority_ms, 7'200'000);
  const Options ids = accepted({"chunk", "put", "--token-ids", "12,7,90"});
  EXPECT_EQ(ids.put.put.token_ids, (std::vector<int32_t>{12, 7, 90}));
  EXPECT_FALSE(ids.put.put.pinned.has_value());
}

TEST(ChunkOptions, search_takes_words_and_a_limit) {
  const Options options = accepted({"chunk", "search", "capital france", "--limit", "5"});
  EXPECT_EQ(options.command, Options::Command::kChunkSearch);
  EXPECT_EQ(options.search.query, "capital france");
  EXPECT_EQ(options.search.limit, 5);
  EXPECT_EQ(accepted({"chunk", "search", "x"}).search.limit, 20);
  for (const Arguments& wrong : std::vector<Arguments>{{"chunk", "search"},
                                                       {"chunk", "search", "x", "--limit", "0"},
                                                       {"chunk", "search", "\xFF"}}) {
    EXPECT_TRUE(std::holds_alternative<int>(parse_quietly(wrong).result));
  }
  EXPECT_FALSE(
      check_options(std::get<Options>(parse_quietly({"chunk", "search", ""}).result)).ok());
}

TEST(UpkeepOptions, name_a_state_directory_and_what_is_done_with_it) {
  const Options fsck = accepted({"fsck", "--repair", "--state-dir", "/s", "--json"});
  EXPECT_EQ(fsck.command, Options::Command::kFsck);
  EXPECT_TRUE(fsck.upkeep.repair);
  EXPECT_EQ(fsck.upkeep.state_dir, "/s");
  EXPECT_FALSE(fsck.endpoint_given);
  EXPECT_TRUE(accepted({"fsck", "--rebuild"}).upkeep.rebuild);
  EXPECT_FALSE(accepted({"fsck"}).upkeep.state_dir.has_value());
  const Options backup = accepted({"backup", "copy", "--endpoint", "ipc:///x"});
  EXPECT_EQ(backup.command, Options::Command::kBackup);
  EXPECT_EQ(backup.upkeep.directory, "copy");
  EXPECT_TRUE(backup.endpoint_given);
  EXPECT_TRUE(std::holds_alternative<int>(parse_quietly({"fsck", "--repair", "--rebuild"}).result));
  EXPECT_TRUE(std::holds_alternative<int>(parse_quietly({"backup"}).result));
}

TEST(ChunkOptions, each_change_is_an_update_of_its_ids) {
  const auto update = [](const Arguments& arguments) {
    const Options options = accepted(arguments);
    EXPECT_EQ(options.command, Options::Command::kChunkUpdate);
    EXPECT_EQ(options.ids.at(0), "chunk_01");
    return options.update;
  };
  EXPECT_EQ(update({"chunk", "rename", "chunk_01", "new"}).name, "new");
  EXPECT_EQ(update({"chunk", "rename", "chunk_01", ""}).name, "");
  EXPECT_TRUE(update({"chunk", "touch", "chunk_01"}).touch);
  EXPECT_TRUE(update({"chunk", "use", "chunk_01", "chunk_02"}).touch);
  EXPECT_EQ(update({"chunk", "pin", "chunk_01"}).pinned, true);
  EXPECT_EQ(update({"chunk", "unpin", "chunk_01"}).pinned, false);
  EXPECT_FALSE(update({"chunk", "unpin", "chunk_01"}).touch);
  EXPECT_EQ(update({"chunk", "publish", "chunk_01"}).published, true);
  EXPECT_EQ(update({"chunk", "unpublish", "chunk_01"}).published, false);
  EXPECT_EQ(update({"chunk", "ttl", "chunk_01", "90s"}).ttl_ms, 90'000);
  EXPECT_EQ(update({"chunk", "ttl", "chunk_01", "never"}).ttl_ms, 0);
  const auto priority = update({"chunk", "priority", "chunk_01", "7", "--for", "1d"});
  EXPECT_EQ(priority.priority, 7);
  EXPECT_EQ(priority.priority_ms, 86'400'000);
  EXPECT_EQ(accepted({"chunk", "stats"}).command, Options::Command::kChunkStats);
}

TEST(ChunkOptions, what_is_wrong_is_refused_before_anything_is_sent) {
  for (const Arguments& wrong :
       {Arguments{"chunk", "put", "x", "--file", "f"}, Arguments{"chunk", "put", "--ttl", "5"},
        Arguments{"chunk", "put", "x", "--ttl", "never"}, Arguments{"chunk", "ttl", "chunk_01"},
        Arguments{"chunk", "put", "x", "--priority-for", "5s"},
        Arguments{"chunk", "put", "x", "--type", "OUTPUT"}, Arguments{"chunk", "pin"},
        Arguments{"generate", "x", "--pin"}, Arguments{"generate", "x", "--ttl", "5s"}}) {
    const auto parsed = parse_quietly(wrong).result;
    ASSERT_TRUE(std::holds_alternative<int>(parsed)) << wrong[1];
    EXPECT_EQ(std::get<int>(parsed), kExitUsage);
  }
  for (const Arguments& out_of_range : {Arguments{"chunk", "priority", "chunk_01", "101"},
                                        Arguments{"chunk", "rename", "chunk_01", "a\nb"},
                                        Arguments{"generate", "x", "--retain", "--priority", "-1"},
                                        Arguments{"generate", "x", "--prompt-priority", "5"}}) {
    const auto parsed = parse_quietly(out_of_range).result;
    ASSERT_TRUE(std::holds_alternative<Options>(parsed)) << out_of_range[1];
    EXPECT_FALSE(check_options(std::get<Options>(parsed)).ok()) << out_of_range[1];
  }
}

TEST(ChunkOptions, generate_says_how_its_output_is_kept) {
  const wire::GenerateRequest params =
      accepted({"generate", "x", "--retain", "--name", "n", "--pin", "--ttl", "1d", "--priority",
                "9", "--priority-for", "1s", "--prompt-priority", "60", "--prompt-priority-for",
                "250ms"})
          .generate.params;
  EXPECT_EQ(params.output_name, "n");
  EXPECT_EQ(params.output_pinned, true);
  EXPECT_EQ(params.output_ttl_ms, 86'400'000);
  EXPECT_EQ(params.output_priority, 9);
  EXPECT_EQ(params.output_priority_ms, 1000);
  EXPECT_EQ(params.prompt_priority, 60);
  EXPECT_EQ(params.prompt_priority_ms, 250);
}

TEST(ChunkOptions, times_have_units_and_an_end) {
  EXPECT_EQ(parse_duration_ms("0s"), 0);
  EXPECT_EQ(parse_duration_ms("36525d"), int64_t{36'525} * 86'400'000);
  for (const char* wrong : {"", "s", "5", "5 s", "-5s", "1.5h", "5w", "36526d", "9999999999999999d",
                            "99999999999999999999s", "5s "}) {
    EXPECT_EQ(parse_duration_ms(wrong), std::nullopt) << wrong;
  }
}

TEST(StatsText, shows_groups_and_the_pool) {
  wire::StatsReply stats;
  stats.groups = {{"loc\x1b[2Jal", ChunkType::kOutput, 3, 1, 7, 4, 900, 8192}};
  EXPECT_THAT(render_stats(stats, Style(false)), HasSubstr("OUTPUT"));
  EXPECT_EQ(render_stats(stats, Style(false)).find('\x1b'), std::string::npos);
  EXPECT_EQ(render_stats(stats, Style(false)).find("pinned:"), std::string::npos);
  wire::CacheStats& cache = stats.cache.emplace();
  cache.policy = "lru";
  cache.page_bytes = 1024;
  cache.pages_max = 8;
  cache.page_hits = 1;
  cache.page_misses = 3;
  EXPECT_THAT(render_stats(stats, Style(false)), HasSubstr("1 of 4 (25 %)"));
  EXPECT_THAT(render_stats(stats, Style(false)), HasSubstr("8.0 KiB"));
  wire::StatusReply status;
  status.warnings = {"the cache thrashes"};
  EXPECT_THAT(render_status(status, Style(false)), HasSubstr("the cache thrashes"));
}

}  // namespace
}  // namespace cascade::ctl
