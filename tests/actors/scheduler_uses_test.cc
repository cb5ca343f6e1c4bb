// Deleting a chunk also removes the pages that have its text, even those of conversations that
// nobody retained.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/actors/scheduler_world.h"
#include "tests/long_tests.h"
#include "tests/persist/memory_disk.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::ask;
using testing::output_ref;
using testing::query_text;
using testing::SchedulerWorld;
using testing::system_text;

// Longer than a page, so that one page has nothing but this prompt.
constexpr char kGeographySystem[] =
    "You are a helpful assistant that answers questions about countries, capitals, rivers and "
    "mountains in one short sentence, and says so when it does not know the answer to a question. "
    "Do not make up cities that are not there. Do not say more than you were asked for.";

std::string river_facts(const std::string& word, int count) {
  std::string text = "About " + word + ":";
  for (int i = 0; i < count; ++i) text += " " + word + " has river " + std::to_string(i) + ".";
  return text;
}

class TextUses : public ::testing::Test {
 protected:
  explicit TextUses(size_t pages = SchedulerWorld::kPages) : pages_(pages) { start(); }
  ~TextUses() override {
    world_.reset();
    store_.reset();
  }

  void start() {
    auto opened = Store::open(disk_, "/state", {});
    CHECK(opened.ok());
    store_ = *std::move(opened);
    SchedulerOptions options;
    options.keep_pages = true;
    world_ = std::make_unique<SchedulerWorld>(options, pages_, store_.get());
  }
  void kill() {
    world_.reset();
    disk_.kill();
    store_.reset();
    start();
  }

  std::string put(ChunkType type, const std::string& text, int64_t ttl_ms = 0) {
    wire::ChunkPut put{type, text};
    if (ttl_ms > 0) put.ttl_ms = ttl_ms;
    return world_->one<wire::ChunkReply>(world_->send(put)).chunk.id;
  }
  void remove(const std::string& id) {
    world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{id, "", true}));
  }
  static wire::GenerateRequest about(const std::string& context, const std::string& question) {
    wire::GenerateRequest request = ask(
        {system_text(kGeographySystem), {ChunkType::kContext, context, ""}, query_text(question)});
    request.max_tokens = 4;
    return request;
  }
  wire::Final generate(const wire::GenerateRequest& request) {
    return world_->one<wire::Final>(world_->send(request));
  }
  // Returns how many tokens are reused of a prompt that has the system prompt and `text`, but names
  // no chunk.
  int64_t known(const std::string& text) {
    wire::GenerateRequest request = ask({});
    request.messages = {{.role = "system", .content = kGeographySystem, .reasoning = {}},
                        {.role = "user", .content = text + "\n\nWhich?", .reasoning = {}}};
    request.max_tokens = 1;
    return generate(request).usage.reused_tokens;
  }
  wire::StatsReply stats() {
    return world_->one<wire::StatsReply>(world_->send(wire::StatsRequest{}));
  }

  testing::MemoryDisk disk_;
  const size_t pages_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<SchedulerWorld> world_;
};

TEST_F(TextUses, a_deleted_context_is_not_found_in_any_conversation) {
  const std::string peru = river_facts("Peru", 40);
  const std::string chile = river_facts("Chile", 40);
  const std::string id = put(ChunkType::kContext, peru);
  const std::string other = put(ChunkType::kContext, chile);
  for (const char* question : {"Which river?", "How many?"}) {
    generate(about(id, question));
    generate(about(other, question));
  }
  remove(id);
  // The part of the prompt before the text stays; so does the beginning of the text, if other texts
  // begin in the same way.
  EXPECT_GE(known(chile), 3 * kPageTokens);
  const int64_t left = known(peru);
  EXPECT_GE(left, kPageTokens);
  EXPECT_LT(left, 2 * kPageTokens);
}

// A short turn shares its first page with the turn before it, which stays.
TEST_F(TextUses, a_deleted_turn_is_not_found_in_the_page_of_the_one_before_it) {
  wire::GenerateRequest request = ask({query_text("Say one.")});
  request.retain_output = true;
  request.max_tokens = 4;
  const std::string first = generate(request).output_chunk_id;
  request = ask({query_text("What about purple zebras?")});
  request.previous_output = first;
  request.retain_output = true;
  request.max_tokens = 4;
  const wire::Final second = generate(request);
  EXPECT_GT(second.usage.reused_tokens, 0);
  EXPECT_LT(second.usage.prompt_tokens, kPageTokens);
  remove(second.output_chunk_id);
  EXPECT_EQ(world_->chunk(first).kv_state, KvState::kReady);
  request.retain_output = false;
  EXPECT_EQ(generate(request).usage.reused_tokens, second.usage.reused_tokens);
}

TEST_F(TextUses, a_deleted_question_is_not_found_in_the_page_of_a_pinned_context) {
  const std::string id = put(ChunkType::kContext, river_facts("Peru", 2));
  const auto about_it = [&](const std::string& question) {
    wire::GenerateRequest request = ask({{ChunkType::kContext, id, ""}, query_text(question)});
    request.retain_output = true;
    request.max_tokens = 4;
    return request;
  };
  const wire::Final kept = generate(about_it("Which?"));
  wire::ChunkUpdate pin;
  pin.id = id;
  pin.pinned = true;
  world_->one<wire::ChunkReply>(world_->send(pin));
  remove(kept.output_chunk_id);
  const wire::Final asked = generate(about_it("What about purple zebras?"));
  remove(asked.output_chunk_id);
  EXPECT_EQ(world_->chunk(id).kv_state, KvState::kReady);
  const wire::Final again = generate(about_it("What about purple zebras?"));
  EXPECT_EQ(again.usage.reused_tokens, asked.usage.reused_tokens);
  EXPECT_GE(again.usage.reused_tokens, std::ssize(world_->chunk(id).token_ids));
}

TEST_F(TextUses, a_deleted_context_is_not_found_before_any_of_several_answers) {
  const std::string id = put(ChunkType::kContext, "The Rimac is a river of Peru.");
  wire::GenerateRequest request = ask({{ChunkType::kContext, id, ""}, query_text("What is it?")});
  request.max_tokens = 8;
  request.sampling.temperature = 2;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    request.sampling.seed = seed;
    EXPECT_LT(generate(request).usage.prompt_tokens, kPageTokens) << "each answer has a page";
  }
  remove(id);
  wire::GenerateRequest again = ask({});
  again.messages = {
      {.role = "user", .content = "The Rimac is a river of Peru.\n\nWhat is it?", .reasoning = {}}};
  const wire::Usage usage = generate(again).usage;
  EXPECT_LT(usage.reused_tokens, usage.prompt_tokens / 2);
}

TEST_F(TextUses, a_context_shows_the_pages_of_every_prompt_in_which_it_stands) {
  const std::string id = put(ChunkType::kContext, river_facts("Peru", 40));
  EXPECT_EQ(world_->chunk(id).kv_bytes, 0);
  generate(about(id, "Which river?"));
  const int64_t page_bytes = stats().cache->page_bytes;
  const int64_t once = world_->chunk(id).kv_bytes;
  EXPECT_GE(once, 3 * page_bytes);
  EXPECT_EQ(once % page_bytes, 0);
  // Another prompt has the same pages except the last one, which also has the question.
  generate(about(id, "How many?"));
  EXPECT_LE(world_->chunk(id).kv_bytes, once + page_bytes);
  remove(id);
  // Only the system prompt, which is a chunk, too, stays.
  const wire::StatsReply left = stats();
  ASSERT_EQ(left.groups.size(), 1u);
  EXPECT_EQ(left.groups[0].type, ChunkType::kSystemPrompt);
  EXPECT_EQ(left.cache->chunk_bytes, left.groups[0].kv_bytes);
}

TEST_F(TextUses, a_context_shows_its_pages_on_disk) {
  const std::string id = put(ChunkType::kContext, river_facts("Peru", 40));
  for (const char* question : {"Which river?", "How many?", "Where?"}) {
    generate(about(id, question));
  }
  const Chunk chunk = world_->chunk(id);
  EXPECT_GE(chunk.kv_disk_pages, 3);
  EXPECT_EQ(stats().disk->page_bytes, static_cast<int64_t>(SchedulerWorld::page_bytes()));
  EXPECT_GT(stats().cache->page_bytes, stats().disk->page_bytes) << "in memory, with an index";
  EXPECT_EQ(chunk.kv_disk_bytes, chunk.kv_disk_pages * stats().disk->page_bytes);
  EXPECT_GE(stats().cache->chunk_disk_bytes, chunk.kv_disk_bytes);
  kill();
  EXPECT_EQ(world_->chunk(id).kv_bytes, 0);
  EXPECT_EQ(world_->chunk(id).kv_disk_pages, chunk.kv_disk_pages);
}

TEST_F(TextUses, statistics_count_a_page_of_several_chunks_once) {
  const std::string whole = river_facts("Peru", 40);
  const std::string id = put(ChunkType::kContext, whole);
  const std::string same = put(ChunkType::kQuery, whole);
  generate(about(id, "Which river?"));
  wire::GenerateRequest request =
      ask({system_text(kGeographySystem), {ChunkType::kQuery, same, ""}});
  request.max_tokens = 4;
  generate(request);
  const int64_t together = world_->chunk(id).kv_bytes + world_->chunk(same).kv_bytes;
  const wire::StatsReply all = stats();
  EXPECT_LT(all.cache->chunk_bytes, together);
  EXPECT_GE(all.cache->chunk_bytes, world_->chunk(id).kv_bytes);
  EXPECT_LE(all.cache->chunk_bytes, all.cache->pages_used * all.cache->page_bytes);
}

TEST_F(TextUses, a_deleted_context_is_not_found_in_a_prompt_that_had_a_priority) {
  const std::string peru = river_facts("Peru", 40);
  const std::string id = put(ChunkType::kContext, peru);
  wire::GenerateRequest request = about(id, "Which?");
  request.prompt_priority = 100;
  request.prompt_priority_ms = 3'600'000;
  generate(request);
  EXPECT_GE(known(peru), 3 * kPageTokens);
  remove(id);
  EXPECT_LT(known(peru), 2 * kPageTokens);
}

TEST_F(TextUses, an_expired_context_neither) {
  const std::string peru = river_facts("Peru", 40);
  const std::string id = put(ChunkType::kContext, peru, 60'000);
  generate(about(id, "Which river?"));
  world_->clock.advance_us(60'000'000);
  world_->core().on_tick();
  world_->pump();
  EXPECT_LT(known(peru), 2 * kPageTokens);
}

TEST_F(TextUses, what_a_retained_output_stands_on_stays_until_that_goes) {
  const std::string peru = river_facts("Peru", 40);
  const std::string id = put(ChunkType::kContext, peru);
  wire::GenerateRequest request = about(id, "Which?");
  request.retain_output = true;
  const std::string output = generate(request).output_chunk_id;
  remove(id);
  EXPECT_GE(known(peru), 3 * kPageTokens);
  world_.reset();
  kill();
  remove(output);
  EXPECT_LT(known(peru), 2 * kPageTokens);
}

TEST_F(TextUses, are_known_of_what_is_on_disk_after_a_kill) {
  const std::string peru = river_facts("Peru", 40);
  const std::string chile = river_facts("Chile", 40);
  const std::string id = put(ChunkType::kContext, peru);
  const std::string other = put(ChunkType::kContext, chile);
  for (int i = 0; i < 3; ++i) {  // pages that are found again are written
    generate(about(id, "Which?"));
    generate(about(other, "Which?"));
  }
  kill();
  const int64_t stored = stats().disk->pages;
  EXPECT_GE(stored, 8);
  remove(id);
  EXPECT_LT(stats().disk->pages, stored);
  EXPECT_GE(known(chile), 3 * kPageTokens);
  EXPECT_LT(known(peru), 2 * kPageTokens);
  remove(other);
  kill();
  EXPECT_LT(known(chile), 2 * kPageTokens);
}

TEST_F(TextUses, a_request_that_runs_when_the_text_is_deleted_ends_as_if_it_were_not) {
  const std::string peru = river_facts("Peru", 120);
  const std::string id = put(ChunkType::kContext, peru);
  wire::GenerateRequest request = about(id, "Which?");
  const wire::Final expected = generate(request);
  remove(id);
  for (size_t steps = 1;; ++steps) {
    const std::string again = put(ChunkType::kContext, peru);
    request.chunks[1].id = again;
    const uint64_t running = world_->post(request);
    world_->pump(steps);
    const bool ended = !world_->all<wire::Final>(running).empty();
    remove(again);
    world_->pump();
    const auto final = world_->one<wire::Final>(running);
    EXPECT_EQ(final.token_ids, expected.token_ids);
    EXPECT_EQ(final.logprobs, expected.logprobs);
    EXPECT_LT(known(peru), 2 * kPageTokens) << "deleted after " << steps << " steps";
    if (ended) break;
  }
}

class FewPages : public TextUses {
 protected:
  FewPages() : TextUses(40) {}
};

// Pages leave memory from the ends of chains, and leave the disk when they were not used for long.
TEST_F(FewPages, whatever_was_computed_evicted_and_read_again_nothing_is_left) {
  Random random(testing::test_seed());
  const std::vector<std::string> names = {"Peru", "Chile", "Cuba", "Kenya"};
  std::vector<std::string> ids;
  std::vector<std::string> outputs;
  const int rounds = testing::long_or(80, 30);
  for (int round = 0; round < rounds; ++round) {
    const std::string& name = names[random.below(names.size())];
    const int count = 5 + 15 * static_cast<int>(random.below(3));
    const std::string id = put(ChunkType::kContext, river_facts(name, count));
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
    wire::GenerateRequest request = about(id, random.below(2) == 0 ? "Which?" : "How many?");
    if (!outputs.empty() && random.below(3) == 0) {
      request.chunks.insert(request.chunks.begin() + 1,
                            output_ref(outputs[random.below(outputs.size())]));
    }
    request.retain_output = random.below(4) == 0;
    request.thinking = random.below(2) == 0;
    const wire::Final final = generate(request);
    const std::string& output = final.output_chunk_id;
    const bool fresh = std::ranges::find(outputs, output) == outputs.end();
    if (!output.empty() && fresh) outputs.push_back(output);
    for (auto* some : {&ids, &outputs}) {
      if (some->empty() || random.below(8) != 0) continue;
      const size_t i = random.below(some->size());
      remove((*some)[i]);
      some->erase(some->begin() + static_cast<ptrdiff_t>(i));
    }
    if (random.below(20) == 0) kill();
  }
  const uint64_t list = world_->send(wire::ChunkListRequest{});
  for (const Chunk& chunk : world_->one<wire::ChunkListReply>(list).chunks) remove(chunk.id);
  EXPECT_EQ(stats().cache->pages_used, 0);
  EXPECT_EQ(stats().disk->pages, 0);
}

}  // namespace
}  // namespace cascade
