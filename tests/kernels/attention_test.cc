// Attention: every instruction set equals the scalar one bit for bit; a row depends on nothing but
// itself; and the result is a softmax within bounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "kernels/kv_format.h"
#include "tests/kernels/isas.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::GuardedArray;
using testing::GuardedBlocks;
using testing::GuardedFloats;
using testing::random_floats;
using testing::scalar;
using testing::vector_kernels;

// One KV head of one layer over `keys` random tokens, in pages whose two blocks lie apart.
struct Cache {
  Cache(Random& random, KvType kv_type, int dim, int key_count)
      : type(kv_type), head_dim(dim), keys(key_count) {
    for (int first = 0; first < keys; first += kTileKeys) {
      // The blocks are aligned to 64 bytes, as in the daemon's pages.
      memory.push_back(
          GuardedBlocks({key_block_bytes(type, dim), value_block_bytes(type, dim)}, 64));
      const GuardedBlocks& page = memory.back();
      // The bytes after the last key must not matter.
      for (const size_t block : {0, 1}) std::memset(page.data(block), 0x7f, page.size(block));
      pages.push_back(page.base());
    }
    for (int key = 0; key < keys; ++key) {
      const GuardedFloats key_row = random_floats(random, dim);
      const GuardedFloats value_row = random_floats(random, dim);
      const GuardedBlocks& page = memory[key / kTileKeys];
      scalar().write_kv(type, dim, key % kTileKeys, key_row.data(), value_row.data(), page.data(0),
                        page.data(1));
      key_rows.emplace_back(key_row.begin(), key_row.end());
      value_rows.emplace_back(value_row.begin(), value_row.end());
    }
  }
  size_t key_offset() const { return memory.front().offset(0); }
  size_t value_offset() const { return memory.front().offset(1); }

  KvType type;
  int head_dim;
  int keys;
  std::vector<GuardedBlocks> memory;
  std::vector<const uint8_t*> pages;
  std::vector<std::vector<float>> key_rows, value_rows;
};

struct Window {
  int size = 0;
  int sinks = 0;
  float soft_cap = 0;  // of the scores
  bool has_sink_logits = false;
};

// The logit of a row's sink depends on the row alone. Some are larger than all scores.
float sink_logit(const GuardedFloats& query) {
  return 6 * query[0];
}

// The arguments of a call, except those that depend on how the rows are divided into calls.
struct Call {
  Call(const Cache& cache, Window window, const std::vector<GuardedFloats>& queries,
       const std::vector<int32_t>& row_positions)
      : positions(row_positions),
        outputs(queries.size(), GuardedFloats(cache.head_dim, -1)),
        query_rows(queries.size()),
        output_rows(queries.size()),
        sink_logits(queries.size()),
        scratch(attention_scratch_floats(cache.head_dim), 0, 64) {
    for (size_t r = 0; r < queries.size(); ++r) {
      query_rows[r] = queries[r].data();
      output_rows[r] = outputs[r].data();
      sink_logits[r] = sink_logit(queries[r]);
    }
    if (window.has_sink_logits) args.sink_logits = sink_logits.data();
    args.kv_type = cache.type;
    args.head_dim = cache.head_dim;
    args.scale = 1 / std::sqrt(static_cast<float>(cache.head_dim));
    args.soft_cap = window.soft_cap;
    args.window = window.size;
    args.sinks = window.sinks;
    args.key_offset = cache.key_offset();
    args.value_offset = cache.value_offset();
    args.rows = static_cast<int>(queries.size());
    args.queries = query_rows.data();
    args.positions = positions.data();
    args.outputs = output_rows.data();
    args.scratch = scratch.data();
  }

  const GuardedArray<int32_t> positions;
  std::vector<GuardedFloats> outputs;
  GuardedArray<const float*> query_rows;
  GuardedArray<float*> output_rows;
  GuardedFloats sink_logits;
  GuardedFloats scratch;
  AttentionArgs args = {};
};

// Computes the attention of the rows in one call; row r reads pages[r].
std::vector<GuardedFloats> attend(const Kernels& kernels, const Cache& cache, Window window,
                                  const std::vector<GuardedFloats>& queries,
                                  const std::vector<int32_t>& positions,
                                  const std::vector<const uint8_t* const*>& pages) {
  Call call(cache, window, queries, positions);
  const GuardedArray<const uint8_t* const*> row_pages(pages);
  call.args.pages = row_pages.data();
  kernels.attention(call.args);
  return std::move(call.outputs);
}

// Computes the attention of the rows in several calls, which end before the splits `ends`. Each
// call has only the pages of its own splits.
std::vector<GuardedFloats> attend_in_parts(const Kernels& kernels, const Cache& cache,
                                           Window window, const std::vector<GuardedFloats>& queries,
                                           const std::vector<int32_t>& positions,
                                           const std::vector<int>& ends) {
  Call call(cache, window, queries, positions);
  std::vector<GuardedFloats> totals(queries.size(),
                                    GuardedFloats(attention_total_floats(cache.head_dim), 0));
  GuardedArray<float*> total_rows(queries.size());
  for (size_t r = 0; r < queries.size(); ++r) total_rows[r] = totals[r].data();
  call.args.totals = total_rows.data();
  for (const int end : ends) {
    call.args.split_end = end;
    std::vector<const uint8_t*> pages(cache.pages.size(), nullptr);
    for (size_t tile = 0; tile < pages.size(); ++tile) {
      const int split = static_cast<int>(tile) * kTileKeys / kSplitKeys;
      if (split >= call.args.split_begin && split < end) pages[tile] = cache.pages[tile];
    }
    const std::vector<const uint8_t* const*> row_pages(queries.size(), pages.data());
    call.args.pages = row_pages.data();
    kernels.attention(call.args);
    call.args.split_begin = end;
  }
  return std::move(call.outputs);
}

// Computes the attention of rows of one sequence in one call.
std::vector<GuardedFloats> attend(const Kernels& kernels, const Cache& cache, Window window,
                                  const std::vector<GuardedFloats>& queries,
                                  const std::vector<int32_t>& positions) {
  return attend(kernels, cache, window, queries, positions,
                std::vector<const uint8_t* const*>(queries.size(), cache.pages.data()));
}

struct Case {
  KvType type;
  int head_dim;
  int keys;
  Window window;
};

class Attention : public ::testing::TestWithParam<Case> {};

TEST_P(Attention, every_isa_equals_scalar_in_any_grouping_of_rows) {
  const auto& [type, head_dim, keys, window] = GetParam();
  Random random(testing::test_seed());
  const Cache cache(random, type, head_dim, keys);
  std::vector<GuardedFloats> queries, expected;
  std::vector<int32_t> positions;
  for (int position = keys > 200 ? keys - 150 : 0; position < keys; ++position) {
    positions.push_back(position);
    queries.push_back(random_floats(random, head_dim, 2));
    expected.push_back(attend(scalar(), cache, window, {queries.back()}, {position})[0]);
  }
  for (const Kernels* kernels : vector_kernels()) {
    size_t begin = 0;
    while (begin < queries.size()) {
      const size_t count =
          std::min<size_t>(queries.size() - begin, 1 + random.below(kAttentionRowsMax));
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

TEST_P(Attention, in_parts_equals_attention_in_one_call) {
  const auto& [type, head_dim, keys, window] = GetParam();
  Random random(testing::test_seed());
  const Cache cache(random, type, head_dim, keys);
  std::vector<GuardedFloats> queries;
  std::vector<int32_t> positions;
  for (const int position : {5, 1023, 1024, 1100, 2047, keys - 3, keys - 2, keys - 1}) {
    if (position < 0 || position >= keys) continue;
    positions.push_back(position);
    queries.push_back(random_floats(random, head_dim, 2));
  }
  std::vector<const Kernels*> all = vector_kernels();
  all.push_back(&scalar());
  for (const Kernels* kernels : all) {
    const auto expected = attend(*kernels, cache, window, queries, positions);
    for (const std::vector<int>& ends : {std::vector<int>{1, 2, 3}, {2, 3}, {1, 3}, {3}}) {
      const auto actual = attend_in_parts(*kernels, cache, window, queries, positions, ends);
      for (size_t r = 0; r < queries.size(); ++r) {
        ASSERT_EQ(std::memcmp(actual[r].data(), expected[r].data(), head_dim * sizeof(float)), 0)
            << to_string(kernels->isa) << " position " << positions[r] << " in " << ends.size()
            << " calls";
      }
    }
  }
}

// x as the cache returns it, without the rounding of the scores and the weights.
std::vector<float> rounded(KvType type, const std::vector<float>& x) {
  std::vector<float> out = x;
  float largest = 0;
  for (const float value : x) largest = std::max(largest, std::fabs(value));
  for (float& value : out) {
    switch (type) {
      case KvType::kF32: break;
      case KvType::kBf16: value = bf16_to_f32(f32_to_bf16(value)); break;
      case KvType::kFp16: value = f16_to_f32(f32_to_f16(value)); break;
      case KvType::kFp8: {
        const float scale = f16_to_f32(f32_to_f16(largest / kE4m3Max));
        value = e4m3_to_f32(f32_to_e4m3(value / scale)) * scale;
        break;
      }
      case KvType::kInt8: {
        const float scale = f16_to_f32(f32_to_f16(largest / 127));
        value = std::nearbyint(value / scale) * scale;
        break;
      }
    }
  }
  return out;
}

TEST_P(Attention, is_the_softmax_over_the_visible_keys) {
  const auto& [type, head_dim, keys, window] = GetParam();
  Random random(testing::test_seed());
  const Cache cache(random, type, head_dim, keys);
  const int position = keys - 1;
  const auto query = random_floats(random, head_dim, 2);
  const auto actual = attend(scalar(), cache, window, {query}, {position})[0];

  std::vector<float> asked(query.begin(), query.end());
  if (type == KvType::kInt8) {
    const float step =
        std::fabs(*std::ranges::max_element(query, {}, [](float x) { return std::fabs(x); })) / 127;
    for (float& x : asked) x = std::nearbyint(x / step) * step;
  }
  std::vector<double> weights(keys, 0.0), exact(head_dim, 0.0);
  double total = 0;
  for (int key = 0; key < keys; ++key) {
    if (window.size > 0 && key <= position - window.size && key >= window.sinks) continue;
    const auto k = rounded(type, cache.key_rows[key]);
    double score = 0;
    for (int d = 0; d < head_dim; ++d) score += double(asked[d]) * k[d];
    score /= std::sqrt(double(head_dim));
    if (window.soft_cap > 0) score = window.soft_cap * std::tanh(score / window.soft_cap);
    weights[key] = std::exp(score);
    total += weights[key];
  }
  if (window.has_sink_logits) total += std::exp(double(sink_logit(query)));
  double largest = 0;
  for (int key = 0; key < keys; ++key) {
    if (weights[key] == 0) continue;
    const auto v = rounded(type, cache.value_rows[key]);
    for (int d = 0; d < head_dim; ++d) {
      exact[d] += weights[key] / total * v[d];
      largest = std::max(largest, std::fabs(double(v[d])));
    }
  }
  // int8 rounds the weights to 1 in 510 of the largest weight of a tile.
  const double bound = type == KvType::kInt8 ? 0.05 * largest : 3e-4 * std::max(1.0, largest);
  for (int d = 0; d < head_dim; ++d) ASSERT_NEAR(actual[d], exact[d], bound);
}

// The sequences share pages and then diverge: each row has the same bits as alone.
TEST_P(Attention, sequences_that_share_pages_get_the_bits_they_get_alone) {
  const auto& [type, head_dim, keys, window] = GetParam();
  Random random(testing::test_seed());
  const Cache shared(random, type, head_dim, keys), other(random, type, head_dim, keys);
  const auto page_count = shared.pages.size();
  std::vector<std::vector<const uint8_t*>> sequences;
  for (int s = 0; s < 6; ++s) {
    std::vector<const uint8_t*> pages = shared.pages;
    const size_t common = random.below(page_count + 1);
    for (size_t page = common; page < page_count; ++page) pages[page] = other.pages[page];
    sequences.push_back(pages);
  }
  std::vector<GuardedFloats> queries;
  std::vector<int32_t> positions;
  std::vector<const uint8_t* const*> pages;
  for (const auto& sequence : sequences) {
    const auto position = static_cast<int32_t>(random.below(uint64_t(keys)));
    for (int head = 0; head < 3; ++head) {
      queries.push_back(random_floats(random, head_dim, 2));
      positions.push_back(position);
      pages.push_back(sequence.data());
    }
  }
  for (const Kernels* kernels : vector_kernels()) {
    const auto together = attend(*kernels, shared, window, queries, positions, pages);
    for (size_t r = 0; r < queries.size(); ++r) {
      const auto alone =
          attend(scalar(), shared, window, {queries[r]}, {positions[r]}, {pages[r]})[0];
      ASSERT_EQ(std::memcmp(alone.data(), together[r].data(), head_dim * sizeof(float)), 0)
          << to_string(kernels->isa) << " row " << r << " position " << positions[r];
    }
  }
}

// Every row has chosen pages of its own, or none; what it did not choose need not exist.
TEST_P(Attention, rows_see_only_the_pages_that_they_chose) {
  const auto& [type, head_dim, keys, window] = GetParam();
  Random random(testing::test_seed());
  const Cache cache(random, type, head_dim, keys);
  constexpr size_t kRows = 12;
  std::vector<GuardedFloats> queries;
  std::vector<int32_t> positions;
  std::vector<std::vector<uint64_t>> bits(kRows);
  std::vector<std::vector<const uint8_t*>> pages(kRows, cache.pages);
  std::vector<const uint64_t*> chosen(kRows);
  std::vector<const uint8_t* const*> row_pages;
  for (size_t row = 0; row < kRows; ++row) {
    queries.push_back(random_floats(random, head_dim, 2));
    positions.push_back(static_cast<int32_t>(random.below(uint64_t(keys))));
    row_pages.push_back(pages[row].data());
    if (row % 4 == 3) continue;
    const int own = positions[row] / kTileKeys;
    bits[row].assign(own / 64 + 1, 0);
    for (int page = 0; page <= own; ++page) {
      if (page != own && random.below(3) != 0) continue;
      bits[row][page / 64] |= uint64_t{1} << (page % 64);
    }
    chosen[row] = bits[row].data();
  }
  std::vector<GuardedFloats> expected;
  for (size_t row = 0; row < kRows; ++row) {
    std::vector<const uint8_t*> left = cache.pages;
    for (size_t page = 0; page < left.size() && chosen[row] != nullptr; ++page) {
      const bool is_chosen =
          page / 64 < bits[row].size() && (bits[row][page / 64] >> page % 64 & 1);
      if (!is_chosen) left[page] = nullptr;
    }
    const std::vector<GuardedFloats> query = {queries[row]};
    Call alone(cache, window, query, {positions[row]});
    const uint8_t* const* of_row = left.data();
    alone.args.pages = &of_row;
    alone.args.chosen = &chosen[row];
    scalar().attention(alone.args);
    expected.push_back(std::move(alone.outputs[0]));
  }
  std::vector<const Kernels*> all = vector_kernels();
  all.push_back(&scalar());
  for (const Kernels* kernels : all) {
    Call together(cache, window, queries, positions);
    together.args.pages = row_pages.data();
    together.args.chosen = chosen.data();
    kernels->attention(together.args);
    for (size_t row = 0; row < kRows; ++row) {
      ASSERT_EQ(
          std::memcmp(together.outputs[row].data(), expected[row].data(), head_dim * sizeof(float)),
          0)
          << to_string(kernels->isa) << " row " << row << " position " << positions[row];
    }
  }
}

TEST_P(Attention, choosing_all_pages_is_choosing_none) {
  const auto& [type, head_dim, keys, window] = GetParam();
  Random random(testing::test_seed());
  const Cache cache(random, type, head_dim, keys);
  const std::vector<GuardedFloats> queries = {random_floats(random, head_dim, 2)};
  const std::vector<uint64_t> bits(cache.pages.size() / 64 + 1, ~uint64_t{0});
  const uint64_t* const chosen = bits.data();
  const uint8_t* const* pages = cache.pages.data();
  std::vector<const Kernels*> all = vector_kernels();
  all.push_back(&scalar());
  for (const Kernels* kernels : all) {
    Call call(cache, window, queries, {keys - 1});
    call.args.pages = &pages;
    call.args.chosen = &chosen;
    kernels->attention(call.args);
    const auto dense = attend(*kernels, cache, window, queries, {keys - 1});
    EXPECT_EQ(std::memcmp(call.outputs[0].data(), dense[0].data(), head_dim * sizeof(float)), 0);
  }
}

constexpr Window kAll = {};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const KvType type : kKvTypes) {
    for (const Case& shape :
         {Case{type, 8, 70, kAll}, Case{type, 64, 1, kAll}, Case{type, 128, 1100, kAll},
          Case{type, 72, 300, {48, 0}}, Case{type, 72, 300, {48, 4}},
          Case{type, 16, 2100, {1030, 0}}, Case{type, 32, 1500, {1, 0}},
          Case{type, 64, 1024, {64, 70}}, Case{type, 128, 2113, {200, 1}},
          Case{type, 72, 300, {48, 4, 1.5f}}, Case{type, 24, 1100, {0, 0, 0.5f}},
          Case{type, 64, 1100, {128, 0, 0, true}}, Case{type, 16, 2100, {0, 0, 0, true}}}) {
      all.push_back(shape);
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, Attention, ::testing::ValuesIn(cases()), [](const auto& test) {
  const Case& c = test.param;
  return std::string(to_string(c.type)) + "_dim" + std::to_string(c.head_dim) + "_keys" +
         std::to_string(c.keys) + "_window" + std::to_string(c.window.size) + "_sinks" +
         std::to_string(c.window.sinks) + (c.window.soft_cap > 0 ? "_capped" : "") +
         (c.window.has_sink_logits ? "_sink_logits" : "");
});

}  // namespace
}  // namespace cascade
