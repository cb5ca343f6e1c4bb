// Sampling through scheduler and engine: a request's seed decides the tokens, whatever runs at the
// same time and however long the bursts are; what is recorded and told; what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using testing::ask;
using testing::bursts_of;
using testing::query_text;
using testing::SchedulerWorld;

// A request that uses every setting of sampling.
wire::GenerateRequest watched() {
  auto request = ask({query_text("What is the capital of Kenya?")});
  request.ignore_eos = true;
  request.max_tokens = 60;
  request.top_logprobs = 4;
  request.sampling.temperature = 0.8;
  request.sampling.top_p = 0.97;
  request.sampling.top_k = 50;
  request.sampling.min_p = 0.001;
  request.sampling.repetition_penalty = 1.1;
  request.sampling.presence_penalty = 0.6;
  request.sampling.frequency_penalty = 0.3;
  request.sampling.logit_bias = {{11, 1.5}, {8185, -3}, {300, 2}};
  request.sampling.seed = 123456789;
  return request;
}

// Requests of all kinds, to run beside the watched one.
wire::GenerateRequest other(int number) {
  auto request = ask({query_text("What is " + std::to_string(number) + " + 4?")});
  request.ignore_eos = number % 2 == 0;
  request.max_tokens = 20 + 15 * number;
  request.sampling.temperature = number % 3 == 0 ? 0 : 0.5 + 0.1 * number;
  request.sampling.seed = static_cast<uint64_t>(number);
  if (number % 2 == 1) request.sampling.frequency_penalty = 1;
  if (number % 4 == 1) request.sampling.repetition_penalty = 1.2;
  return request;
}

std::vector<uint32_t> bits_of(const std::vector<float>& numbers) {
  std::vector<uint32_t> bits;
  for (const float number : numbers) bits.push_back(std::bit_cast<uint32_t>(number));
  return bits;
}

void expect_same(const wire::Final& a, const wire::Final& b) {
  EXPECT_EQ(a.token_ids, b.token_ids);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(bits_of(a.logprobs), bits_of(b.logprobs));
  EXPECT_EQ(a.top_token_ids, b.top_token_ids);
  EXPECT_EQ(bits_of(a.top_logprobs), bits_of(b.top_logprobs));
}

wire::Final watched_alone(const SchedulerOptions& options = {}) {
  SchedulerWorld world(options);
  return world.one<wire::Final>(world.send(watched()));
}

TEST(Sampling, a_seed_decides_whoever_runs_beside) {
  const wire::Final expected = watched_alone();
  ASSERT_EQ(expected.token_ids.size(), 60u);
  // The request is the first, a middle, or the last one of a batch of eight, or joins while the
  // others run.
  for (const int place : {0, 3, 7}) {
    SchedulerWorld world;
    uint64_t number = 0;
    for (int i = 0; i < 8; ++i) {
      const uint64_t posted = world.post(i == place ? watched() : other(i));
      if (i == place) number = posted;
    }
    world.pump();
    expect_same(world.one<wire::Final>(number), expected);
  }
  SchedulerWorld world;
  for (int i = 0; i < 7; ++i) world.post(other(i));
  world.pump(40);
  expect_same(world.one<wire::Final>(world.send(watched())), expected);
}

TEST(Sampling, a_seed_decides_in_bursts_of_any_length) {
  const wire::Final expected = watched_alone();
  for (const int steps : {1, 2, 7, 64}) {
    expect_same(watched_alone(bursts_of(steps)), expected);
    SchedulerWorld world(bursts_of(steps));
    for (int i = 0; i < 3; ++i) world.post(other(i));
    expect_same(world.one<wire::Final>(world.send(watched())), expected);
  }
}

TEST(Sampling, seeds_and_every_parameter_matter) {
  const auto ids_of = [](const wire::GenerateRequest& request) {
    SchedulerWorld world;
    return world.one<wire::Final>(world.send(request)).token_ids;
  };
  const auto expected = ids_of(watched());
  std::vector<wire::GenerateRequest> changed(6, watched());
  changed[0].sampling.seed = 1;
  changed[1].sampling.presence_penalty = -0.6;
  changed[2].sampling.frequency_penalty = 2;
  changed[3].sampling.repetition_penalty = 2;
  changed[4].sampling.logit_bias = {{400, 60}};
  changed[5].sampling.temperature = 2;
  for (size_t i = 0; i < changed.size(); ++i) EXPECT_NE(ids_of(changed[i]), expected) << i;
}

TEST(Sampling, a_frequency_penalty_ends_what_a_bias_repeats) {
  // At first the bias makes token 300 certain; each time that the token is generated takes 2 off
  // its logit.
  auto request = ask({query_text("Go on.")});
  request.ignore_eos = true;
  request.max_tokens = 64;
  request.sampling.logit_bias = {{300, 40}};
  const auto count = [&](const wire::GenerateRequest& wanted) {
    SchedulerWorld world(bursts_of(64));
    return std::ranges::count(world.one<wire::Final>(world.send(wanted)).token_ids, 300);
  };
  EXPECT_EQ(count(request), 64);
  request.sampling.frequency_penalty = 2;
  const auto penalised = count(request);
  EXPECT_GT(penalised, 5);
  EXPECT_LT(penalised, 40);
  request.sampling.presence_penalty = 2;
  EXPECT_LT(count(request), penalised);
}

TEST(Sampling, tells_the_most_likely_tokens_of_each_place) {
  const wire::Final final = watched_alone();
  ASSERT_EQ(final.logprobs.size(), 60u);
  ASSERT_EQ(final.top_token_ids.size(), 4 * 60u);
  ASSERT_EQ(final.top_logprobs.size(), 4 * 60u);
  for (size_t i = 0; i < 60; ++i) {
    double mass = 0;
    for (size_t k = 4 * i; k < 4 * i + 4; ++k) {
      mass += std::exp(static_cast<double>(final.top_logprobs[k]));
      if (k > 4 * i) {
        EXPECT_LE(final.top_logprobs[k], final.top_logprobs[k - 1]);
      }
      if (final.top_token_ids[k] == final.token_ids[i]) {
        EXPECT_EQ(final.top_logprobs[k], final.logprobs[i]);
      }
    }
    EXPECT_LE(mass, 1.0001);
    EXPECT_LE(final.logprobs[i], final.top_logprobs[4 * i]);
  }
  // A stop string in the middle of a burst: nothing is told of the tokens computed after it.
  auto request = ask({query_text("What is the capital of France?")});
  request.stop = {" is"};
  request.top_logprobs = 2;
  SchedulerWorld world(bursts_of(64));
  const auto stopped = world.one<wire::Final>(world.send(request));
  EXPECT_EQ(stopped.finish_reason, "stop");
  EXPECT_EQ(stopped.top_token_ids.size(), 2 * stopped.token_ids.size());
  // Sampling is greedy, so the likeliest token is the sampled one.
  for (size_t i = 0; i < stopped.token_ids.size(); ++i) {
    EXPECT_EQ(stopped.top_token_ids[2 * i], stopped.token_ids[i]);
  }
}

TEST(Sampling, tells_nothing_that_was_not_asked_for) {
  SchedulerWorld world;
  auto request = ask({query_text("What is the capital of France?")});
  const auto final = world.one<wire::Final>(world.send(request));
  EXPECT_FALSE(final.logprobs.empty());
  EXPECT_TRUE(final.top_token_ids.empty() && final.top_logprobs.empty());
}

TEST(Sampling, one_token_is_all_that_max_tokens_1_gives) {
  const wire::Final expected = watched_alone();
  for (const int steps : {1, 64}) {
    SchedulerWorld world(bursts_of(steps));
    auto request = watched();
    request.max_tokens = 1;
    const auto final = world.one<wire::Final>(world.send(request));
    EXPECT_EQ(final.finish_reason, "length");
    EXPECT_EQ(final.token_ids, std::vector<int32_t>{expected.token_ids[0]});
    EXPECT_EQ(bits_of(final.logprobs), bits_of({expected.logprobs[0]}));
    EXPECT_EQ(final.top_token_ids.size(), 4u);
    EXPECT_EQ(final.usage.completion_tokens, 1);
  }
}

TEST(Sampling, an_output_records_what_shaped_it) {
  SchedulerWorld world;
  auto request = watched();
  request.retain_output = true;
  const auto final = world.one<wire::Final>(world.send(request));
  const GenerationRecord record = world.chunk(final.output_chunk_id).generation;
  EXPECT_EQ(record, (GenerationRecord{.temperature = 0.8,
                                      .top_p = 0.97,
                                      .top_k = 50,
                                      .min_p = 0.001,
                                      .repetition_penalty = 1.1,
                                      .seed = 123456789,
                                      .max_tokens = 60,
                                      .finish_reason = "length",
                                      .presence_penalty = 0.6,
                                      .frequency_penalty = 0.3,
                                      .logit_bias_count = 3}));
}

TEST(Sampling, refuses_biases_of_tokens_that_are_none_by_name) {
  SchedulerWorld world;
  for (const int32_t token : {8192, INT32_MAX, -1}) {
    auto request =
        ask({{ChunkType::kContext, "", "a text that is not registered"}, query_text("?")});
    request.sampling.logit_bias = {{8191, 1}, {token, 1}};
    const Error error = world.error(world.send(request));
    EXPECT_EQ(error.to_string(), "invalid_argument: sampling.logit_bias[" + std::to_string(token) +
                                     "]: the token is not in the vocabulary; the limit is 8191");
  }
  const auto list = world.one<wire::ChunkListReply>(world.send(wire::ChunkListRequest{}));
  EXPECT_TRUE(list.chunks.empty()) << "what is refused leaves nothing behind";
}

// Text that streams is never taken back, wherever bursts and tokens end.
TEST(Sampling, deltas_add_up_to_the_text_before_a_stop_string) {
  SchedulerWorld cold;
  auto request = ask({query_text("What is the capital of France?")});
  const std::string whole = cold.one<wire::Final>(cold.send(request)).text;
  ASSERT_EQ(whole, "The capital of France is Paris.");
  request.stream = true;
  // Stop strings over several tokens, in the middle of one, at the very end, and one of which the
  // text has only the beginning.
  for (const std::string& stop :
       {std::string("capital of France"), std::string("pital o"), std::string("Paris."),
        std::string("."), whole, std::string("Paris. And")}) {
    for (const int steps : {1, 2, 64}) {
      SchedulerWorld world(bursts_of(steps));
      request.stop = {stop};
      const uint64_t number = world.send(request);
      const auto final = world.one<wire::Final>(number);
      std::string streamed;
      for (const wire::Delta& delta : world.all<wire::Delta>(number)) streamed += delta.text;
      EXPECT_EQ(final.text, whole.substr(0, whole.find(stop))) << stop;
      EXPECT_EQ(streamed, final.text) << stop;
      EXPECT_EQ(final.finish_reason, "stop");
    }
  }
}

}  // namespace
}  // namespace cascade
