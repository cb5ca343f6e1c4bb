// Approximations: answers whose thoughts are taken out of their chains. Exact requests never find
// them, answers say what they were computed after, and idle time makes them exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/actors/hybrid_world.h"
#include "tests/actors/scheduler_world.h"
#include "tests/actors/scripted_answer.h"
#include "tests/persist/memory_disk.h"

namespace cascade {
namespace {

using testing::ask;
using testing::query_text;
using testing::SchedulerWorld;
using testing::Scripted;
using testing::system_text;

class Thoughts : public ::testing::TestWithParam<ThinkPolicy> {
 protected:
  static constexpr char kAnswer[] =
      "The capital of Japan is Tokyo, a city on the coast of the largest island. More than ten "
      "million people live there, and the emperor has his palace in the middle of the town.";

  static SchedulerOptions options() { return testing::bursts_of(1); }
  // A world whose store has K and V.
  struct DurableWorld {
    static SchedulerOptions options() {
      SchedulerOptions options = Thoughts::options();
      options.keep_pages = true;
      return options;
    }

    testing::MemoryDisk disk;
    std::unique_ptr<Store> store = *Store::open(disk, "/state");
    SchedulerWorld world{options(), SchedulerWorld::kPages, store.get()};
  };
  static wire::GenerateRequest question(const std::string& text, ThinkPolicy policy) {
    auto request = ask({system_text("You are a helpful assistant who knows the cities of the world "
                                    "and likes to talk about them at length."),
                        query_text(text)});
    request.retain_output = true;
    request.think_policy = policy;
    return request;
  }
  static wire::GenerateRequest next_question(const std::string& previous, ThinkPolicy policy) {
    auto request = ask({query_text("And what is the capital of France?")});
    request.previous_output = previous;
    request.think_policy = policy;
    request.max_tokens = 8;
    return request;
  }
  // The answer to a question, after a thought.
  wire::Final think(SchedulerWorld& world, const wire::GenerateRequest& request) {
    const Scripted script(world,
                          "<think>\nI am asked for the capital of Japan. I know that it is Tokyo, "
                          "so I shall say that it is Tokyo, and a little more about the "
                          "place.\n</think>\n\n" +
                              std::string(kAnswer));
    return world.one<wire::Final>(world.send(request));
  }
  wire::Final first_turn(SchedulerWorld& world, std::optional<bool> heal = {}) {
    auto request = question("What is the capital of Japan?", GetParam());
    request.heal = heal;
    return think(world, request);
  }
  // What the second turn's answer is without anything to reuse.
  static wire::Final cold(SchedulerWorld& world, const std::string& previous) {
    auto request = next_question(previous, ThinkPolicy::kReprefill);
    request.reuse = false;
    return world.one<wire::Final>(world.send(request));
  }
  static void expect_equal(const wire::Final& a, const wire::Final& b) {
    EXPECT_EQ(a.token_ids, b.token_ids);
    EXPECT_EQ(a.logprobs, b.logprobs);
  }
};

TEST_P(Thoughts, are_taken_out_and_the_answer_stays) {
  SchedulerWorld world(options());
  const auto first = first_turn(world);
  ASSERT_EQ(first.text, kAnswer);
  EXPECT_EQ(first.think_policy, GetParam());
  EXPECT_EQ(first.approximation, Approximation::kNone) << "its prompt is exact";
  const Chunk chunk = world.chunk(first.output_chunk_id);
  EXPECT_EQ(chunk.kv_state, KvState::kReady);
  EXPECT_EQ(chunk.kv_approximation, approximation_of(GetParam()));
  EXPECT_EQ(chunk.generation.approximation, Approximation::kNone);
  EXPECT_EQ(world.status().tokens_reprefilled, 0);

  const auto second =
      world.one<wire::Final>(world.send(next_question(first.output_chunk_id, GetParam())));
  EXPECT_EQ(second.approximation, approximation_of(GetParam()));
  EXPECT_GT(second.usage.approximate_tokens, 30);
  EXPECT_GE(second.usage.reused_tokens, second.usage.prompt_tokens - 25);
  EXPECT_GE(chunk.kv_tokens, second.usage.reused_tokens);
}

TEST_P(Thoughts, taken_out_are_never_found_by_exact_requests) {
  SchedulerWorld world(options());
  const auto first = first_turn(world);
  const auto expected = cold(world, first.output_chunk_id);
  (void)world.send(next_question(first.output_chunk_id, GetParam()));
  for (const ThinkPolicy policy :
       {ThinkPolicy::kReprefill, ThinkPolicy::kKeep, ThinkPolicy::kDrop}) {
    const auto exact =
        world.one<wire::Final>(world.send(next_question(first.output_chunk_id, policy)));
    EXPECT_EQ(exact.approximation, Approximation::kNone);
    EXPECT_EQ(exact.usage.approximate_tokens, 0);
    expect_equal(exact, expected);
  }
}

TEST_P(Thoughts, of_one_policy_are_not_those_of_the_other) {
  SchedulerWorld world(options());
  const auto first = first_turn(world);
  const ThinkPolicy other =
      GetParam() == ThinkPolicy::kSplice ? ThinkPolicy::kMask : ThinkPolicy::kSplice;
  const auto second =
      world.one<wire::Final>(world.send(next_question(first.output_chunk_id, other)));
  EXPECT_EQ(second.approximation, Approximation::kNone);
}

TEST_P(Thoughts, exact_k_and_v_replace_the_approximate_ones_in_idle_time) {
  SchedulerWorld world(options());
  const auto first = first_turn(world, /*heal=*/true);
  const Chunk chunk = world.chunk(first.output_chunk_id);
  EXPECT_EQ(chunk.kv_state, KvState::kReady);
  EXPECT_EQ(chunk.kv_approximation, Approximation::kNone);
  EXPECT_GT(world.status().tokens_reprefilled, 0);
  const auto second =
      world.one<wire::Final>(world.send(next_question(first.output_chunk_id, GetParam())));
  EXPECT_EQ(second.approximation, Approximation::kNone);
  EXPECT_GE(second.usage.reused_tokens, second.usage.prompt_tokens - 25);
  expect_equal(second, cold(world, first.output_chunk_id));
}

TEST_P(Thoughts, a_turn_that_comes_before_the_exact_k_and_v_uses_the_approximate_ones) {
  SchedulerWorld world(options());
  {
    auto request = question("What is the capital of Japan?", GetParam());
    request.heal = true;
    const Scripted script(world, "<think>\nTokyo, or is it?\n</think>\n\n" + std::string(kAnswer));
    const uint64_t number = world.post(request);
    while (world.all<wire::Final>(number).empty()) world.pump(1);
    const auto first = world.one<wire::Final>(number);
    auto next = next_question(first.output_chunk_id, GetParam());
    next.retain_output = true;
    next.heal = true;
    const uint64_t second = world.post(next);
    while (world.all<wire::Final>(second).empty()) world.pump(1);
    EXPECT_EQ(world.one<wire::Final>(second).approximation, approximation_of(GetParam()));
    world.pump();
    const Chunk chunk = world.chunk(world.one<wire::Final>(second).output_chunk_id);
    EXPECT_EQ(chunk.generation.approximation, approximation_of(GetParam()));
    EXPECT_EQ(chunk.kv_approximation, Approximation::kNone);
  }
}

TEST_P(Thoughts, several_turns_go_on_from_one_another) {
  SchedulerWorld world(options());
  auto last = first_turn(world);
  for (int turn = 0; turn < 4; ++turn) {
    auto request = next_question(last.output_chunk_id, GetParam());
    request.max_tokens = 200;
    request.retain_output = true;
    const auto next = think(world, request);
    EXPECT_EQ(next.approximation, approximation_of(GetParam()));
    EXPECT_GE(next.usage.reused_tokens, next.usage.prompt_tokens - 25) << turn;
    last = next;
  }
  const Chunk chunk = world.chunk(last.output_chunk_id);
  EXPECT_EQ(chunk.kv_approximation, approximation_of(GetParam()));
  EXPECT_EQ(chunk.generation.approximation, approximation_of(GetParam()));
  const auto exact = world.one<wire::Final>(
      world.send(next_question(last.output_chunk_id, ThinkPolicy::kReprefill)));
  expect_equal(exact, cold(world, last.output_chunk_id));
}

TEST_P(Thoughts, pages_of_thoughts_are_free_afterwards) {
  SchedulerWorld world(options());
  auto request = question("What is the capital of Japan?", GetParam());
  std::string thought;
  for (int i = 0; i < 60; ++i) thought += "I wonder about this city. ";
  request.max_tokens = 2000;
  {
    const Scripted script(world, "<think>\n" + thought + "\n</think>\n\n" + kAnswer);
    (void)world.send(request);
  }
  const auto pages = testing::cache_stats(world).pages_used;
  EXPECT_LE(pages, 4) << "prompt and answer";
}

TEST_P(Thoughts, nothing_is_left_of_a_deleted_output) {
  SchedulerWorld world(options());
  const auto first = first_turn(world);
  auto next = next_question(first.output_chunk_id, GetParam());
  const auto before = world.one<wire::Final>(world.send(next));
  ASSERT_GT(before.usage.approximate_tokens, 0);
  // The same conversation, without the output's id.
  auto messages = ask({});
  messages.messages = {
      {.role = "system",
       .content = "You are a helpful assistant who knows the cities of the world and likes to talk "
                  "about them at length.",
       .reasoning = {}},
      {.role = "user", .content = "What is the capital of Japan?", .reasoning = {}},
      {.role = "assistant", .content = kAnswer, .reasoning = {}},
      {.role = "user", .content = "And what is the capital of France?", .reasoning = {}}};
  messages.think_policy = GetParam();
  messages.max_tokens = 1;
  EXPECT_GT(world.one<wire::Final>(world.send(messages)).usage.approximate_tokens, 0);
  world.send(wire::ChunkDelete{first.output_chunk_id});
  const auto after = world.one<wire::Final>(world.send(messages));
  EXPECT_EQ(after.usage.approximate_tokens, 0);
  EXPECT_LT(after.usage.reused_tokens, 64);
}

TEST_P(Thoughts, nothing_is_left_of_an_output_that_is_deleted_while_a_turn_goes_on_from_it) {
  SchedulerWorld world(options());
  const auto first = first_turn(world);
  auto next = next_question(first.output_chunk_id, GetParam());
  next.max_tokens = 150;
  next.ignore_eos = true;
  const uint64_t number = world.post(next);
  for (int i = 0; i < 12; ++i) world.pump(1);
  world.post(wire::ChunkDelete{first.output_chunk_id});
  world.pump();
  ASSERT_GT(world.one<wire::Final>(number).usage.approximate_tokens, 0);
  EXPECT_EQ(testing::cache_stats(world).pages_used, 0);
}

TEST_P(Thoughts, nothing_is_left_of_a_context_that_is_deleted_while_a_turn_goes_on_from_it) {
  SchedulerWorld world(options());
  const std::string context =
      world
          .one<wire::ChunkReply>(world.send(wire::ChunkPut{
              ChunkType::kContext, testing::long_text("the rules of the house", 60)}))
          .chunk.id;
  auto request =
      ask({{ChunkType::kContext, context, ""}, query_text("What is the capital of Japan?")});
  request.retain_output = true;
  request.think_policy = GetParam();
  const auto first = think(world, request);
  auto next = next_question(first.output_chunk_id, GetParam());
  next.max_tokens = 100;
  next.ignore_eos = true;
  const uint64_t number = world.post(next);
  for (int i = 0; i < 12; ++i) world.pump(1);
  world.post(wire::ChunkDelete{context});
  world.pump();
  ASSERT_GT(world.one<wire::Final>(number).usage.approximate_tokens, 0);
  world.send(wire::ChunkDelete{first.output_chunk_id});
  EXPECT_EQ(testing::cache_stats(world).pages_used, 0);
}

TEST_P(Thoughts, an_output_that_comes_again_stays_exact) {
  SchedulerWorld world(options());
  const auto first = first_turn(world, /*heal=*/true);
  ASSERT_EQ(world.chunk(first.output_chunk_id).kv_approximation, Approximation::kNone);
  const auto again = first_turn(world, /*heal=*/false);
  ASSERT_EQ(again.output_chunk_id, first.output_chunk_id);
  const Chunk chunk = world.chunk(first.output_chunk_id);
  EXPECT_EQ(chunk.kv_approximation, Approximation::kNone);
  EXPECT_EQ(chunk.kv_state, KvState::kReady);
}

TEST_P(Thoughts, a_pin_that_comes_later_makes_the_output_exact) {
  DurableWorld durable;
  SchedulerWorld& world = durable.world;
  const auto first = first_turn(world);
  wire::ChunkUpdate pin;
  pin.id = first.output_chunk_id;
  pin.pinned = true;
  world.send(pin);
  for (int i = 0; i < 3; ++i) {
    world.clock.advance_us(3'000'000);
    world.core().on_tick();
    world.pump();
  }
  const Chunk chunk = world.chunk(first.output_chunk_id);
  EXPECT_EQ(chunk.kv_approximation, Approximation::kNone);
  EXPECT_EQ(chunk.kv_state, KvState::kReady);
  EXPECT_GT(chunk.kv_disk_pages, 0);
}

TEST_P(Thoughts, of_a_long_answer_are_taken_out_in_several_jobs) {
  SchedulerOptions small = options();
  small.planner.slice_tokens_max = 64;
  SchedulerWorld world(small);
  std::vector<int32_t> moved;
  world.on_outgoing = [&](const Outgoing& message) {
    const auto* job = std::get_if<wire::PrefillJob>(&message.envelope.message);
    if (job == nullptr || !job->moved) return;
    EXPECT_LE(job->token_ids.size(), 64u);
    moved.insert(moved.end(), job->token_ids.begin(), job->token_ids.end());
  };
  std::string answer;
  for (int i = 0; i < 30; ++i) answer += "This is sentence number " + std::to_string(i) + ". ";
  answer.pop_back();
  auto request = question("Tell me a story.", GetParam());
  request.max_tokens = 2000;
  wire::Final first;
  {
    const Scripted script(world, "<think>\nA story.\n</think>\n\n" + answer);
    first = world.one<wire::Final>(world.send(request));
  }
  ASSERT_EQ(first.text, answer);
  EXPECT_GT(moved.size(), 128u);
  // The tokens after the thought, without the end of the turn.
  const std::vector<int32_t>& sampled = first.token_ids;
  ASSERT_LT(moved.size(), sampled.size());
  EXPECT_TRUE(std::equal(moved.begin(), moved.end(), sampled.end() - 1 - std::ssize(moved)));
}

TEST_P(Thoughts, published_outputs_are_exact_for_every_tenant) {
  SchedulerWorld world(options());
  world.core().on_actor_started(Actor::kGateway, "alice");
  auto request = ask({query_text(testing::long_text("What is the capital of Japan?", 20))});
  request.retain_output = true;
  request.think_policy = GetParam();
  request.heal = true;
  const auto first = think(world, request);
  wire::ChunkUpdate publish;
  publish.id = first.output_chunk_id;
  publish.published = true;
  world.send(publish);
  auto next = next_question(first.output_chunk_id, GetParam());
  const auto of_alice = world.one<wire::Final>(world.send_as("alice", next));
  EXPECT_EQ(of_alice.approximation, Approximation::kNone);
  EXPECT_GT(of_alice.usage.reused_tokens, 64);
  world.send(wire::ChunkDelete{first.output_chunk_id});
  EXPECT_EQ(testing::cache_stats(world).pages_used, 0);
}

TEST_P(Thoughts, taking_them_out_disturbs_no_other_work) {
  SchedulerOptions batched = options();
  SchedulerWorld world(batched);
  // Another conversation's history waits to be prefilled, and an answer is being written.
  auto waiting = question("What is the capital of Chile?", ThinkPolicy::kReprefill);
  auto running = testing::prompt_request("Once upon a time", 300, false);
  const uint64_t other = world.post(running, "other");
  for (int i = 0; i < 6; ++i) world.pump(1);
  const uint64_t kept = world.post(waiting, "kept");
  while (world.all<wire::Final>(kept).empty()) world.pump(1);
  const auto before = world.status_now().requests_preempted;
  auto request = question("What is the capital of Peru?", GetParam());
  const uint64_t thinking = world.post(request, "thinking");
  while (world.all<wire::Final>(thinking).empty()) world.pump(1);
  EXPECT_TRUE(world.all<wire::Final>(other).empty());
  for (int i = 0; i < 4; ++i) world.pump(1);
  EXPECT_EQ(world.status_now().requests_preempted, before);
  world.pump();
  EXPECT_EQ(world.chunk(world.one<wire::Final>(kept).output_chunk_id).kv_state, KvState::kReady);
  EXPECT_EQ(world.chunk(world.one<wire::Final>(thinking).output_chunk_id).kv_state,
            KvState::kReady);
}

TEST_P(Thoughts, the_question_is_removed_with_the_answer) {
  for (const bool heal : {false, true}) {
    SchedulerWorld world(options());
    const auto first = first_turn(world, heal);
    world.send(wire::ChunkDelete{first.output_chunk_id});
    EXPECT_EQ(testing::cache_stats(world).pages_used, 0) << heal;
  }
}

TEST_P(Thoughts, an_answer_whose_exact_k_and_v_are_known_is_exact) {
  SchedulerWorld world(options());
  auto exact = question("What is the capital of Japan?", ThinkPolicy::kReprefill);
  (void)think(world, exact);
  const auto first = first_turn(world);
  const Chunk chunk = world.chunk(first.output_chunk_id);
  EXPECT_EQ(chunk.think_policy, GetParam());
  EXPECT_EQ(chunk.kv_state, KvState::kReady);
  EXPECT_EQ(chunk.kv_approximation, Approximation::kNone);
}

TEST_P(Thoughts, approximations_end_with_the_daemon) {
  DurableWorld durable;
  SchedulerWorld& world = durable.world;
  const auto first = first_turn(world);
  world.start_scheduler();
  const Chunk chunk = world.chunk(first.output_chunk_id);
  EXPECT_EQ(chunk.think_policy, GetParam());
  EXPECT_EQ(chunk.kv_approximation, Approximation::kNone);
  const auto second =
      world.one<wire::Final>(world.send(next_question(first.output_chunk_id, GetParam())));
  EXPECT_EQ(second.approximation, Approximation::kNone);
  expect_equal(second, cold(world, first.output_chunk_id));
}

TEST_P(Thoughts, a_pinned_output_is_healed_and_on_disk) {
  DurableWorld durable;
  SchedulerWorld& world = durable.world;
  auto request = question("What is the capital of Japan?", GetParam());
  request.output_pinned = true;
  const auto first = think(world, request);
  EXPECT_EQ(world.chunk(first.output_chunk_id).kv_approximation, Approximation::kNone);
  EXPECT_GT(world.chunk(first.output_chunk_id).kv_disk_pages, 0);
  world.start_scheduler();
  const auto second =
      world.one<wire::Final>(world.send(next_question(first.output_chunk_id, GetParam())));
  EXPECT_GE(second.usage.reused_tokens, second.usage.prompt_tokens - 25);
  expect_equal(second, cold(world, first.output_chunk_id));
}

TEST_P(Thoughts, are_prefilled_without_if_moving_fails) {
  SchedulerWorld world(options());
  world.on_outgoing = [&](const Outgoing& message) {
    const auto* job = std::get_if<wire::PrefillJob>(&message.envelope.message);
    if (job != nullptr && job->moved) world.restart(Actor::kPrefill);
  };
  const auto first = first_turn(world);
  world.on_outgoing = {};
  world.pump();
  const Chunk chunk = world.chunk(first.output_chunk_id);
  EXPECT_EQ(chunk.kv_state, KvState::kReady);
  EXPECT_EQ(chunk.kv_approximation, Approximation::kNone);
}

TEST_P(Thoughts, the_policy_needs_dense_attention) {
  SchedulerWorld world(options());
  auto request = question("What is the capital of Japan?", GetParam());
  request.attention = "window:128:64";
  const Error error = world.error(world.send(request));
  EXPECT_EQ(error.field, "think_policy");
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  // The daemon's own policy refuses nothing.
  SchedulerOptions daemon = options();
  daemon.think_policy = GetParam();
  SchedulerWorld other(daemon);
  request.think_policy.reset();
  const auto final = other.one<wire::Final>(other.send(request));
  EXPECT_EQ(final.think_policy, ThinkPolicy::kReprefill);
}

INSTANTIATE_TEST_SUITE_P(Policies, Thoughts,
                         ::testing::Values(ThinkPolicy::kSplice, ThinkPolicy::kMask),
                         [](const auto& param) { return std::string(to_string(param.param)); });

}  // namespace
}  // namespace cascade
