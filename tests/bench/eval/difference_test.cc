// The comparer of `cascade-eval identity` names the exact place of a single changed bit, and
// ignores everything that does not belong to a valid token.
#include "bench/eval/difference.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "kernels/kv_format.h"
#include "model/transformer.h"
#include "tests/seed.h"

namespace cascade::eval {
namespace {

constexpr int kTokens = 150;  // two full pages and a partial one

KvLayout layout_for(KvType type, int head_dim) {
  ModelConfig config;
  config.layers = 3;
  config.kv_heads = 2;
  config.head_dim = head_dim;
  return kv_layout(config, type);
}

// Two chains with equal bytes; tests change them.
struct Chains {
  Chains(const KvLayout& layout_of_pages, Random& random) : layout(layout_of_pages) {
    for (int page = 0; page * kPageTokens < kTokens; ++page) {
      bytes[0].emplace_back(layout.page_bytes());
      for (uint8_t& byte : bytes[0].back()) byte = static_cast<uint8_t>(random());
    }
    bytes[1] = bytes[0];
    for (int side = 0; side < 2; ++side) {
      for (auto& page : bytes[side]) pages[side].push_back(page.data());
    }
  }

  Comparison compare() const {
    Comparison result;
    compare_kv(layout, pages[0], pages[1], kTokens, result);
    return result;
  }
  // The first byte of one number in the second chain.
  uint8_t& at(int layer, Tensor tensor, int head, int position, int channel) {
    const bool key = tensor == Tensor::kKey || tensor == Tensor::kKeyScale;
    const int slot = position % kPageTokens, dim = layout.parts[0].head_dim;
    size_t offset = key ? layout.key_offset(layer, head) : layout.value_offset(layer, head);
    if (channel < 0) {
      offset += kv_scales_offset(key ? dim : padded_head_dim(dim)) + slot * sizeof(uint16_t);
    } else {
      offset +=
          kv_element_bytes(layout.type) * (key ? key_index(layout.type, dim, slot, channel)
                                               : value_index(layout.type, dim, slot, channel));
    }
    return bytes[1][position / kPageTokens][offset];
  }

  KvLayout layout;
  std::vector<std::vector<uint8_t>> bytes[2];
  std::vector<uint8_t*> pages[2];
};

void expect_place(const Comparison& result, int layer, Tensor tensor, int head, int position,
                  int channel) {
  EXPECT_EQ(result.differences, 1);
  ASSERT_TRUE(result.first);
  EXPECT_EQ(result.first->layer, layer);
  EXPECT_EQ(result.first->tensor, tensor) << to_string(result.first->tensor);
  EXPECT_EQ(result.first->head, head);
  EXPECT_EQ(result.first->position, position);
  EXPECT_EQ(result.first->channel, channel);
  EXPECT_EQ(result.first->reference.bits ^ result.first->other.bits, 1u);
}

TEST(Difference, one_changed_byte_of_a_page_is_found_where_it_is) {
  Random random(testing::test_seed());
  for (const KvType type : kKvTypes) {
    for (const int head_dim : {8, 64}) {  // with and without padding
      Chains chains(layout_for(type, head_dim), random);
      for (const Tensor tensor :
           {Tensor::kKey, Tensor::kKeyScale, Tensor::kValue, Tensor::kValueScale}) {
        const bool scale = tensor == Tensor::kKeyScale || tensor == Tensor::kValueScale;
        if (scale && !kv_has_scales(type)) continue;
        for (const int position : {0, 63, 64, 127, 128, 149}) {
          const int channel = scale ? -1 : static_cast<int>(random.below(uint64_t(head_dim)));
          SCOPED_TRACE(std::string(to_string(type)) + ", " + std::string(to_string(tensor)) +
                       ", position " + std::to_string(position));
          EXPECT_EQ(chains.compare().differences, 0);
          uint8_t& byte = chains.at(1, tensor, 1, position, channel);
          byte ^= 1;
          expect_place(chains.compare(), 1, tensor, 1, position, channel);
          byte ^= 1;
        }
      }
    }
  }
}

TEST(Difference, slots_behind_the_last_token_and_padding_do_not_count) {
  Random random(testing::test_seed());
  for (const KvType type : kKvTypes) {
    Chains chains(layout_for(type, 8), random);
    for (const Tensor tensor : {Tensor::kKey, Tensor::kValue}) {
      chains.at(0, tensor, 0, kTokens, 3) ^= 1;
      chains.at(2, tensor, 1, 191, 0) ^= 0x80;
    }
    // Channels 8 to 15 of V are padding.
    chains.at(0, Tensor::kValue, 0, 10, 8) ^= 1;
    EXPECT_EQ(chains.compare().differences, 0) << to_string(type);
  }
}

TEST(Difference, the_first_is_by_layer_then_tensor_then_position) {
  Random random(testing::test_seed());
  Chains chains(layout_for(KvType::kInt8, 64), random);
  chains.at(2, Tensor::kKey, 0, 0, 0) ^= 1;
  chains.at(1, Tensor::kValue, 0, 2, 0) ^= 1;
  chains.at(1, Tensor::kKey, 0, 140, 0) ^= 1;
  chains.at(1, Tensor::kKey, 1, 139, 7) ^= 1;
  const Comparison result = chains.compare();
  EXPECT_EQ(result.differences, 4);
  EXPECT_EQ(result.first->to_json()["layer"], 1);
  EXPECT_EQ(result.first->to_json()["tensor"], "K");
  EXPECT_EQ(result.first->position, 139);
  EXPECT_EQ(result.first->head, 1);
  EXPECT_EQ(result.first->channel, 7);
}

TEST(Difference, hidden_states_come_behind_k_and_v_of_their_layer) {
  const auto at = [](int layer, Tensor tensor, int64_t position) {
    Difference difference;
    difference.layer = layer;
    difference.tensor = tensor;
    difference.position = position;
    return difference;
  };
  Comparison result;
  for (const Difference& difference :
       {at(-1, Tensor::kLogits, 0), at(-1, Tensor::kFinal, 0), at(1, Tensor::kKey, 0),
        at(0, Tensor::kHidden, 3), at(0, Tensor::kValue, 9)}) {
    result.add(difference);
    EXPECT_EQ(result.first->to_json(), difference.to_json());  // each comes before all earlier ones
  }
  result.add(at(0, Tensor::kValueScale, 9));
  EXPECT_EQ(result.first->tensor, Tensor::kValue);
  result.add(at(0, Tensor::kValueScale, 8));
  EXPECT_EQ(result.first->tensor, Tensor::kValueScale);
}

TEST(Difference, one_changed_logit_is_found_where_it_is) {
  std::vector<float> reference(3 * 100, 1.5f);
  std::vector<float> other = reference;
  Comparison result;
  compare_rows(Tensor::kLogits, -1, 40, 100, reference, other, result);
  EXPECT_EQ(result.differences, 0);
  other[207] = 1.75f;
  compare_rows(Tensor::kLogits, -1, 40, 100, reference, other, result);
  ASSERT_EQ(result.differences, 1);
  EXPECT_EQ(result.first->to_string(),
            "logits, position 42, token id 7: 1.5 (0x3fc00000) in the reference, "
            "1.75 (0x3fe00000) in the variant");
  EXPECT_TRUE(result.first->to_json()["layer"].is_null());
}

TEST(Difference, rows_are_compared_as_bits) {
  const std::vector<float> zero = {0.0f}, minus_zero = {-0.0f}, nan = {__builtin_nanf("")};
  Comparison result;
  compare_rows(Tensor::kFinal, -1, 0, 1, nan, nan, result);
  EXPECT_EQ(result.differences, 0);
  compare_rows(Tensor::kFinal, -1, 0, 1, zero, minus_zero, result);
  EXPECT_EQ(result.differences, 1);
}

TEST(Difference, numbers_are_what_the_kernels_stored) {
  for (const KvType type : kKvTypes) {
    const KvLayout layout = layout_for(type, 8);
    std::vector<uint8_t> page(layout.page_bytes());
    const float key[8] = {1, -2, 0.5f, 0, 0, 0, 0, 4}, value[8] = {-4, 1, 0, 0, 0, 0, 0, 2};
    (*kernels_for(Isa::kScalar))
        ->write_kv(type, 8, 17, key, value, page.data() + layout.key_offset(2, 1),
                   page.data() + layout.value_offset(2, 1));
    for (int c = 0; c < 8; ++c) {
      // int8 has steps of 4/127.
      EXPECT_NEAR(kv_element(layout, page.data(), 2, Tensor::kKey, 1, 17, c).value, key[c], 0.04);
      EXPECT_NEAR(kv_element(layout, page.data(), 2, Tensor::kValue, 1, 17, c).value, value[c],
                  0.04);
    }
  }
}

}  // namespace
}  // namespace cascade::eval
