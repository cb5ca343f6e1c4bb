// A chain of pages with random keys and their indexes, and what a row chose of it.
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "kernels/page_index.h"
#include "model/transformer.h"

namespace cascade::testing {

// The channels, and the query heads of a KV head.
inline constexpr int kChoosingDim = 16, kChoosingHeads = 2;

inline ModelConfig choosing_config() {
  ModelConfig config;
  config.layers = 2;
  config.query_heads = 2 * kChoosingHeads;
  config.kv_heads = 2;
  config.head_dim = kChoosingDim;
  config.attention_scale = 1 / std::sqrt(float{kChoosingDim});
  config.window = {0, 0};
  return config;
}

// A chain of pages with random indexes.
struct IndexedChain {
  IndexedChain(Random& random, const KvLayout& layout, int count) {
    for (int page = 0; page < count; ++page) {
      memory.push_back(allocate_aligned(layout.indexed_page_bytes()));
      pages.push_back(memory.back().get());
      std::memset(pages.back(), 0, layout.indexed_page_bytes());
      std::vector<float> scratch(index_page_scratch_floats(kChoosingDim));
      for (int layer = 0; layer < layout.part_count(); ++layer) {
        for (int head = 0; head < layout.parts[0].kv_heads; ++head) {
          uint8_t* keys = pages.back() + layout.key_offset(layer, head);
          for (size_t i = 0; i < 64 * kChoosingDim; ++i) {
            const auto x = static_cast<float>(random.unit() * 4 - 2);
            std::memcpy(keys + i * sizeof x, &x, sizeof x);
          }
          index_page(KvType::kF32, kChoosingDim, keys, scratch.data(),
                     pages.back() + layout.index_offset(layer, head));
        }
      }
    }
  }

  std::vector<AlignedBytes> memory;
  std::vector<uint8_t*> pages;
};

inline std::vector<int> pages_of_bits(const uint64_t* bits, int64_t position) {
  std::vector<int> pages;
  for (int page = 0; page <= position / 64; ++page) {
    if (bits[page / 64] >> (page % 64) & 1) pages.push_back(page);
  }
  return pages;
}

}  // namespace cascade::testing
