// Attention: every instruction set equals the scalar one bit for bit; a row depends on nothing but
// itself; and the result is the softmax it claims to be.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>

#include "kernels/kv_format.h"
#include "tests/kernels/isas.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::random_floats;
using testing::scalar;
using testing::vector_kernels;

// One layer's one KV head over `keys` random tokens, in pages with a gap before each block.
struct Cache {
  static constexpr size_t kGap = 64;

  Cache(Random& random, KvType kv_type, int dim, int key_count)
      : type(kv_type), head_dim(dim), keys(key_count) {
    const size_t bytes = 2 * kGap + key_block_bytes(type, dim) + value_block_bytes(type, dim);
    for (int first = 0; first < keys; first += kTileKeys) {
      memory.push_back(allocate_aligned(bytes));
      // What lies behind the last key must not matter.
      std::memset(memory.back().get(), 0x7f, bytes);
      pages.push_back(memory.back().get());
    }
    for (int key = 0; key < keys; ++key) {
      key_rows.push_back(random_floats(random, dim));
      value_rows.push_back(random_floats(random, dim));
      uint8_t* page = memory[key / kTileKeys].get();
      scalar().write_kv(type, dim, key % kTileKeys, key_rows.back().data(),
                        value_rows.back().data(), page + key_offset(), page + value_offset());
    }
  }
  size_t key_offset() const { return kGap; }
  size_t value_offset() const { return 2 * kGap + key_block_bytes(type, head_dim); }

  KvType type;
  int head_dim;
  int keys;
  std::vector<AlignedBytes> memory;
  std::vector<const uint8_t*> pages;
  std::vector<std::vector<float>> key_rows, value_rows;
};

// Attention of the rows (positions ascending) in one call.
std::vector<std::vector<float>> attend(const Kernels& kernels, const Cache& cache, int window,
                                       const std::vector<std::vector<float>>& queries,
                                       const std::vector<int32_t>& positions) {
  const size_t rows = queries.size();
  std::vector<std::vector<float>> outputs(rows, std::vector<float>(cache.head_dim, -1));
  std::vector<const float*> query_rows;
  std::vector<float*> output_rows;
  for (size_t r = 0; r < rows; ++r) {
    query_rows.push_back(queries[r].data());
    output_rows.push_back(outputs[r].data());
  }
  const AlignedBytes scratch =
      allocate_aligned(attention_scratch_floats(cache.head_dim) * sizeof(float));
  kernels.attention({.kv_type = cache.type,
                     .head_dim = cache.head_dim,
                     .scale = 1 / std::sqrt(static_cast<float>(cache.head_dim)),
                     .window = window,
                     .pages = cache.pages.data(),
                     .key_offset = cache.key_offset(),
                     .value_offset = cache.value_offset(),
                     .rows = static_cast<int>(rows),
                     .queries = query_rows.data(),
                     .positions = positions.data(),
                     .outputs = output_rows.data(),
                     .scratch = reinterpret_cast<float*>(scratch.get())});
  return outputs;
}

struct Case {
  KvType type;
  int head_dim;
  int keys;
  int window;
};

class Attention : public ::testing::TestWithParam<Case> {};

TEST_P(Attention, every_isa_equals_scalar_in_any_grouping_of_rows) {
  const auto& [type, head_dim, keys, window] = GetParam();
  Random random(testing::test_seed());
  const Cache cache(random, type, head_dim, keys);
  std::vector<std::vector<float>> queries, expected;
  std::vector<int32_t> positions;
  for (int position = keys > 200 ? keys - 150 : 0; position < keys; ++position) {
    positions.push_back(position);
    queries.push_back(random_floats(random, head_dim, 2));
    expected.push_back(attend(scalar(), cache, window, {queries.back()}, {position})[0]);
  }
  for (const Kernels* kernels : vector_kernels()) {
    size_t begin = 0;
    while (begin < queries.size()) {
      const size_t count = std::min<size_t>(queries.size() - begin, 1 + random.below(16));
      const auto actual = attend(*kernels, cache, window,
                                 {queries.begin() + begin, queries.begin() + begin + count},
                                 {positions.begin() + begin, positions.begin() + begin + count});
      for (size_t r = 0; r < count; ++r) {
        ASSERT_EQ(
            std::memcmp(actual[r].data(), expected[begin + r].data(), head_dim * sizeof(float)), 0)
            << to_string(kernels->isa) << " position " << positions[begin + r] << " in a call of "
            << count;
      }
      begin += count;
    }
  }
}

TEST_P(Attention, is_the_softmax_over_the_visible_keys) {
  const auto& [type, head_dim, keys, window] = GetParam();
  Random random(testing::test_seed());
  const Cache cache(random, type, head_dim, keys);
  const int position = keys - 1;
  const auto query = random_floats(random, head_dim, 2);
  const auto actual = attend(scalar(), cache, window, {query}, {position})[0];

  const auto rounded = [&](float x) {
    return type == KvType::kF32 ? x : bf16_to_f32(f32_to_bf16(x));
  };
  const int begin = window > 0 ? std::max(0, position + 1 - window) : 0;
  std::vector<double> weights;
  double total = 0;
  for (int key = begin; key <= position; ++key) {
    double score = 0;
    for (int d = 0; d < head_dim; ++d) score += double(query[d]) * rounded(cache.key_rows[key][d]);
    weights.push_back(std::exp(score / std::sqrt(double(head_dim))));
    total += weights.back();
  }
  for (int d = 0; d < head_dim; ++d) {
    double exact = 0;
    for (int key = begin; key <= position; ++key) {
      exact += weights[key - begin] / total * rounded(cache.value_rows[key][d]);
    }
    ASSERT_NEAR(actual[d], exact, 3e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Attention,
    ::testing::Values(Case{KvType::kF32, 8, 70, 0}, Case{KvType::kBf16, 8, 70, 0},
                      Case{KvType::kF32, 64, 1, 0}, Case{KvType::kBf16, 64, 64, 0},
                      Case{KvType::kF32, 128, 1100, 0}, Case{KvType::kBf16, 128, 2113, 0},
                      Case{KvType::kF32, 72, 300, 48}, Case{KvType::kBf16, 16, 2100, 1030},
                      Case{KvType::kF32, 32, 1500, 1}, Case{KvType::kBf16, 64, 1024, 64}),
    [](const auto& test) {
      const Case& c = test.param;
      return std::string(to_string(c.type)) + "_dim" + std::to_string(c.head_dim) + "_keys" +
             std::to_string(c.keys) + "_window" + std::to_string(c.window);
    });

}  // namespace
}  // namespace cascade
