// Pins and priorities: which pages stay, how many may stay, and what happens before they exist.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using testing::ask;
using testing::cache_stats;
using testing::long_text;
using testing::output_ref;
using testing::query_text;
using testing::SchedulerWorld;
using testing::system_text;

const std::string kBriefSystem = "You answer questions about capitals and sums. You are brief.";

wire::ChunkUpdate pin(const std::string& id, bool pinned = true) {
  wire::ChunkUpdate update;
  update.id = id;
  update.pinned = pinned;
  return update;
}

wire::GenerateRequest retained_brief(const std::string& query) {
  wire::GenerateRequest request = ask({system_text(kBriefSystem), query_text(query)});
  request.retain_output = true;
  request.max_tokens = 20;
  return request;
}

// A pool that a few requests fill.
constexpr size_t kFewPages = 20;

// Conversations that have nothing in common with others, until everything else is evicted. Each has
// about five pages.
void evict_others(SchedulerWorld& world) {
  static int number = 1000;
  for (int i = 0; i < 5; ++i) {
    std::string text;
    for (int word = 0; word < 60; ++word) text += std::to_string(++number) + " plus ";
    wire::GenerateRequest request = ask({query_text(text)});
    request.max_tokens = 2;
    world.one<wire::Final>(world.send(request));
  }
}

TEST(Pins, keep_the_pages_of_an_output_while_others_are_evicted) {
  SchedulerWorld world({}, kFewPages);
  const auto kept =
      world.one<wire::Final>(world.send(retained_brief("What is the capital of Peru?")));
  const auto lost =
      world.one<wire::Final>(world.send(retained_brief("What is the capital of Chile?")));
  world.one<wire::ChunkReply>(world.send(pin(kept.output_chunk_id)));
  EXPECT_GT(cache_stats(world).pages_pinned, 0);
  evict_others(world);
  EXPECT_GT(cache_stats(world).evicted, 0);
  EXPECT_EQ(world.chunk(kept.output_chunk_id).kv_state, KvState::kReady);
  wire::ChunkUpdate low;
  low.id = lost.output_chunk_id;
  low.priority = 0;
  world.one<wire::ChunkReply>(world.send(low));
  evict_others(world);
  EXPECT_EQ(world.chunk(lost.output_chunk_id).kv_state, KvState::kNone);
  EXPECT_EQ(world.chunk(kept.output_chunk_id).kv_state, KvState::kReady);
  world.one<wire::ChunkReply>(world.send(pin(kept.output_chunk_id, false)));
  EXPECT_EQ(cache_stats(world).pages_pinned, 0);
}

// A request that is continued by `max_tokens` tokens, with a prompt of its own.
wire::GenerateRequest continued(const std::string& name, int32_t max_tokens) {
  wire::GenerateRequest request = testing::prompt_request(long_text(name, 60), max_tokens);
  request.logprobs = true;
  return request;
}

TEST(Pins, that_take_pages_promised_to_a_running_request_let_it_wait_for_others) {
  SchedulerOptions options = testing::bursts_of(8);
  options.max_pinned = 1;
  SchedulerWorld world(options, kFewPages);
  wire::GenerateRequest many = retained_brief(long_text("pinned", 150));
  const auto kept = world.one<wire::Final>(world.send(many));
  const uint64_t first = world.post(continued("first", 350));
  const uint64_t second = world.post(continued("second", 350));
  world.pump(6);
  world.one<wire::ChunkReply>(world.post(pin(kept.output_chunk_id)));
  world.pump();
  for (const auto& [number, name] : {std::pair(first, "first"), std::pair(second, "second")}) {
    SchedulerWorld alone;
    const auto expected = alone.one<wire::Final>(alone.send(continued(name, 350)));
    const auto final = world.one<wire::Final>(number);
    EXPECT_EQ(final.token_ids, expected.token_ids);
    EXPECT_EQ(final.logprobs, expected.logprobs);
  }
  EXPECT_EQ(world.chunk(kept.output_chunk_id).kv_state, KvState::kReady);
}

TEST(Pins, that_leave_a_request_no_room_at_all_refuse_it_with_the_numbers) {
  SchedulerOptions options = testing::bursts_of(8);
  options.max_pinned = 1;
  SchedulerWorld world(options, kFewPages);
  const auto kept = world.one<wire::Final>(world.send(retained_brief(long_text("pinned", 150))));
  const uint64_t number = world.post(continued("long", 1000));
  world.pump(6);
  world.one<wire::ChunkReply>(world.post(pin(kept.output_chunk_id)));
  world.pump();
  const Error error = world.error(number);
  EXPECT_EQ(error.code, ErrorCode::kResourceExhausted);
  EXPECT_NE(error.message.find("pinned chunks leave"), std::string::npos) << error.message;
  EXPECT_EQ(world.chunk(kept.output_chunk_id).kv_state, KvState::kReady);
}

TEST(Pins, beyond_the_limit_are_refused_with_the_numbers) {
  SchedulerOptions options;
  options.max_pinned = 0.02;  // 1 page of 50
  SchedulerWorld world(options, 50);
  const auto first =
      world.one<wire::Final>(world.send(retained_brief("What is the capital of Peru?")));
  const Chunk chunk = world.chunk(first.output_chunk_id);
  ASSERT_LE(chunk.kv_tokens, kPageTokens);
  ASSERT_TRUE(world.one<wire::ChunkReply>(world.send(pin(chunk.id))).chunk.pinned);
  const auto second = world.one<wire::Final>(
      world.send(retained_brief("What is the capital of a country far away?")));
  const Error error = world.error(world.send(pin(second.output_chunk_id)));
  EXPECT_EQ(error.code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(error.field, "pinned");
  EXPECT_NE(error.message.find("more than remain of 1"), std::string::npos) << error.message;
  EXPECT_FALSE(world.chunk(second.output_chunk_id).pinned);
  // A request that wants a pin is refused before it computes anything.
  wire::GenerateRequest wants = retained_brief("What is the capital of Cuba?");
  wants.output_pinned = true;
  EXPECT_EQ(world.error(world.send(wants)).field, "output_pinned");
  // Unpinning gives the room back.
  world.one<wire::ChunkReply>(world.send(pin(chunk.id, false)));
  EXPECT_TRUE(world.one<wire::ChunkReply>(world.send(pin(second.output_chunk_id))).chunk.pinned);
}

TEST(Pins, of_an_output_that_is_still_to_be_prefilled_take_effect_afterwards) {
  SchedulerWorld world;
  const uint64_t number = world.post(retained_brief("What is the capital of Chile?"));
  while (world.all<wire::Final>(number).empty()) ASSERT_EQ(world.pump(1), 1u);
  const std::string id = world.one<wire::Final>(number).output_chunk_id;
  const uint64_t pinning = world.post(pin(id));
  EXPECT_EQ(world.one<wire::ChunkReply>(pinning).chunk.kv_state, KvState::kPending);
  const uint64_t before = world.post(wire::StatsRequest{});
  EXPECT_EQ(world.one<wire::StatsReply>(before).cache->pages_pinned, 0);
  EXPECT_GT(world.one<wire::StatsReply>(before).cache->pages_pin_promised, 0);
  world.pump();
  EXPECT_EQ(world.chunk(id).kv_state, KvState::kReady);
  EXPECT_GT(cache_stats(world).pages_pinned, 0);
  EXPECT_EQ(cache_stats(world).pages_pin_promised, 0);
}

TEST(Pins, of_an_evicted_output_compute_it_again) {
  SchedulerWorld world({}, kFewPages);
  auto request = retained_brief("What is the capital of Chile?");
  request.output_priority = 0;
  const auto final = world.one<wire::Final>(world.send(request));
  evict_others(world);
  ASSERT_EQ(world.chunk(final.output_chunk_id).kv_state, KvState::kNone);
  world.one<wire::ChunkReply>(world.send(pin(final.output_chunk_id)));
  EXPECT_EQ(world.chunk(final.output_chunk_id).kv_state, KvState::kReady);
  evict_others(world);
  const auto next = world.one<wire::Final>(
      world.send(ask({system_text(kBriefSystem), output_ref(final.output_chunk_id),
                      query_text("What city did we just discuss?")})));
  EXPECT_GE(next.usage.reused_tokens, world.chunk(final.output_chunk_id).kv_tokens);
}

TEST(Pins, of_a_system_prompt_prefill_what_its_conversations_begin_with) {
  SchedulerWorld world({}, kFewPages);
  wire::ChunkPut put{ChunkType::kSystemPrompt, kBriefSystem};
  put.pinned = true;
  const Chunk chunk = world.one<wire::ChunkReply>(world.send(put)).chunk;
  const Chunk ready = world.chunk(chunk.id);
  EXPECT_EQ(ready.kv_state, KvState::kReady);
  EXPECT_GT(ready.kv_tokens, static_cast<int64_t>(ready.token_ids.size()));
  EXPECT_GT(cache_stats(world).pages_pinned, 0);
  evict_others(world);
  const auto final = world.one<wire::Final>(
      world.send(ask({{ChunkType::kSystemPrompt, chunk.id, ""}, query_text("2+2?")})));
  EXPECT_EQ(final.usage.reused_tokens, ready.kv_tokens);
  SchedulerWorld cold;
  const auto expected =
      cold.one<wire::Final>(cold.send(ask({system_text(kBriefSystem), query_text("2+2?")})));
  EXPECT_EQ(final.token_ids, expected.token_ids);
  EXPECT_EQ(final.logprobs, expected.logprobs);
}

// Under lru the context would be evicted first, because nobody has asked for it lately.
TEST(Pins, of_a_context_keep_the_pages_of_every_prompt_that_has_it) {
  for (const bool pinned_before : {true, false}) {
    SchedulerOptions options;
    options.eviction = EvictionPolicy::kLru;
    SchedulerWorld world(options, kFewPages);
    std::string notes = "Notes of the meeting:";
    for (int i = 0; i < 30; ++i) notes += " Ana has " + std::to_string(i) + " plums.";
    const Chunk context =
        world.one<wire::ChunkReply>(world.send(wire::ChunkPut{ChunkType::kContext, notes})).chunk;
    const auto ask_about = [&](const std::string& question) {
      auto request = ask({{ChunkType::kContext, context.id, ""}, query_text(question)});
      request.max_tokens = 1;
      return world.one<wire::Final>(world.send(request)).usage;
    };
    if (pinned_before) world.one<wire::ChunkReply>(world.send(pin(context.id)));
    ask_about("How many plums has Ana?");
    if (!pinned_before) world.one<wire::ChunkReply>(world.send(pin(context.id)));
    EXPECT_EQ(world.chunk(context.id).kv_state, KvState::kReady);
    const int64_t pinned = cache_stats(world).pages_pinned;
    EXPECT_GT(pinned, 2);
    ask_about("Who has plums?");  // shares all pages except the last; one last page is enough
    EXPECT_EQ(cache_stats(world).pages_pinned, pinned);
    evict_others(world);
    const auto text = static_cast<int64_t>(context.token_ids.size());
    EXPECT_GE(ask_about("Has Ana any pears?").reused_tokens, text);
    wire::ChunkUpdate unpin = pin(context.id);
    unpin.pinned = false;
    world.one<wire::ChunkReply>(world.send(unpin));
    EXPECT_EQ(cache_stats(world).pages_pinned, 0);
    EXPECT_EQ(world.chunk(context.id).kv_state, KvState::kNone);
  }
}

// Conversations with the system prompt begin with the pages that its pin keeps anyway.
TEST(Pins, of_a_system_prompt_take_no_page_of_the_conversations_that_it_stands_in) {
  for (const bool before : {true, false}) {
    SchedulerWorld world({}, 40);
    const Chunk chunk = world
                            .one<wire::ChunkReply>(
                                world.send(wire::ChunkPut{ChunkType::kSystemPrompt, kBriefSystem}))
                            .chunk;
    world.one<wire::ChunkReply>(world.send(pin(chunk.id)));
    const int64_t alone = cache_stats(world).pages_pinned;
    ASSERT_GT(alone, 0);
    if (!before) world.one<wire::ChunkReply>(world.send(pin(chunk.id, false)));
    for (const std::string question : {"What is 2+2?", "Is it late?"}) {
      auto request = ask({{ChunkType::kSystemPrompt, chunk.id, ""}, query_text(question)});
      request.max_tokens = 1;
      world.one<wire::Final>(world.send(request));
    }
    if (!before) world.one<wire::ChunkReply>(world.send(pin(chunk.id)));
    EXPECT_EQ(cache_stats(world).pages_pinned, alone);
  }
}

TEST(Pins, of_a_context_without_room_are_told_in_the_status) {
  SchedulerOptions options;
  options.max_pinned = 0.05;
  SchedulerWorld world(options, 40);
  std::string notes = "Notes:";
  for (int i = 0; i < 30; ++i) notes += " Ana has " + std::to_string(i) + " plums.";
  wire::ChunkPut put{ChunkType::kContext, notes};
  put.pinned = true;
  const Chunk context = world.one<wire::ChunkReply>(world.send(put)).chunk;
  auto request = ask({{ChunkType::kContext, context.id, ""}, query_text("How many?")});
  request.max_tokens = 1;
  world.one<wire::Final>(world.send(request));
  EXPECT_EQ(cache_stats(world).pages_pinned, 0);
  const auto warnings = world.status().warnings;
  EXPECT_TRUE(std::ranges::any_of(warnings, [](const std::string& warning) {
    return warning.find("--max-pinned has no room") != std::string::npos;
  }));
}

TEST(Pins, of_stored_system_prompts_come_back_after_a_restart_of_the_scheduler) {
  SchedulerWorld world;
  wire::ChunkPut put{ChunkType::kSystemPrompt, kBriefSystem};
  put.pinned = true;
  const Chunk chunk = world.one<wire::ChunkReply>(world.send(put)).chunk;
  world.start_scheduler();
  EXPECT_EQ(world.chunk(chunk.id).kv_state, KvState::kReady);
  EXPECT_GT(cache_stats(world).pages_pinned, 0);
}

TEST(Pins, protect_from_deletion_and_expiry) {
  SchedulerWorld world;
  wire::ChunkPut put{ChunkType::kContext, "text"};
  put.pinned = true;
  put.ttl_ms = 10;
  const Chunk chunk = world.one<wire::ChunkReply>(world.send(put)).chunk;
  const Error error = world.error(world.send(wire::ChunkDelete{chunk.id}));
  EXPECT_EQ(error.code, ErrorCode::kConflict);
  EXPECT_EQ(error.field, "id");
  EXPECT_NE(error.message.find("unpin it first"), std::string::npos);
  world.clock.advance_us(20'000'000);
  world.core().on_tick();
  EXPECT_TRUE(world.chunk(chunk.id).pinned);
  world.one<wire::ChunkReply>(world.send(pin(chunk.id, false)));
  EXPECT_NE(world.error(world.send(wire::ChunkGet{chunk.id})).message.find("has expired"),
            std::string::npos);
}

TEST(Pins, a_request_that_pins_leave_no_room_for_is_refused_and_does_not_wait_for_ever) {
  SchedulerOptions options;
  options.max_pinned = 1;
  SchedulerWorld world(options, 6);
  auto request = retained_brief("What is the capital of Peru?");
  request.output_pinned = true;
  const auto final = world.one<wire::Final>(world.send(request));
  ASSERT_GT(cache_stats(world).pages_pinned, 0);
  std::string question = "What is the capital of Cuba?";
  for (int i = 0; i < 36; ++i) question += " Say it in " + std::to_string(i) + " words.";
  wire::GenerateRequest large = ask({query_text(question)});
  large.max_tokens = 2;
  const Error error = world.error(world.send(large));
  EXPECT_EQ(error.code, ErrorCode::kResourceExhausted);
  EXPECT_NE(error.message.find("pinned chunks leave"), std::string::npos) << error.message;
  world.one<wire::ChunkReply>(world.send(pin(final.output_chunk_id, false)));
  EXPECT_EQ(world.one<wire::Final>(world.send(large)).usage.completion_tokens, 2);
}

TEST(Priorities, decide_who_is_evicted_and_fall_back) {
  SchedulerWorld world({}, kFewPages);
  auto request = retained_brief("What is the capital of Peru?");
  request.output_priority = 100;
  request.output_priority_ms = 600'000;
  const auto high = world.one<wire::Final>(world.send(request));
  evict_others(world);
  const auto normal =
      world.one<wire::Final>(world.send(retained_brief("What is the capital of Cuba?")));
  EXPECT_EQ(world.chunk(high.output_chunk_id).priority, 100);
  world.clock.advance_us(600'000'000);
  const Chunk fallen = world.chunk(high.output_chunk_id);
  EXPECT_EQ(fallen.priority, kPriorityRetained);
  EXPECT_EQ(fallen.priority_until_us, 0);
  // A chunk of high priority outlives many normal ones.
  wire::ChunkUpdate raise;
  raise.id = high.output_chunk_id;
  raise.priority = 100;
  world.one<wire::ChunkReply>(world.send(raise));
  raise.id = normal.output_chunk_id;
  raise.priority = 1;
  world.one<wire::ChunkReply>(world.send(raise));
  evict_others(world);
  EXPECT_EQ(world.chunk(high.output_chunk_id).kv_state, KvState::kReady);
  EXPECT_EQ(world.chunk(normal.output_chunk_id).kv_state, KvState::kNone);
}

TEST(Priorities, of_a_prompt_keep_its_pages_for_a_while) {
  const auto reused_after_pressure = [](bool keep, int64_t wait_us) {
    SchedulerWorld world({}, kFewPages);
    std::string text;
    for (int i = 0; i < 40; ++i) text += "Ana likes plums and Ben likes pears. ";
    wire::GenerateRequest request = ask({query_text(text)});
    request.max_tokens = 2;
    if (keep) {
      request.prompt_priority = 90;
      request.prompt_priority_ms = 600'000;
    }
    world.one<wire::Final>(world.send(request));
    world.clock.advance_us(wait_us);
    evict_others(world);
    return world.one<wire::Final>(world.send(request)).usage.reused_tokens;
  };
  EXPECT_GT(reused_after_pressure(true, 0), 3 * kPageTokens);
  EXPECT_LE(reused_after_pressure(false, 0), kPageTokens);
  EXPECT_LE(reused_after_pressure(true, 600'000'000), kPageTokens);
}

TEST(Holds, take_a_share_of_the_pool_and_the_least_valuable_lets_go) {
  SchedulerOptions options;
  options.chunk_memory_ratio = 0.1;  // 6 pages
  SchedulerWorld world(options, 60);
  std::vector<std::string> ids;
  for (int i = 0; i < 8; ++i) {
    auto request = ask({query_text("What is " + std::to_string(i) + "+2?")});
    request.retain_output = true;
    request.max_tokens = 20;
    if (i == 2) request.output_priority = 80;
    ids.push_back(world.one<wire::Final>(world.send(request)).output_chunk_id);
  }
  const wire::CacheStats cache = cache_stats(world);
  EXPECT_EQ(cache.pages_held_max, 6);
  EXPECT_LE(cache.pages_held, 6);
  EXPECT_EQ(world.chunk(ids[0]).kv_state, KvState::kNone);
  EXPECT_EQ(world.chunk(ids[2]).kv_state, KvState::kReady);
  EXPECT_EQ(world.chunk(ids[7]).kv_state, KvState::kReady);
}

TEST(Thrashing, is_a_warning_of_the_status) {
  SchedulerWorld world({}, 12);
  std::vector<std::string> texts;
  for (int i = 1; i < 6; ++i) {
    std::string text(1, static_cast<char>('A' + i));
    for (int word = 0; word < 30; ++word) text += std::to_string(1000 * i + word) + " plus ";
    texts.push_back(text);
  }
  bool warned = false;
  for (int round = 0; round < 12 && !warned; ++round) {
    for (const std::string& text : texts) {
      // There is no template, since prompts that begin alike would find a page.
      wire::GenerateRequest request = ask({});
      request.prompt = text;
      request.max_tokens = 1;
      world.one<wire::Final>(world.send(request));
    }
    warned = !world.status().warnings.empty();
  }
  const wire::CacheStats cache = cache_stats(world);
  ASSERT_TRUE(warned) << "refaults " << cache.refault_share << ", evicted " << cache.evicted
                      << ", early " << cache.evicted_early << ", hits " << cache.page_hits
                      << ", misses " << cache.page_misses;
  EXPECT_TRUE(world.status().warnings[0].starts_with("the cache thrashes: "));
  EXPECT_TRUE(cache_stats(world).thrashing);
}

}  // namespace
}  // namespace cascade
