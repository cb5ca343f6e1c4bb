// Clearing slots of a page, for every type of K and V.
#include "model/kv_page.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "kernels/kv_format.h"
#include "kernels/write_kv.h"
#include "tests/seed.h"

namespace cascade::testing {
namespace {

class KvPage : public ::testing::TestWithParam<KvType> {
 protected:
  static KvLayout layout(int head_dim) {
    const auto rounded = [](size_t bytes) { return (bytes + 63) / 64 * 64; };
    KvLayout layout;
    layout.type = GetParam();
    for (int part = 0; part < 2; ++part) {
      layout.append({.kv_heads = 3,
                     .head_dim = head_dim,
                     .key_block_bytes = rounded(key_block_bytes(layout.type, head_dim)),
                     .value_block_bytes = rounded(value_block_bytes(layout.type, head_dim))});
    }
    return layout;
  }
};

// The expected page is a blank page on which only the first `count` of the full page's tokens were
// written.
TEST_P(KvPage, without_later_slots_is_as_if_these_had_never_been_written) {
  Random random(test_seed());
  for (const int head_dim : {32, 40}) {
    const KvLayout layout = this->layout(head_dim);
    for (const int count : {0, 1, 3, 4, 15, 16, 17, 63, 64}) {
      std::vector<uint8_t> full(layout.page_bytes()), wanted(layout.page_bytes());
      for (int token = 0; token < kPageTokens; ++token) {
        for (int layer = 0; layer < layout.part_count(); ++layer) {
          for (int head = 0; head < layout.parts[0].kv_heads; ++head) {
            std::vector<float> key, value;
            for (int i = 0; i < head_dim; ++i) {
              key.push_back(static_cast<float>(random.below(200)) - 100.0f);
              value.push_back(static_cast<float>(random.below(200)) - 100.0f);
            }
            for (std::vector<uint8_t>* page : {&full, &wanted}) {
              if (page == &wanted && token >= count) continue;
              write_kv(layout.type, head_dim, token, key.data(), value.data(),
                       page->data() + layout.key_offset(layer, head),
                       page->data() + layout.value_offset(layer, head));
            }
          }
        }
      }
      clear_slots(layout, count, full.data());
      EXPECT_EQ(full, wanted) << count << " tokens, " << head_dim << " channels";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, KvPage,
                         ::testing::Values(KvType::kF32, KvType::kBf16, KvType::kFp16, KvType::kFp8,
                                           KvType::kInt8));

}  // namespace
}  // namespace cascade::testing
