// A scheduler with a tiny model that has recurrent layers.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/actors/attention_requests.h"
#include "tests/actors/scheduler_world.h"
#include "tests/model/stepping.h"

namespace cascade::testing {

// Fixtures with different recurrent layers: a gated delta net, Mamba and short convolutions.
inline const std::vector<std::string>& hybrids_of_each_kind() {
  static const std::vector<std::string> names = {"qwen3-5", "granite4-hybrid", "lfm2"};
  return names;
}

// Loaded once.
inline const Model& hybrid_model(const std::string& name = "qwen3-5") {
  static ThreadPool pool(1);
  static std::map<std::string, std::unique_ptr<Model>> models;
  std::unique_ptr<Model>& model = models[name];
  if (model == nullptr) {
    model = load(name, {WeightType::kF32, KvType::kInt8, best_isa()}, pool);
  }
  return *model;
}

struct HybridWorld : SchedulerWorld {
  explicit HybridWorld(const std::string& name = "qwen3-5", size_t state_slots = 16,
                       size_t pages = 200, SchedulerOptions options = {}, Store* durable = nullptr,
                       ChainStates* states = nullptr)
      : SchedulerWorld(std::move(options), pages, durable, {}, hybrid_model(name), state_slots,
                       states) {}
};

// A prompt that is answered with `answer` tokens.
inline wire::GenerateRequest ids_request(std::vector<int32_t> prompt, int32_t answer) {
  return request_in("", std::move(prompt), answer);
}

// `count` tokens of a text that `seed` chooses.
inline std::vector<int32_t> some_ids(uint64_t seed, size_t count) {
  Random random(seed);
  return random_ids(random, count, /*vocab_size=*/250);
}

inline std::vector<int32_t> joined(std::vector<int32_t> ids, const std::vector<int32_t>& more) {
  ids.insert(ids.end(), more.begin(), more.end());
  return ids;
}

// A prompt of at most 300 tokens that goes on from one of the chains. One in `cuts` leaves its
// chain before the end.
inline std::vector<int32_t> random_prompt(Random& random,
                                          const std::vector<std::vector<int32_t>>& chains,
                                          uint64_t cuts) {
  std::vector<int32_t> prompt = chains[random.below(chains.size())];
  if (random.below(cuts) == 0) prompt.resize(1 + random.below(prompt.size()));
  prompt = joined(prompt, some_ids(random.below(1000), random.below(60)));
  if (prompt.size() > 300) prompt.resize(300);
  return prompt;
}

// Expects the answer that a scheduler without any kept states gives.
inline void expect_cold_bits(const wire::GenerateRequest& request, const wire::Final& final,
                             const std::string& name = "qwen3-5") {
  HybridWorld cold(name);
  const wire::Final expected = cold.one<wire::Final>(cold.send(request));
  EXPECT_EQ(expected.usage.reused_tokens, 0);
  EXPECT_EQ(bits_of(final), bits_of(expected)) << name;
}

}  // namespace cascade::testing
