// Tables, units, chunk lists.
#include "clients/ctl/table.h"

#include <gtest/gtest.h>

#include <sstream>

#include "clients/ctl/chunk_table.h"
#include "clients/ctl/json_fields.h"
#include "clients/ctl/status_text.h"
#include "clients/ctl/terminal_text.h"
#include "clients/ctl/units.h"

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
}

}  // namespace
}  // namespace cascade::ctl
