// Requests that name their attention mode, what the model answers, and a daemon that they are sent
// to.
#pragma once

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/actors/disk_budget_world.h"

namespace cascade::testing {

// The position of the first token that selects one page: it has two to choose from, beside the
// first page and 16 recent ones.
inline constexpr int64_t kFirstSelecting = 18 * kPageTokens;

inline std::vector<int32_t> random_tokens(int64_t count, uint64_t seed) {
  std::vector<int32_t> tokens;
  Random random(seed);
  for (int64_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<int32_t>(300 + random.below(2000)));
  }
  return tokens;
}

inline wire::GenerateRequest request_in(const std::string& mode, std::vector<int32_t> prompt,
                                        int32_t answer = 70) {
  wire::GenerateRequest request;
  request.prompt_token_ids = std::move(prompt);
  request.sampling.temperature = 0;
  request.max_tokens = answer;
  request.ignore_eos = true;
  request.logprobs = true;
  if (!mode.empty()) request.attention = mode;
  return request;
}

// The answer, bit for bit.
inline std::vector<uint32_t> bits_of(const wire::Final& final) {
  std::vector<uint32_t> bits(final.token_ids.begin(), final.token_ids.end());
  for (const float logprob : final.logprobs) bits.push_back(std::bit_cast<uint32_t>(logprob));
  return bits;
}

// The tokens of a transformer that has all pages.
inline std::vector<int32_t> expected_tokens(const wire::GenerateRequest& request) {
  ThreadPool pool(1);
  const Model& model = demo_model();
  const AttentionMode mode = parse_attention(*request.attention)->mode;
  const auto& prompt = request.prompt_token_ids;
  const size_t count = (prompt.size() + request.max_tokens + kPageTokens) / kPageTokens;
  const PageArena arena = *PageArena::create(model.kv_layout.indexed_page_bytes(), count);
  std::vector<uint8_t*> pages;
  for (size_t i = 0; i < count; ++i) pages.push_back(arena.data(static_cast<PageIndex>(i)));
  Transformer transformer(model.config, model.weights, *model.kernels, model.kv_layout, pool);
  std::vector<float> hidden(model.config.hidden_size), logits(model.config.vocab_size);
  std::vector<int32_t> tokens;
  std::vector<int32_t> next = prompt;
  int64_t position = 0, indexed_pages = 0;
  for (int i = 0; i < request.max_tokens; ++i) {
    for (size_t begin = 0; begin < next.size(); begin += 256) {
      const auto part = std::span(next).subspan(begin, std::min<size_t>(256, next.size() - begin));
      const Slice slice = {part, position, pages, 1, nullptr, mode, &indexed_pages};
      EXPECT_TRUE(transformer.forward(std::span(&slice, 1), hidden.data()).ok());
      position += std::ssize(part);
    }
    transformer.logits(hidden.data(), 1, logits.data());
    const auto best = std::ranges::max_element(logits) - logits.begin();
    next = {static_cast<int32_t>(best)};
    tokens.push_back(next.front());
  }
  return tokens;
}

class AttentionWorld : public DiskBudgetWorld {
 protected:
  wire::Final answer(const wire::GenerateRequest& request) {
    return world_->one<wire::Final>(world_->send(request));
  }
  // The answer of a daemon that does nothing else.
  static std::vector<uint32_t> bits_alone(const wire::GenerateRequest& request) {
    SchedulerWorld alone;
    return bits_of(alone.one<wire::Final>(alone.send(request)));
  }
  // Two requests take all places for `steps` messages; then one of them makes way for another
  // tenant's request. All three have `prompt_tokens` tokens and answers of `answer_tokens`.
  static void expect_preempted_request_goes_on(const char* mode, int64_t prompt_tokens,
                                               int32_t answer_tokens, size_t pages, size_t steps) {
    SchedulerOptions options = bursts_of(8);
    options.requests_running_max = 2;
    SchedulerWorld world(options, pages);
    world.core().on_actor_started(Actor::kGateway, "alice");
    std::vector<wire::GenerateRequest> requests;
    for (uint64_t seed = 30; seed < 33; ++seed) {
      requests.push_back(request_in(mode, random_tokens(prompt_tokens, seed), answer_tokens));
    }
    std::vector<uint64_t> numbers = {world.post(requests[0]), world.post(requests[1])};
    world.pump(steps);
    numbers.push_back(world.post(requests[2], "client", "alice"));
    world.pump();
    EXPECT_GT(world.status().requests_preempted, 0);
    for (size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(bits_of(world.one<wire::Final>(numbers[i])), bits_alone(requests[i])) << i;
    }
  }
};

}  // namespace cascade::testing
