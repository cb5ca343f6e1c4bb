// The purpose of the project: outputs are kept, reused exactly, and nothing else changes.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using testing::ask;
using testing::demo_model;
using testing::output_ref;
using testing::query_text;
using testing::SchedulerWorld;
using testing::system_text;

const char* const kHelpfulSystem = "You are a helpful assistant.";

// ---- conversations ------------------------------------------------------------------------------

const std::vector<std::string> kQuestions = {
    "What is the capital of France?",
    "What city did we just discuss?",
    "What is 7 + 8?",
    "Why did you say that?",
    "Notes:\nThe code of the red door is 4711.\nAna likes plums.\n\nWhat is the code of the red "
    "door?",
    "What was my first question?",
};

struct Sampling {
  const char* name;
  double temperature;
  ThinkPolicy policy;
};

class Conversation : public ::testing::TestWithParam<Sampling> {
 protected:
  wire::GenerateRequest turn(std::vector<wire::ChunkRef> chunks, const std::string& question,
                             int number) const {
    chunks.push_back(query_text(question));
    wire::GenerateRequest request = ask(chunks);
    request.sampling.temperature = GetParam().temperature;
    request.sampling.top_k = 0;
    request.sampling.top_p = 1;
    request.sampling.seed = 1000 + number;
    request.retain_output = true;
    request.think_policy = GetParam().policy;
    return request;
  }
};

void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

TEST_P(Conversation, retained_outputs_give_the_same_tokens_and_bits_as_cold_prompts) {
  SchedulerWorld warm;
  std::vector<wire::ChunkRef> chunks = {system_text(kHelpfulSystem)};
  std::vector<ChatMessage> history = {
      {.role = "system", .content = kHelpfulSystem, .reasoning = {}}};
  for (size_t i = 0; i < kQuestions.size(); ++i) {
    const auto request = turn(chunks, kQuestions[i], static_cast<int>(i));
    const auto reused = warm.one<wire::Final>(warm.send(request));
    ASSERT_FALSE(reused.output_chunk_id.empty());

    history.push_back({.role = "user", .content = kQuestions[i], .reasoning = {}});
    SchedulerWorld cold;
    wire::GenerateRequest cold_request = request;
    if (GetParam().policy == ThinkPolicy::kKeep) {
      // Kept thoughts cannot come in as messages, so the cold side knows the chunks, but has no KV.
      wire::StoreChunks known;
      for (const wire::ChunkRef& chunk : chunks) {
        if (!chunk.id.empty()) known.chunks.push_back(warm.chunk(chunk.id));
      }
      cold.core().on_answer(known);
    } else {
      cold_request.chunks.clear();
      cold_request.messages = history;
    }
    const auto alone = cold.one<wire::Final>(cold.send(cold_request));
    EXPECT_EQ(alone.usage.reused_tokens, 0);
    EXPECT_EQ(alone.usage.prompt_tokens, reused.usage.prompt_tokens);
    EXPECT_EQ(alone.token_ids, reused.token_ids) << "turn " << i;
    expect_same_bits(alone.logprobs, reused.logprobs);
    EXPECT_EQ(reused.usage.reused_tokens + reused.usage.prefilled_tokens,
              reused.usage.prompt_tokens);
    if (i > 0 && GetParam().policy != ThinkPolicy::kDrop) {
      const auto own = demo_model().tokenizer.encode(kQuestions[i], false, false);
      EXPECT_LE(reused.usage.prefilled_tokens, 64 + static_cast<int64_t>(own->size()));
      EXPECT_EQ(warm.chunk(reused.output_chunk_id).kv_state, KvState::kReady);
    }
    history.push_back({.role = "assistant", .content = reused.text, .reasoning = {}});
    chunks.push_back(output_ref(reused.output_chunk_id));
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, Conversation,
                         ::testing::Values(Sampling{"greedy", 0, ThinkPolicy::kReprefill},
                                           Sampling{"sampled", 0.9, ThinkPolicy::kReprefill},
                                           Sampling{"drop", 0.9, ThinkPolicy::kDrop},
                                           Sampling{"keep", 0.9, ThinkPolicy::kKeep}),
                         [](const auto& test) { return std::string(test.param.name); });

// A seed with which the demo model thinks before it answers this question.
wire::Final think(SchedulerWorld& world, ThinkPolicy policy) {
  for (uint64_t seed = 1; seed < 60; ++seed) {
    auto request = ask({system_text(kHelpfulSystem), query_text("What is the capital of Japan?")});
    request.sampling.temperature = 1;
    request.sampling.seed = seed;
    request.sampling.top_k = 0;
    request.sampling.top_p = 1;
    request.retain_output = true;
    request.think_policy = policy;
    auto final = world.one<wire::Final>(world.send(request));
    if (!final.reasoning.empty() && !final.text.empty()) return final;
    if (!final.output_chunk_id.empty()) world.send(wire::ChunkDelete{final.output_chunk_id});
  }
  ADD_FAILURE() << "no seed below 60 makes the model think";
  return {};
}

TEST(Retention, reprefill_removes_thoughts_and_frees_their_branch) {
  SchedulerWorld world;
  const auto final = think(world, ThinkPolicy::kReprefill);
  const Chunk chunk = world.chunk(final.output_chunk_id);
  EXPECT_EQ(chunk.text, final.text);
  EXPECT_EQ(chunk.text.find("think"), std::string::npos);
  EXPECT_NE(chunk.raw_text.find("<think>"), std::string::npos);
  ASSERT_EQ(chunk.think_spans.size(), 1u);
  EXPECT_TRUE(chunk.think_spans[0].closed);
  EXPECT_EQ(chunk.kv_state, KvState::kReady);
  EXPECT_LT(chunk.kv_tokens, final.usage.prompt_tokens + final.usage.completion_tokens);
  EXPECT_EQ(final.usage.reasoning_tokens, chunk.think_spans[0].end - chunk.think_spans[0].begin);
  const auto next = world.one<wire::Final>(
      world.send(ask({system_text(kHelpfulSystem), output_ref(chunk.id), query_text("Thanks")})));
  EXPECT_EQ(next.usage.reused_tokens, chunk.kv_tokens);
}

TEST(Retention, keep_continues_behind_the_thoughts) {
  SchedulerWorld world;
  const auto final = think(world, ThinkPolicy::kKeep);
  const Chunk chunk = world.chunk(final.output_chunk_id);
  EXPECT_EQ(chunk.kv_state, KvState::kReady);
  // Every sampled token is part of the history, thoughts included.
  EXPECT_GE(chunk.kv_tokens, final.usage.prompt_tokens + final.usage.completion_tokens - 1);
  const auto next = world.one<wire::Final>(
      world.send(ask({system_text(kHelpfulSystem), output_ref(chunk.id), query_text("Thanks")})));
  EXPECT_EQ(next.usage.reused_tokens, chunk.kv_tokens);
  EXPECT_GT(next.usage.prompt_tokens, chunk.kv_tokens);
}

TEST(Retention, drop_keeps_the_text_and_no_pages) {
  SchedulerWorld world;
  const auto final = think(world, ThinkPolicy::kDrop);
  const Chunk chunk = world.chunk(final.output_chunk_id);
  EXPECT_EQ(chunk.kv_state, KvState::kNone);
  EXPECT_EQ(chunk.kv_bytes, 0);
  EXPECT_EQ(chunk.text, final.text);
}

TEST(Retention, the_same_output_again_is_the_same_chunk) {
  SchedulerWorld world;
  auto request = ask({query_text("What is the capital of Peru?")});
  request.retain_output = true;
  const auto first = world.one<wire::Final>(world.send(request));
  const auto second = world.one<wire::Final>(world.send(request));
  EXPECT_EQ(first.output_chunk_id, second.output_chunk_id);
  EXPECT_EQ(world.status().chunks_output, 1);
  EXPECT_EQ(world.chunk(first.output_chunk_id).kv_state, KvState::kReady);
}

TEST(Retention, equal_answers_in_two_conversations_are_two_chunks) {
  SchedulerWorld world;
  std::set<std::string> ids;
  for (const std::string system : {"You are a helpful assistant.", "Answer briefly."}) {
    auto request = ask({system_text(system), query_text("What is the capital of France?")});
    request.retain_output = true;
    const auto final = world.one<wire::Final>(world.send(request));
    EXPECT_EQ(final.text, "The capital of France is Paris.");
    ids.insert(final.output_chunk_id);
    EXPECT_EQ(world.chunk(final.output_chunk_id).kv_state, KvState::kReady);
  }
  EXPECT_EQ(ids.size(), 2u);
}

TEST(Retention, without_the_flag_nothing_is_kept_by_name) {
  SchedulerWorld world;
  const auto final =
      world.one<wire::Final>(world.send(ask({query_text("What is the capital of Peru?")})));
  EXPECT_TRUE(final.output_chunk_id.empty());
  EXPECT_EQ(world.status().chunks_output, 0);
}

TEST(Retention, deleting_a_chunk_frees_its_pages_but_not_those_of_later_turns) {
  SchedulerWorld world;
  auto request = ask({system_text(kHelpfulSystem), query_text("What is the capital of Peru?")});
  request.retain_output = true;
  const auto first = world.one<wire::Final>(world.send(request));
  auto follow_up = ask({system_text(kHelpfulSystem), output_ref(first.output_chunk_id),
                        query_text("What city did we just discuss?")});
  follow_up.retain_output = true;
  const auto second = world.one<wire::Final>(world.send(follow_up));
  const int64_t pages = world.status().kv_pages_used;

  world.one<wire::ChunkReply>(world.send(wire::ChunkDelete{first.output_chunk_id}));
  EXPECT_EQ(world.chunk(second.output_chunk_id).kv_state, KvState::kReady);
  EXPECT_EQ(world.error(world.send(wire::ChunkGet{first.output_chunk_id})).code,
            ErrorCode::kNotFound);
  EXPECT_EQ(world.error(world.send(follow_up)).field, "chunks[1].id");

  world.one<wire::ChunkReply>(world.send(wire::ChunkDelete{second.output_chunk_id}));
  EXPECT_LT(world.status().kv_pages_used, pages);
}

TEST(Retention, idle_work_waits_for_requests) {
  SchedulerWorld world;
  auto request = ask({query_text("What is the capital of Chile?")});
  request.retain_output = true;
  const uint64_t first = world.post(request);
  while (world.all<wire::Final>(first).empty()) ASSERT_EQ(world.pump(1), 1u);
  // The history is still to be tokenized and prefilled; another request comes first.
  const uint64_t second = world.post(ask({query_text("What is the capital of Cuba?")}));
  while (world.all<wire::Final>(second).empty()) ASSERT_EQ(world.pump(1), 1u);
  const std::string id = world.one<wire::Final>(first).output_chunk_id;
  world.pump();
  EXPECT_EQ(world.chunk(id).kv_state, KvState::kReady);
}

TEST(Exactness, requests_together_give_the_same_bits_as_alone) {
  std::vector<wire::GenerateRequest> requests;
  for (int i = 0; i < 12; ++i) {
    auto request =
        ask({system_text(kHelpfulSystem), query_text(kQuestions[i % kQuestions.size()])});
    request.sampling.temperature = i % 3 == 0 ? 0 : 0.8;
    request.sampling.seed = i;
    requests.push_back(request);
  }
  SchedulerWorld together;
  std::vector<uint64_t> numbers;
  for (const auto& request : requests) numbers.push_back(together.post(request));
  together.pump();
  for (size_t i = 0; i < requests.size(); ++i) {
    SchedulerWorld world;
    const auto alone = world.one<wire::Final>(world.send(requests[i]));
    const auto shared = together.one<wire::Final>(numbers[i]);
    EXPECT_EQ(alone.token_ids, shared.token_ids) << "request " << i;
    expect_same_bits(alone.logprobs, shared.logprobs);
  }
}

TEST(Exactness, eviction_changes_the_work_and_not_the_result) {
  SchedulerWorld roomy;
  // There is room for one short conversation: each conversation pushes out the one before it.
  SchedulerWorld tight({}, 2);
  for (int round = 0; round < 3; ++round) {
    for (const char* country : {"France", "Spain", "Italy", "Japan"}) {
      auto request = ask({system_text(kHelpfulSystem),
                          query_text(std::string("What is the capital of ") + country + "?")});
      request.retain_output = true;
      request.max_tokens = 40;
      const auto a = roomy.one<wire::Final>(roomy.send(request));
      const auto b = tight.one<wire::Final>(tight.send(request));
      EXPECT_EQ(a.token_ids, b.token_ids);
      expect_same_bits(a.logprobs, b.logprobs);
    }
  }
  EXPECT_GT(tight.status().pages_evicted, 0);
  EXPECT_EQ(roomy.status().pages_evicted, 0);
}

}  // namespace
}  // namespace cascade
