// The choice of pages: every instruction set equals the scalar one; a page with one key that fits
// the query is found.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/page_index.h"
#include "tests/kernels/isas.h"
#include "tests/kernels/page_indexes.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::GuardedArray;
using testing::GuardedBytes;
using testing::GuardedFloats;
using testing::index_of;
using testing::random_floats;
using testing::scalar;
using testing::vector_kernels;

std::vector<GuardedFloats> random_keys(Random& random, int head_dim) {
  const GuardedFloats common = random_floats(random, head_dim, 2);
  std::vector<GuardedFloats> keys;
  for (int key = 0; key < kKvBlockTokens; ++key) {
    keys.push_back(random_floats(random, head_dim));
    for (int d = 0; d < head_dim; ++d) keys.back()[d] += common[d];
  }
  return keys;
}

// The indexes of `pages` random pages.
struct Indexes {
  Indexes(Random& random, int dim, int pages) : head_dim(dim) {
    for (int page = 0; page < pages; ++page) {
      memory.push_back(index_of(KvType::kInt8, dim, random_keys(random, dim)));
      pointers.push_back(memory.back().data());
    }
  }

  int head_dim;
  std::vector<GuardedBytes> memory;
  std::vector<const uint8_t*> pointers;
};

struct Rows {
  int heads;
  std::vector<GuardedFloats> queries;
  std::vector<int32_t> candidates_end;
};

using Bits = std::vector<std::vector<uint64_t>>;

Bits choose(const Kernels& kernels, const Indexes& indexes, const Rows& rows, int begin,
            int count) {
  const auto size = rows.candidates_end.size();
  Bits bits;
  std::vector<uint64_t*> chosen;
  for (size_t row = 0; row < size; ++row) {
    bits.emplace_back(static_cast<size_t>(rows.candidates_end[row] + 63) / 64);
  }
  for (auto& words : bits) chosen.push_back(words.data());
  std::vector<const float*> queries;
  for (const GuardedFloats& query : rows.queries) queries.push_back(query.data());
  const int largest = *std::ranges::max_element(rows.candidates_end);
  const GuardedArray<const uint8_t*> pages(
      std::vector(indexes.pointers.begin(), indexes.pointers.begin() + largest));
  GuardedFloats scratch(
      choose_pages_scratch_floats(indexes.head_dim, static_cast<int>(size), rows.heads, largest),
      NAN, 64);
  kernels.choose_pages({.head_dim = indexes.head_dim,
                        .scale = 0.1f,
                        .pages = pages.data(),
                        .index_offset = 0,
                        .rows = static_cast<int>(size),
                        .heads = rows.heads,
                        .queries = queries.data(),
                        .candidates_begin = begin,
                        .candidates_end = rows.candidates_end.data(),
                        .count = count,
                        .chosen = chosen.data(),
                        .scratch = scratch.data()});
  return bits;
}

Rows random_rows(Random& random, int head_dim, int heads, int rows, int begin, int pages) {
  Rows result = {heads, {}, {}};
  for (int row = 0; row < rows; ++row) {
    for (int head = 0; head < heads; ++head) {
      result.queries.push_back(random_floats(random, head_dim, 2));
    }
    result.candidates_end.push_back(begin + static_cast<int>(random.below(pages - begin)) + 1);
  }
  return result;
}

TEST(PageChoiceKernels, every_isa_equals_scalar_in_any_grouping_of_rows) {
  Random random(testing::test_seed());
  for (const int head_dim : {8, 64, 72, 128, 512}) {
    const int pages = 150;
    const Indexes indexes(random, head_dim, pages);
    for (int round = 0; round < 12; ++round) {
      const int heads = 1 + static_cast<int>(random.below(5));
      const int begin = static_cast<int>(random.below(20));
      const int count = 1 + static_cast<int>(random.below(70));
      const Rows rows = random_rows(random, head_dim, heads, 7, begin, pages);
      const Bits expected = choose(scalar(), indexes, rows, begin, count);
      for (const Kernels* kernels : vector_kernels()) {
        EXPECT_EQ(choose(*kernels, indexes, rows, begin, count), expected)
            << to_string(kernels->isa) << " head_dim " << head_dim;
        const auto first = rows.queries.begin();
        const Rows alone = {heads, {first, first + heads}, {rows.candidates_end.front()}};
        EXPECT_EQ(choose(*kernels, indexes, alone, begin, count).front(), expected.front());
      }
    }
  }
}

int chosen_pages(const std::vector<uint64_t>& words) {
  int count = 0;
  for (const uint64_t word : words) count += __builtin_popcountll(word);
  return count;
}

TEST(PageChoiceKernels, as_many_pages_are_chosen_as_were_asked_for) {
  Random random(testing::test_seed());
  const Indexes indexes(random, 64, 100);
  Rows rows = random_rows(random, 64, 2, 3, 1, 100);
  rows.candidates_end = {2, 21, 100};
  std::vector<const Kernels*> all = vector_kernels();
  all.push_back(&scalar());
  for (const Kernels* kernels : all) {
    const Bits chosen = choose(*kernels, indexes, rows, 1, 20);
    EXPECT_EQ(chosen_pages(chosen[0]), 1);
    EXPECT_EQ(chosen_pages(chosen[1]), 20);
    EXPECT_EQ(chosen_pages(chosen[2]), 20);
    EXPECT_EQ(chosen[2][0] & 1, 0u) << "page 0 is no candidate";
  }
}

TEST(PageChoiceKernels, without_candidates_nothing_is_chosen) {
  Random random(testing::test_seed());
  const Indexes indexes(random, 64, 18);
  Rows rows = random_rows(random, 64, 2, 2, 1, 18);
  rows.candidates_end = {18, 3};
  std::vector<const Kernels*> all = vector_kernels();
  all.push_back(&scalar());
  for (const Kernels* kernels : all) {
    for (const auto& words : choose(*kernels, indexes, rows, 20, 5)) {
      EXPECT_EQ(chosen_pages(words), 0);
    }
  }
}

TEST(PageChoiceKernels, of_equal_scores_the_first_pages_are_chosen) {
  Random random(testing::test_seed());
  Indexes indexes(random, 64, 2);
  for (int page = 2; page < 90; ++page) indexes.pointers.push_back(indexes.pointers[page % 2]);
  const Rows rows = {1, {random_floats(random, 64, 2)}, {90}};
  std::vector<const Kernels*> all = vector_kernels();
  all.push_back(&scalar());
  for (const Kernels* kernels : all) {
    const auto chosen = choose(*kernels, indexes, rows, 0, 10).front();
    EXPECT_EQ(chosen_pages(chosen), 10);
    const uint64_t even = 0x55555, odd = even << 1;
    EXPECT_TRUE(chosen[0] == even || chosen[0] == odd) << std::hex << chosen[0];
    EXPECT_EQ(chosen[1], 0u);
  }
}

TEST(PageChoiceKernels, numbers_that_are_not_finite_choose_the_same_pages_everywhere) {
  Random random(testing::test_seed());
  Indexes indexes(random, 64, 60);
  for (int page = 0; page < 60; page += 7) {
    const uint16_t odd[] = {0x7C00, 0x7E00, 0xFC00, 0};
    std::memcpy(indexes.memory[page].data() + page_index_scales_offset(64), odd, sizeof odd);
  }
  Rows rows = random_rows(random, 64, 2, 4, 0, 60);
  rows.queries[0][3] = NAN;
  rows.queries[2][5] = INFINITY;
  rows.candidates_end = {60, 60, 60, 60};
  const Bits expected = choose(scalar(), indexes, rows, 0, 9);
  for (const auto& words : expected) EXPECT_EQ(chosen_pages(words), 9);
  for (const Kernels* kernels : vector_kernels()) {
    EXPECT_EQ(choose(*kernels, indexes, rows, 0, 9), expected) << to_string(kernels->isa);
  }
}

TEST(PageChoiceKernels, a_page_with_one_key_that_fits_the_query_is_found) {
  Random random(testing::test_seed());
  constexpr int kDim = 64;
  for (const KvType type : kKvTypes) {
    GuardedFloats query(kDim);
    for (float& x : query) x = random.below(2) == 0 ? -1.0f : 1.0f;
    Indexes indexes(random, kDim, 0);
    for (int page = 0; page < 40; ++page) {
      std::vector<GuardedFloats> keys(kKvBlockTokens, GuardedFloats(kDim));
      for (GuardedFloats& key : keys) {
        for (float& x : key) x = static_cast<float>(random.unit() * 2 - 1);
      }
      // The product is 256; that of any other key is some 5 on average.
      for (int d = 0; page == 17 && d < kDim; ++d) keys[30][d] = 4 * query[d];
      indexes.memory.push_back(index_of(type, kDim, keys));
      indexes.pointers.push_back(indexes.memory.back().data());
    }
    const Rows rows = {1, {query}, {40}};
    EXPECT_EQ(choose(scalar(), indexes, rows, 0, 1).front().front(), uint64_t{1} << 17)
        << to_string(type);
  }
}

}  // namespace
}  // namespace cascade
