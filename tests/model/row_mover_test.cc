// Moved K and V. In the first layer they depend only on a token and its position, so there they are
// those that the forward pass computes at the new place.
#include "model/row_mover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/move_kv.h"
#include "tests/model/stepping.h"
#include "tests/seed.h"

namespace cascade::testing {
namespace {

constexpr int kThought = 37;  // tokens
constexpr int kPrompt = 50;
constexpr int kAnswer = 90;

struct Chains {
  explicit Chains(const std::string& name, KvType kv = KvType::kF32)
      : model(load(name, {WeightType::kF32, kv, best_isa()}, two_threads())),
        transformer(model->config, model->weights, *model->kernels, model->kv_layout,
                    two_threads()),
        mover(model->config, *model->kernels, model->kv_layout, two_threads()),
        thinking(model->kv_layout, kPrompt + kThought + kAnswer),
        plain(model->kv_layout, kPrompt + kAnswer),
        moved(model->kv_layout, kPrompt + kAnswer) {
    Random random(test_seed());
    const Ids all = random_ids(random, kPrompt + kThought + kAnswer, model->config.vocab_size);
    Ids history(all.begin(), all.begin() + kPrompt);
    history.insert(history.end(), all.end() - kAnswer, all.end());
    run(all, thinking);
    run(history, plain);
    for (size_t page = 0; page < moved.pages().size(); ++page) moved.copy(page, plain);
  }
  void run(const Ids& ids, const ChainPages& pages, int64_t free_positions = 0) {
    Slice slice = {ids, 0, pages.pages(), 0};
    slice.free_positions = free_positions;
    CHECK(transformer.forward(std::span(&slice, 1), nullptr).ok());
  }
  void move(int64_t turn) {
    mover.move({.from = thinking.pages(),
                .from_begin = kPrompt + kThought,
                .to = moved.pages(),
                .to_begin = kPrompt,
                .count = kAnswer,
                .turn = turn});
  }
  std::vector<float> key(const ChainPages& pages, int64_t token, int part, int head) const {
    const int head_dim = model->kv_layout.parts[part].head_dim;
    std::vector<float> values(static_cast<size_t>(head_dim));
    read_key(model->kv_layout.type, head_dim, static_cast<int>(token % kPageTokens),
             pages.pages()[token / kPageTokens] + model->kv_layout.key_offset(part, head),
             values.data());
    return values;
  }
  // The largest difference of two chains' keys of a part, relative to the largest key.
  double difference(const ChainPages& a, int64_t from, const ChainPages& b, int64_t to, int part) {
    double largest = 0, difference = 0;
    for (int i = 0; i < kAnswer; ++i) {
      for (int head = 0; head < model->kv_layout.parts[part].kv_heads; ++head) {
        const std::vector<float> x = key(a, from + i, part, head);
        const std::vector<float> y = key(b, to + i, part, head);
        for (size_t c = 0; c < x.size(); ++c) {
          largest = std::max(largest, std::abs(double{x[c]}));
          difference = std::max(difference, std::abs(double{x[c]} - y[c]));
        }
      }
    }
    return difference / largest;
  }

  std::unique_ptr<Model> model;
  Transformer transformer;
  RowMover mover;
  ChainPages thinking, plain, moved;
};

TEST(RowMover, turned_keys_of_the_first_layer_are_those_of_the_new_place) {
  for (const std::string name : {"qwen3-gqa", "llama3-rope", "qwen2-bias", "glm4-moe", "gemma3",
                                 "qwen3-yarn", "phi3-longrope"}) {
    Chains chains(name);
    chains.move(-kThought);
    EXPECT_LT(chains.difference(chains.moved, kPrompt, chains.plain, kPrompt, 0), 2e-6) << name;
    // The other layers remember the thought.
    const int last = chains.model->kv_layout.part_count() - 1;
    EXPECT_GT(chains.difference(chains.moved, kPrompt, chains.plain, kPrompt, last), 1e-3) << name;
  }
}

TEST(RowMover, a_turn_back_undoes_a_turn) {
  for (const KvType type : {KvType::kF32, KvType::kBf16, KvType::kInt8, KvType::kFp8}) {
    Chains chains("qwen3-gqa", type);
    chains.move(-kThought);
    ChainPages back(chains.model->kv_layout, kPrompt + kAnswer);
    chains.mover.move({.from = chains.moved.pages(),
                       .from_begin = kPrompt,
                       .to = back.pages(),
                       .to_begin = kPrompt,
                       .count = kAnswer,
                       .turn = kThought});
    const double limit = type == KvType::kF32 ? 1e-6 : type == KvType::kFp8 ? 0.15 : 0.02;
    for (int part = 0; part < chains.model->kv_layout.part_count(); ++part) {
      const double difference =
          chains.difference(back, kPrompt, chains.thinking, kPrompt + kThought, part);
      EXPECT_LT(difference, limit) << to_string(type);
    }
  }
}

TEST(RowMover, without_a_turn_k_and_v_are_copied_bit_for_bit) {
  for (const KvType type : {KvType::kF32, KvType::kInt8}) {
    Chains chains("qwen3-gqa", type);
    chains.move(0);
    const std::vector<uint8_t> all = chains.thinking.written(kPrompt + kThought + kAnswer);
    const std::vector<uint8_t> moved = chains.moved.written(kPrompt + kAnswer);
    const size_t token = moved.size() / (kPrompt + kAnswer);
    EXPECT_TRUE(std::equal(moved.begin() + kPrompt * token, moved.end(),
                           all.begin() + (kPrompt + kThought) * token));
    const std::vector<uint8_t> plain = chains.plain.written(kPrompt);
    EXPECT_TRUE(std::equal(plain.begin(), plain.end(), moved.begin())) << "nothing before it moves";
  }
}

TEST(RowMover, free_positions_count_for_rope) {
  Chains chains("qwen3-gqa");
  Random random(test_seed());
  const Ids ids = random_ids(random, kAnswer, chains.model->config.vocab_size);
  ChainPages at_zero(chains.model->kv_layout, kAnswer), later(chains.model->kv_layout, kAnswer);
  ChainPages turned(chains.model->kv_layout, kAnswer);
  chains.run(ids, at_zero);
  chains.run(ids, later, 1000);
  chains.mover.move({.from = at_zero.pages(),
                     .from_begin = 0,
                     .to = turned.pages(),
                     .to_begin = 0,
                     .count = kAnswer,
                     .turn = 1000});
  // Only the distances of tokens matter to what attention computes, so all layers agree.
  for (int part = 0; part < chains.model->kv_layout.part_count(); ++part) {
    EXPECT_LT(chains.difference(turned, 0, later, 0, part), 2e-5);
    EXPECT_GT(chains.difference(at_zero, 0, later, 0, part), 0.01);
  }
}

}  // namespace
}  // namespace cascade::testing
