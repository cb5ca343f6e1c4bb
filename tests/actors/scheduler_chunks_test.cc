// Chunks by name: registering, listing, showing, deleting, restoring; how they compose.
#include <gtest/gtest.h>

#include <set>

#include "actors/scheduler/composition.h"
#include "cache/holders.h"
#include "tests/actors/chunk_with_names.h"
#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using testing::ask;
using testing::query_text;
using testing::SchedulerWorld;

TEST(Chunks, the_same_text_again_is_the_same_chunk) {
  SchedulerWorld world;
  const auto put = [&](ChunkType type, const std::string& text) {
    return world.one<wire::ChunkReply>(world.send(wire::ChunkPut{type, text})).chunk;
  };
  const Chunk first = put(ChunkType::kContext, "Paris is in France.");
  EXPECT_EQ(put(ChunkType::kContext, "Paris is in France.").id, first.id);
  EXPECT_NE(put(ChunkType::kQuery, "Paris is in France.").id, first.id);
  EXPECT_FALSE(first.token_ids.empty());
  EXPECT_EQ(first.content_hash.size(), 64u);
  EXPECT_TRUE(first.id.starts_with("chunk_"));
}

TEST(Chunks, outputs_and_empty_texts_cannot_be_registered) {
  SchedulerWorld world;
  EXPECT_EQ(world.error(world.send(wire::ChunkPut{ChunkType::kOutput, "x"})).field, "type");
  EXPECT_EQ(world.error(world.send(wire::ChunkPut{ChunkType::kContext, ""})).field, "text");
}

TEST(Chunks, are_listed_newest_first_page_by_page) {
  SchedulerWorld world;
  for (int i = 0; i < 5; ++i) {
    world.send(wire::ChunkPut{ChunkType::kContext, "text " + std::to_string(i)});
  }
  wire::ChunkListRequest request;
  request.limit = 2;
  std::vector<std::string> texts;
  for (bool more = true; more;) {
    const auto page = world.one<wire::ChunkListReply>(world.send(request));
    for (const Chunk& chunk : page.chunks) {
      texts.push_back(chunk.text);
      EXPECT_TRUE(chunk.token_ids.empty());
    }
    EXPECT_EQ(page.token_counts.size(), page.chunks.size());
    request.after = page.chunks.back().id;
    more = page.more;
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"text 4", "text 3", "text 2", "text 1", "text 0"}));
  request.after = "chunk_that_is_not_there";
  EXPECT_EQ(world.error(world.send(request)).code, ErrorCode::kNotFound);
}

// A thousand chunks with all the holders that they may have do not fit one message.
TEST(Chunks, are_listed_in_smaller_pages_if_they_have_many_holders) {
  SchedulerWorld world;
  wire::StoreChunks stored;
  for (int i = 0; i < 1000; ++i) stored.chunks.push_back(testing::chunk_with_names(i, kHoldersMax));
  world.core().on_answer(std::move(stored));
  wire::ChunkListRequest request;
  std::set<std::string> ids;
  int pages = 0;
  for (bool more = true; more; ++pages) {
    const auto page = world.one<wire::ChunkListReply>(world.send(request));
    ASSERT_FALSE(page.chunks.empty());
    EXPECT_EQ(page.token_counts.size(), page.chunks.size());
    EXPECT_TRUE(wire::decode(*wire::encode({{}, page})).ok());
    for (const Chunk& chunk : page.chunks) ids.insert(chunk.id);
    request.after = page.chunks.back().id;
    more = page.more;
  }
  EXPECT_EQ(ids.size(), 1000u);
  EXPECT_GT(pages, 1);
}

TEST(Chunks, a_deletion_that_comes_again_is_answered_as_the_first_time) {
  SchedulerWorld world;
  const Chunk chunk =
      world.one<wire::ChunkReply>(world.send(wire::ChunkPut{ChunkType::kContext, "some text"}))
          .chunk;
  const uint64_t deletion = world.send(wire::ChunkDelete{chunk.id});
  const auto send_again = [&](const std::string& tenant) {
    world.core().on_client({tenant, "g2"},
                           {testing::request_id(deletion), wire::ChunkDelete{chunk.id}});
    world.pump();
  };
  send_again(kLocalTenant);
  const auto answers = world.all<wire::ChunkReply>(deletion);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[1].chunk.id, chunk.id);
  EXPECT_TRUE(world.all<wire::ErrorReply>(deletion).empty());
  send_again("another");
  EXPECT_EQ(world.error(deletion).code, ErrorCode::kNotFound);
  // The same deletion as a new request finds nothing.
  EXPECT_EQ(world.error(world.send(wire::ChunkDelete{chunk.id})).code, ErrorCode::kNotFound);
}

TEST(Chunks, a_list_cuts_long_texts_between_characters) {
  SchedulerWorld world;
  std::string text = "x";
  for (int i = 0; i < 300; ++i) text += "\xC3\xA9";
  world.send(wire::ChunkPut{ChunkType::kContext, text});
  const auto page = world.one<wire::ChunkListReply>(world.send(wire::ChunkListRequest{}));
  ASSERT_EQ(page.chunks.size(), 1u);
  EXPECT_EQ(page.chunks[0].text.size(), 399u);
  EXPECT_EQ(world.chunk(page.chunks[0].id).text, text);
}

TEST(Chunks, the_beginning_of_an_id_is_enough_if_it_names_one) {
  SchedulerWorld world;
  const auto chunk =
      world.one<wire::ChunkReply>(world.send(wire::ChunkPut{ChunkType::kContext, "a"})).chunk;
  EXPECT_EQ(world.chunk(chunk.id.substr(0, 12)).id, chunk.id);
  EXPECT_EQ(world.error(world.send(wire::ChunkGet{"chunk_"})).code, ErrorCode::kNotFound);
}

TEST(Chunks, outlive_a_restart_of_the_scheduler_as_text) {
  SchedulerWorld before;
  auto request = ask({query_text("What is the capital of Egypt?")});
  request.retain_output = true;
  const auto final = before.one<wire::Final>(before.send(request));
  const Chunk chunk = before.chunk(final.output_chunk_id);

  SchedulerWorld after;
  after.core().on_answer(wire::StoreChunks{1, {chunk}});
  EXPECT_EQ(after.chunk(chunk.id).kv_state, KvState::kNone);
  const std::vector<wire::ChunkRef> chunks = {testing::output_ref(chunk.id),
                                              query_text("What city did we just discuss?")};
  const auto warm = before.one<wire::Final>(before.send(ask(chunks)));
  const auto cold = after.one<wire::Final>(after.send(ask(chunks)));
  EXPECT_EQ(warm.token_ids, cold.token_ids);
  EXPECT_EQ(warm.logprobs, cold.logprobs);
  EXPECT_EQ(warm.text, "We just discussed Cairo.");
}

TEST(Chunks, texts_in_a_request_get_ids_on_the_way) {
  SchedulerWorld world;
  world.send(ask({testing::system_text("Be brief."),
                  {ChunkType::kContext, "", "Ana likes plums."},
                  query_text("What does Ana like to eat?")}));
  const auto page = world.one<wire::ChunkListReply>(world.send(wire::ChunkListRequest{}));
  ASSERT_EQ(page.chunks.size(), 2u);
  EXPECT_EQ(page.chunks[0].text, "Ana likes plums.");
  EXPECT_EQ(page.chunks[1].type, ChunkType::kSystemPrompt);
  EXPECT_GT(page.token_counts[0], 0);
}

class Composing : public ::testing::Test {
 protected:
  std::string add(Chunk chunk) {
    chunk.tenant = "local";
    const bool output = chunk.type == ChunkType::kOutput;
    chunk.id = (output ? "output_" : "chunk_") + std::to_string(100'000'000 + ++count_);
    chunk.content_hash = output ? chunk.id : chunk_content_hash(chunk);
    EXPECT_TRUE(registry_.add(chunk).ok());
    return chunk.id;
  }
  std::string add_context(const std::string& text) {
    Chunk chunk;
    chunk.type = ChunkType::kContext;
    chunk.text = text;
    return add(chunk);
  }
  std::string add_output(const std::string& query, const std::string& answer,
                         std::vector<std::string> parents = {}) {
    Chunk chunk;
    chunk.parent_ids = std::move(parents);
    chunk.type = ChunkType::kOutput;
    chunk.query_text = query;
    chunk.text = answer;
    return add(chunk);
  }
  std::vector<ChatMessage> messages(const std::vector<wire::ChunkRef>& refs) {
    const auto composition = compose(refs, "local", registry_, 1 << 20);
    EXPECT_TRUE(composition.ok()) << composition.error().to_string();
    return composition.ok() ? composition->messages : std::vector<ChatMessage>{};
  }
  static ChatMessage message(const std::string& role, const std::string& content) {
    return {.role = role, .content = content, .reasoning = {}};
  }
  static wire::ChunkRef context(const std::string& text) { return {ChunkType::kContext, "", text}; }

  ChunkRegistry registry_;
  int count_ = 0;
};

TEST_F(Composing, contexts_stand_before_the_query_in_its_message) {
  EXPECT_EQ(messages({testing::system_text("S"), context("A"), context("B"), query_text("Q")}),
            (std::vector<ChatMessage>{message("system", "S"), message("user", "A\n\nB\n\nQ")}));
  EXPECT_EQ(messages({context("A")}), (std::vector<ChatMessage>{message("user", "A")}));
}

TEST_F(Composing, an_output_is_its_whole_turn) {
  const std::string id = add_output("2+2?", "4");
  const std::vector<ChatMessage> expected = {message("user", "2+2?"), message("assistant", "4"),
                                             message("user", "Why?")};
  EXPECT_EQ(messages({testing::output_ref(id), query_text("Why?")}), expected);
  EXPECT_EQ(messages({{ChunkType::kContext, id, ""}, query_text("Why?")}), expected);
}

TEST_F(Composing, a_context_that_the_turn_already_has_is_not_repeated) {
  const std::string notes = add_context("Notes");
  const std::string id = add_output("Notes\n\n2+2?", "4", {notes});
  EXPECT_EQ(
      messages({{ChunkType::kContext, notes, ""}, testing::output_ref(id), query_text("Why?")}),
      messages({testing::output_ref(id), query_text("Why?")}));
  EXPECT_EQ(messages({context("Notes"), testing::output_ref(id), query_text("Why?")}),
            (std::vector<ChatMessage>{message("user", "Notes\n\n2+2?"), message("assistant", "4"),
                                      message("user", "Why?")}));
  EXPECT_EQ(messages({testing::output_ref(id), context("More"), query_text("Why?")}),
            (std::vector<ChatMessage>{message("user", "Notes\n\n2+2?"), message("assistant", "4"),
                                      message("user", "More\n\nWhy?")}));
}

TEST_F(Composing, a_context_that_the_question_happens_to_contain_is_kept) {
  const std::string id = add_output("What is 2+2?", "4");
  for (const char* text : {"2", "What", "is", "What is 2+2?"}) {
    EXPECT_EQ(messages({context(text), testing::output_ref(id), query_text("Why?")}),
              (std::vector<ChatMessage>{message("user", text + std::string("\n\nWhat is 2+2?")),
                                        message("assistant", "4"), message("user", "Why?")}));
  }
}

TEST_F(Composing, a_context_of_an_earlier_turn_is_not_taken_for_one_of_this) {
  const std::string notes = add_context("Notes");
  const std::string first = add_output("Notes\n\n2+2?", "4", {notes});
  const std::string second = add_output("Why?", "So.", {notes, first});
  EXPECT_EQ(messages({{ChunkType::kContext, notes, ""},
                      testing::output_ref(second),
                      query_text("Really?")})[0],
            message("user", "Notes\n\nWhy?"));
}

TEST_F(Composing, what_is_gone_is_an_error_or_left_out_and_named) {
  const std::string id = add_output("2+2?", "4");
  const std::vector<wire::ChunkRef> refs = {
      {ChunkType::kContext, "chunk_that_is_gone", ""}, testing::output_ref(id), query_text("Why?")};
  const auto refused = compose(refs, "local", registry_, 1 << 20);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().field, "chunks[0].id");
  const auto skipped = compose(refs, "local", registry_, 1 << 20, true, {}, OnMissing::kSkip);
  ASSERT_TRUE(skipped.ok());
  EXPECT_EQ(skipped->messages, messages({refs[1], refs[2]}));
  ASSERT_EQ(skipped->missing.size(), 1u);
  EXPECT_EQ(skipped->missing[0].id, "chunk_that_is_gone");
}

TEST_F(Composing, another_tenants_chunk_is_not_found) {
  const std::string id = add_output("2+2?", "4");
  const auto stranger =
      compose({testing::output_ref(id), query_text("Why?")}, "other", registry_, 1 << 20);
  ASSERT_FALSE(stranger.ok());
  EXPECT_EQ(stranger.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(stranger.error().field, "chunks[0].id");
}

}  // namespace
}  // namespace cascade
