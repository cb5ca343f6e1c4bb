// Tables, units, chunk lists.
#include "clients/ctl/table.h"

#include <gtest/gtest.h>

#include <sstream>

#include "clients/ctl/chunk_table.h"
#include "clients/ctl/facts.h"
#include "clients/ctl/json_fields.h"
#include "clients/ctl/stats_text.h"
#include "clients/ctl/status_text.h"
#include "clients/ctl/terminal_text.h"
#include "clients/ctl/units.h"
#include "clients/ctl/upkeep_commands.h"
#include "clients/ctl/usage_text.h"

namespace cascade::ctl {
namespace {

const Style kPlain(false);

TEST(Table, aligns_wide_and_combining_characters) {
  const std::string table = render_table({{"Name"}, {"Size", Align::kRight}, {"End"}},
                                         {{{"世界"}, {"1"}, {"x"}},
                                          {{"e\u0301te\u0301"}, {"1000000"}, {"y"}},
                                          {{"plain"}, {""}, {"z"}}},
                                         kPlain);
  EXPECT_EQ(table,
            "Name      Size  End\n"
            "世界         1  x\n"
            "e\u0301te\u0301    1000000  y\n"
            "plain           z\n");
}

TEST(Table, cuts_long_cells_and_flattens_their_text) {
  const std::string table =
      render_table({{"Text", Align::kLeft, 8}}, {{{"one\ntwo\x1b[2Jthree"}}}, kPlain);
  EXPECT_EQ(table, "Text\none two…\n");
}

TEST(Table, paints_behind_the_layout) {
  const std::string table =
      render_table({{"A"}, {"B"}}, {{{"x", Ink::kOutput}, {"y"}}}, Style(true));
  EXPECT_EQ(table, "\x1b[2mA\x1b[0m  \x1b[2mB\x1b[0m\n\x1b[32mx\x1b[0m  y\n");
}

template <int columns>
Style narrow() {
  return Style(false, [] { return columns; });
}

TEST(Table, cuts_what_may_be_cut_where_lines_are_short) {
  const std::vector<Column> columns = {
      {"#", Align::kRight}, {"Preview", Align::kLeft, 48, 12}, {"ID"}};
  const std::vector<std::vector<Cell>> rows = {
      {{"1"}, {"The capital of France is Paris."}, {"output_0123"}},
      {{"2"}, {"No."}, {"output_4"}}};
  EXPECT_EQ(render_table(columns, rows, narrow<80>()), render_table(columns, rows, kPlain));
  EXPECT_EQ(render_table(columns, rows, narrow<32>()),
            "#  Preview           ID\n"
            "1  The capital of…   output_0123\n"
            "2  No.               output_4\n");
}

TEST(Table, becomes_blocks_where_no_cut_is_enough) {
  const std::vector<Column> columns = {
      {"#", Align::kRight}, {"Preview", Align::kLeft, 48, 12}, {"Tokens", Align::kRight}, {"ID"}};
  const std::vector<std::vector<Cell>> rows = {
      {{"1"}, {"The capital of France is Paris."}, {"9"}, {"output_0123456789"}},
      {{"2"}, {""}, {"0"}, {"output_4"}}};
  EXPECT_EQ(render_table(columns, rows, narrow<30>()),
            "#        1\n"
            "Preview  The capital of Franc…\n"
            "Tokens   9\n"
            "ID       output_0123456789\n"
            "\n"
            "#        2\n"
            "Tokens   0\n"
            "ID       output_4\n");
  EXPECT_EQ(render_table({{"A long title"}, {"B"}}, {}, narrow<5>()), "A long title  B\n");
}

TEST(Facts, go_on_below_themselves) {
  Facts facts;
  facts.add("name", "one two three four");
  facts.add("count", 7);
  facts.add("none", "");
  EXPECT_EQ(facts.render(kPlain), "name:   one two three four\ncount:  7\nnone:   \n");
  EXPECT_EQ(facts.render(narrow<21>()),
            "name:   one two three\n        four\ncount:  7\nnone:   \n");
  EXPECT_EQ(facts.render(narrow<5>()), "name:   one two\n        three four\ncount:  7\nnone:   \n")
      << "some words stand on a line all the same";
}

// Statistics of the widest values, at the widths that terminals have.
TEST(StatusText, breaks_no_word_on_a_terminal) {
  wire::StatusReply status;
  status.state = "serving";
  status.model = "demo";
  status.context_tokens_max = 131'072;
  status.tokens_reused = 123'456'789;
  status.tokens_prefilled = 987'654'321;
  status.warnings = {"the cache thrashes: chunks that were used lately are evicted and come back"};
  for (const Style& style : {narrow<40>(), narrow<80>(), narrow<120>()}) {
    std::istringstream lines(render_status(status, style));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(display_width(line), style.columns()) << line;
    }
  }
}

TEST(Units, keep_two_digits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(10 * 1024), "10 KiB");
  EXPECT_EQ(format_bytes(1024 * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(INT64_MAX), "8192 PiB");
  EXPECT_EQ(format_duration(850), "850 us");
  EXPECT_EQ(format_duration(35'400), "35 ms");
  EXPECT_EQ(format_duration(2'345'000), "2.3 s");
  EXPECT_EQ(format_duration(250'000'000), "4 min 10 s");
  EXPECT_EQ(format_duration(7'500'000'000), "2 h 5 min");
  EXPECT_EQ(format_duration(277'200'000'000), "3 d 5 h");
}

client::ChunkInfo output_info() {
  client::ChunkInfo info;
  info.chunk.id = "output_0123456789abcdef0123456789abcdef";
  info.chunk.type = ChunkType::kOutput;
  info.chunk.text = "The answer\nis 4";
  info.chunk.kv_bytes = 5 * 1024;
  info.chunk.kv_state = KvState::kReady;
  info.tokens = 5;
  return info;
}

TEST(ChunkTable, numbers_outputs_with_preview_tokens_memory_and_id) {
  EXPECT_EQ(render_outputs({output_info()}, Ids::kShort, kPlain),
            "#  Preview          Tokens   Memory  ID\n"
            "1  The answer is 4       5  5.0 KiB  output_01234567\n");
}

TEST(ChunkTable, tells_outputs_from_inputs_at_a_glance) {
  client::ChunkInfo input;
  input.chunk.id = "chunk_0123456789abcdef0123456789abcdef";
  input.chunk.type = ChunkType::kSystemPrompt;
  input.chunk.text = "You are terse.";
  input.tokens = 4;
  const std::string table = render_chunks({output_info(), input}, Ids::kWhole, kPlain);
  EXPECT_NE(table.find("◀ output  OUTPUT         The answer is 4"), std::string::npos) << table;
  EXPECT_NE(table.find("▶ input   SYSTEM_PROMPT  You are terse."), std::string::npos) << table;
  EXPECT_NE(table.find(input.chunk.id), std::string::npos);
  const std::string coloured = render_chunks({output_info(), input}, Ids::kWhole, Style(true));
  EXPECT_NE(coloured.find("\x1b[32m◀ output"), std::string::npos);
  EXPECT_NE(coloured.find("\x1b[36m▶ input"), std::string::npos);
}

TEST(ChunkTable, shows_what_a_search_found_without_what_a_terminal_obeys) {
  const wire::ChunkSearchHit hit = {"output_0123456789abcdef", ChunkType::kOutput, "a\x1b[31mb",
                                    "The [capital]\nis\x07 Paris."};
  EXPECT_EQ(render_hits({hit}, Ids::kShort, kPlain),
            "ID               Type    Name     Snippet\n"
            "output_01234567  OUTPUT  a␛[31mb  The [capital] is␇ Paris.\n");
}

TEST(StatsText, has_what_is_on_disk_if_the_daemon_says_so) {
  wire::StatsReply stats;
  EXPECT_EQ(render_stats(stats, kPlain).find("on disk"), std::string::npos);
  stats.disk = wire::DiskStats{12, 1 << 20, 20, 8, 1, 3, 0};
  const std::string text = render_stats(stats, kPlain);
  EXPECT_NE(text.find("on disk:  12 pages, 12 MiB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("written:  20 pages, 20 MiB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("loaded:   8 pages, 8.0 MiB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("damaged:  1 page, computed again\n"), std::string::npos) << text;
  EXPECT_NE(text.find("removed:  3 pages\n"), std::string::npos) << text;
  stats.disk->load_bytes_per_s = 1 << 30;
  EXPECT_NE(render_stats(stats, kPlain).find("8.0 MiB, 1.0 GiB/s"), std::string::npos);
  EXPECT_EQ(to_json_object(stats)["disk"]["pages_loaded"], 8);
}

TEST(StatsText, has_the_states_of_a_model_with_recurrent_layers) {
  wire::StatsReply stats;
  EXPECT_EQ(render_stats(stats, kPlain).find("states"), std::string::npos);
  stats.states = wire::StateStats{.state_bytes = 1 << 20,
                                  .states_max = 20,
                                  .states_used = 7,
                                  .states_kept = 5,
                                  .states_dropped = 2,
                                  .on_disk = 11,
                                  .written = 12,
                                  .loaded = 4};
  const std::string text = render_stats(stats, kPlain);
  EXPECT_NE(text.find("states:   7 of 20, 1.0 MiB each\n"), std::string::npos) << text;
  EXPECT_NE(text.find("kept:     5, 2 dropped to make room\n"), std::string::npos) << text;
  EXPECT_NE(text.find("on disk:  11, 12 written, 4 loaded\n"), std::string::npos) << text;
  EXPECT_EQ(to_json_object(stats)["states"]["states_kept"], 5);
  wire::StatusReply status;
  status.states = stats.states;
  const std::string line = render_status(status, kPlain);
  EXPECT_NE(line.find("5 kept, in 7.0 MiB of 20 MiB (35 %); 11 on disk\n"), std::string::npos)
      << line;
}

TEST(UsageText, says_what_was_read_from_disk) {
  client::Generation generation;
  generation.usage.reused_tokens = 520;
  EXPECT_TRUE(usage_text(generation, false).starts_with("520 tokens reused, 0 prefilled"));
  generation.usage.loaded_tokens = 128;
  EXPECT_TRUE(usage_text(generation, false)
                  .starts_with("520 tokens reused (128 read from disk), 0 prefilled"));
}

TEST(UsageText, says_what_was_left_out_and_what_there_is_for_it) {
  client::Generation generation;
  generation.left_out = LeftOut{12, 1};
  EXPECT_TRUE(
      usage_text(generation, false)
          .ends_with(", left out: the oldest 12 turns, and the oldest step of the next turn"));
  generation.retrieved = {{"output_1", 60}};
  EXPECT_TRUE(
      usage_text(generation, false).ends_with(", brought back: parts of 1 turn, 60 tokens"));
  generation.retrieved.push_back({"", 7});
  EXPECT_EQ(retrieved_text(generation.retrieved), "parts of 2 turns, 67 tokens");
  generation.summarised = Summarised{12, {"chunk_1"}};
  EXPECT_TRUE(usage_text(generation, false).ends_with(", summarised: 12 turns in 1 summary"));
}

TEST(UsageText, names_an_attention_mode_that_is_not_dense) {
  client::Generation generation;
  generation.finish_reason = "stop";
  for (const char* const mode : {"", "dense"}) {
    generation.attention = mode;
    EXPECT_TRUE(usage_text(generation, true).ends_with("0 generated, 0 us, stop")) << mode;
  }
  generation.attention = "window:512:16";
  EXPECT_TRUE(
      usage_text(generation, true).ends_with("0 generated, 0 us, attention window:512:16, stop"));
  generation.attention = "select:4096:0";
  generation.usage.selected_tokens = 9;
  EXPECT_TRUE(usage_text(generation, false)
                  .ends_with(", attention select:4096:0 (9 tokens selected pages)"));
  generation.attention = "verify:4096:0";
  generation.usage = {};
  generation.usage.drafted_tokens = 40;
  generation.usage.accepted_tokens = 37;
  EXPECT_TRUE(
      usage_text(generation, false).ends_with(", attention verify:4096:0 (37 of 40 drafts right)"));
}

TEST(ChunkTable, shows_no_chain_keys_but_in_json) {
  Chunk chunk = output_info().chunk;
  chunk.kv_key = "f00d";
  EXPECT_EQ(render_chunk(chunk, kPlain).find("f00d"), std::string::npos);
  EXPECT_EQ(to_json_object(chunk)["kv_key"], "f00d");
}

TEST(FsckText, has_a_line_for_each_finding_and_one_for_all) {
  wire::FsckReply reply;
  reply.pages = 3;
  reply.bytes = 3 << 20;
  EXPECT_EQ(render_fsck(reply),
            "verified 3 pages of K and V (3.0 MiB) and the database: all is well\n");
  reply.findings = {{"kv file 1", "is\x1b[2J cut\noff", true}, {"search index", "is wrong", false}};
  reply.found = 5;
  reply.left = 4;
  EXPECT_EQ(render_fsck(reply),
            "kv file 1: is␛[2J cut off (repaired)\n"
            "search index: is wrong\n"
            "and 3 more\n"
            "verified 3 pages of K and V (3.0 MiB) and the database: 5 findings, 1 repaired, 4 "
            "left\n");
}

TEST(ChunkTable, shows_no_tokens_of_a_text_that_has_no_chain_of_its_own) {
  Chunk chunk;
  chunk.kv_state = KvState::kReady;
  chunk.kv_bytes = 2048;
  EXPECT_NE(render_chunk(chunk, kPlain).find("ready, 2.0 KiB\n"), std::string::npos);
  chunk.kv_tokens = 7;
  EXPECT_NE(render_chunk(chunk, kPlain).find("ready, 7 tokens, 2.0 KiB\n"), std::string::npos);
}

TEST(ChunkTable, does_not_say_none_of_pages_that_are_there) {
  client::ChunkInfo info;
  info.chunk.id = "chunk_1";
  const auto state = [&] {
    const std::string table = render_chunks({info}, Ids::kWhole, kPlain);
    const std::string shown = render_chunk(info.chunk, kPlain);
    const std::string words[] = {"none", "cached", "pending"};
    std::string found;
    for (const std::string& word : words) {
      if (table.find(word) != table.npos && shown.find(word + ", ") != shown.npos) found += word;
    }
    return found;
  };
  EXPECT_EQ(state(), "none");
  info.chunk.kv_bytes = 660 << 10;
  EXPECT_EQ(state(), "cached");
  info.chunk.kv_bytes = 0;
  info.chunk.kv_disk_bytes = 1;
  EXPECT_EQ(state(), "cached");
  info.chunk.kv_state = KvState::kPending;
  EXPECT_EQ(state(), "pending");
}

TEST(ChunkTable, shows_one_chunk_and_its_text) {
  Chunk chunk = output_info().chunk;
  chunk.query_text = "What is\x1b[2J 2+2?";
  chunk.token_ids = {1, 2, 3};
  const std::string shown = render_chunk(chunk, kPlain);
  EXPECT_NE(shown.find("tokens:              3\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("\nText\nThe answer\nis 4\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("\nQuestion\nWhat is␛[2J 2+2?\n"), std::string::npos) << shown;
}

TEST(ChunkTable, shortens_ids_to_what_the_daemon_takes) {
  EXPECT_EQ(shown_id("chunk_0123456789abcdef", Ids::kShort), "chunk_01234567");
  EXPECT_EQ(shown_id("chunk_0123456789abcdef", Ids::kWhole), "chunk_0123456789abcdef");
  EXPECT_EQ(shown_id("strange", Ids::kShort), "strange");
}

TEST(JsonFields, have_the_names_of_the_protocol) {
  wire::Final final;
  final.text = "Paris";
  final.token_ids = {1, 2};
  final.logprobs = {-0.5F};
  final.usage.reused_tokens = 7;
  final.seed = UINT64_MAX;
  const OrderedJson json = to_json_object(final);
  EXPECT_EQ(json["text"], "Paris");
  EXPECT_EQ(json["token_ids"], (OrderedJson{1, 2}));
  EXPECT_EQ(json["logprobs"][0], -0.5);
  EXPECT_EQ(json["usage"]["reused_tokens"], 7);
  EXPECT_EQ(json["seed"], UINT64_MAX);
  const OrderedJson list = json_of_list({output_info()});
  EXPECT_EQ(list["chunks"][0]["tokens"], 5);
  EXPECT_EQ(list["chunks"][0]["type"], "OUTPUT");
  EXPECT_EQ(list["chunks"][0]["kv_state"], "ready");
}

TEST(StatusText, says_what_was_reused) {
  wire::StatusReply status;
  status.state = "serving";
  status.tokens_reused = 300;
  status.tokens_prefilled = 100;
  status.kv_bytes_used = 1 << 20;
  status.kv_bytes_max = 4 << 20;
  status.actors_restarted = {"decode", "store"};
  const std::string text = render_status(status, kPlain);
  EXPECT_NE(text.find("300 reused (75 %), 100 prefilled"), std::string::npos) << text;
  EXPECT_NE(text.find("1.0 MiB of 4.0 MiB (25 %)"), std::string::npos) << text;
  EXPECT_NE(text.find("decode, store"), std::string::npos) << text;
  EXPECT_EQ(text.find("tokens/s"), std::string::npos) << "no speed was measured: " << text;
  EXPECT_EQ(text.find("on disk"), std::string::npos) << text;
  EXPECT_EQ(text.find("selected"), std::string::npos) << text;
  EXPECT_EQ(text.find("drafts"), std::string::npos) << text;
  status.tokens_drafted = 40;
  status.tokens_accepted = 30;
  EXPECT_NE(render_status(status, kPlain).find("40, 30 right (75 %)"), std::string::npos);
  status.tokens_selected = 12;
  EXPECT_NE(render_status(status, kPlain).find("by 12 tokens"), std::string::npos);
}

TEST(StatusText, says_what_memory_and_disk_have_room_for) {
  wire::StatusReply status;
  status.context_tokens_max = 262'144;
  status.sequence_tokens_max = 100'000;
  status.kv_disk_bytes = 1 << 20;
  status.kv_disk_bytes_max = 4 << 20;
  status.prefill_tokens_per_s = 99.6;
  const std::string text = render_status(status, kPlain);
  EXPECT_NE(text.find("262144 tokens, of which memory and disk have room for 100000"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("1.0 MiB of 4.0 MiB (25 %)"), std::string::npos) << text;
  EXPECT_NE(text.find("0 prefilled, 100 tokens/s"), std::string::npos) << text;
  status.attention = "verify:4096:0";
  EXPECT_NE(render_status(status, kPlain).find("of which memory and disk have"), std::string::npos);
  status.attention = "select:4096:0";
  const std::string select = render_status(status, kPlain);
  EXPECT_NE(select.find("of which memory has room for 100000"), std::string::npos) << select;
  EXPECT_NE(select.find("select:4096:0"), std::string::npos) << select;
  status.sequence_tokens_max = 262'144;
  EXPECT_EQ(render_status(status, kPlain).find("of which"), std::string::npos);
}

}  // namespace
}  // namespace cascade::ctl
