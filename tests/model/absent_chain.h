// A chain of which some pages are absent, and passes over it as Transformer runs them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "kernels/kv_format.h"
#include "kernels/page_index.h"
#include "model/attention_pass.h"
#include "model/transformer.h"

namespace cascade::testing {

inline constexpr int kPassDim = 16, kQueryHeads = 4, kKvHeads = 2, kPassLayers = 3;
inline constexpr size_t kPassWidth = size_t{kPassDim} * kQueryHeads;
inline constexpr int kChainTokens = 3500;  // four splits
inline constexpr int kMiddleWindow = 700;  // of the middle layer

inline ModelConfig config_with_windows(int last_window = 0) {
  ModelConfig config;
  config.layers = kPassLayers;
  config.query_heads = kQueryHeads;
  config.kv_heads = kKvHeads;
  config.head_dim = kPassDim;
  config.attention_scale = 1 / std::sqrt(float{kPassDim});
  config.window = {0, kMiddleWindow, last_window};
  return config;
}

// Five layers, of which every second one has one KV head of `full_dim` channels and no window. The
// last two use K and V of earlier ones.
inline ModelConfig config_of_unequal_layers(int full_dim) {
  ModelConfig config = config_with_windows();
  config.layers = 5;
  config.window = {kMiddleWindow, 0, kMiddleWindow, kMiddleWindow, 0};
  const AttentionShape sliding = {kKvHeads, kPassDim}, full = {1, full_dim};
  config.attention_shapes = {sliding, full, sliding, sliding, full};
  constexpr int kParts[] = {0, 1, 2, 2, 1};
  for (size_t layer = 0; layer < config.attention_shapes.size(); ++layer) {
    config.attention_shapes[layer].kv_part = kParts[layer];
    config.attention_shapes[layer].writes_kv = layer < 3;
  }
  return config;
}

// The floats of a row of queries or outputs, of any layer.
inline size_t pass_width(const ModelConfig& config) {
  return size_t(config.query_heads) * size_t(config.head_dim_max());
}

// A chain of random K and V. Some of its pages are absent and have to be read.
class AbsentChain : public KvPartReader {
 public:
  AbsentChain(Random& random, const KvLayout& layout) : layout_(layout) {
    const Kernels& kernels = **kernels_for(Isa::kScalar);
    for (int token = 0; token < kChainTokens; ++token) {
      const int slot = token % kPageTokens;
      if (slot == 0) {
        memory_.emplace_back(allocate_aligned(layout.indexed_page_bytes()));
        std::memset(memory_.back().get(), 0, layout.indexed_page_bytes());
        pages_.push_back(memory_.back().get());
        indexes_.push_back(memory_.back().get());
      }
      for (int part = 0; part < layout.part_count(); ++part) {
        const KvPartLayout& of = layout.parts[size_t(part)];
        std::vector<float> key(size_t(of.head_dim)), value(key.size());
        for (int head = 0; head < of.kv_heads; ++head) {
          for (float& x : key) x = static_cast<float>(random.unit() * 4 - 2);
          for (float& x : value) x = static_cast<float>(random.unit() * 4 - 2);
          kernels.write_kv(layout.type, of.head_dim, slot, key.data(), value.data(),
                           pages_.back() + layout.key_offset(part, head),
                           pages_.back() + layout.value_offset(part, head));
        }
      }
    }
    for (uint8_t* page : pages_) index(page);
  }

  Status read(int part, std::span<const int32_t> pages, uint8_t* to) override {
    if (++reads_ == fails_at) return Error{ErrorCode::kIo, "file", "cannot be read"};
    const KvPartLayout& of = layout_.parts[size_t(part)];
    for (const int32_t page : pages) {
      EXPECT_EQ(pages_[page], nullptr);
      EXPECT_TRUE(parts_read.insert({part, page}).second || reads_again) << "a part is read twice";
      std::memcpy(to, memory_[page].get() + of.begin, of.bytes());
      to += of.stride();
    }
    return {};
  }

  // The blocks of a part count as that part.
  Status read_blocks(int part, std::span<const int32_t> blocks, uint8_t* to) override {
    if (++reads_ == fails_at) return Error{ErrorCode::kIo, "file", "cannot be read"};
    const KvPartLayout& of = layout_.parts[size_t(part)];
    for (const int32_t block : blocks) {
      const int page = block / of.kv_heads, head = block % of.kv_heads;
      EXPECT_EQ(pages_[page], nullptr);
      parts_read.insert({part, page});
      EXPECT_TRUE(blocks_read.insert({part, block}).second || reads_again);
      std::memset(to, 0xff, of.block_stride());
      std::memcpy(to + of.block_shift(head), memory_[page].get() + layout_.key_offset(part, head),
                  of.block_bytes());
      to += of.block_stride();
    }
    return {};
  }

  void be_absent(int page) { pages_[page] = nullptr; }
  KvPages pages() const { return pages_; }
  // In memory, also those of absent pages.
  KvPages indexes() const { return indexes_; }

  // The float of K or V at channel `d` of a token. Precondition: the type is f32.
  float number(int part, int head, int token, bool value, int d) const {
    const size_t block = value ? layout_.value_offset(part, head) : layout_.key_offset(part, head);
    const int slot = token % kPageTokens, dim = layout_.parts[size_t(part)].head_dim;
    const size_t index =
        value ? value_index(KvType::kF32, dim, slot, d) : key_index(KvType::kF32, dim, slot, d);
    float x;
    std::memcpy(&x, memory_[token / kPageTokens].get() + block + index * sizeof x, sizeof x);
    return x;
  }

  bool readable = true;      // absent pages may be read
  bool reads_again = false;  // several slices of a pass have this chain, or layers a part
  int fails_at = 0;
  std::set<std::pair<int, int>> parts_read;   // part, page
  std::set<std::pair<int, int>> blocks_read;  // part, number

 private:
  void index(uint8_t* page) const {
    for (int part = 0; part < layout_.part_count(); ++part) {
      const KvPartLayout& of = layout_.parts[size_t(part)];
      std::vector<float> scratch(index_page_scratch_floats(of.head_dim));
      for (int head = 0; head < of.kv_heads; ++head) {
        index_page(layout_.type, of.head_dim, page + layout_.key_offset(part, head), scratch.data(),
                   page + layout_.index_offset(part, head));
      }
    }
  }

  const KvLayout layout_;
  std::vector<AlignedBytes> memory_;
  std::vector<uint8_t*> pages_;
  std::vector<uint8_t*> indexes_;
  int reads_ = 0;
};

struct PassSequence {
  AbsentChain* chain;
  int position;
  int rows;
  int outputs;
  AttentionMode mode = {};
};

inline std::vector<float> queries_at(int64_t position, size_t width = kPassWidth) {
  Random random(static_cast<uint64_t>(position));
  std::vector<float> queries(width);
  for (float& x : queries) x = static_cast<float>(random.unit() * 4 - 2);
  return queries;
}

// Runs a pass as Transformer does; returns the outputs of all layers, or the error.
class Passes {
 public:
  Passes(KvType type, size_t stage_bytes, int threads, double blocks_share = 0, int last_window = 0)
      : Passes(config_with_windows(last_window), type, stage_bytes, threads, blocks_share) {}
  Passes(const ModelConfig& config, KvType type, size_t stage_bytes, int threads,
         double blocks_share = 0)
      : config_(config),
        width_(pass_width(config)),
        layout_(kv_layout(config_, type)),
        pool_(threads),
        pass_(config_, **kernels_for(best_isa()), layout_, pool_, {stage_bytes, blocks_share}) {}

  const KvLayout& layout() const { return layout_; }

  Result<std::vector<float>> run(const std::vector<PassSequence>& sequences) {
    std::vector<Slice> slices;
    std::vector<SliceRow> rows;
    int64_t indexed_pages = INT64_MAX;  // random pages have random indexes
    for (const PassSequence& sequence : sequences) {
      const int slice = static_cast<int>(slices.size());
      KvPartReader* const reader = sequence.chain->readable ? sequence.chain : nullptr;
      slices.push_back({{},
                        sequence.position,
                        sequence.chain->pages(),
                        0,
                        reader,
                        sequence.mode,
                        &indexed_pages,
                        sequence.chain->indexes()});
      for (int i = 0; i < sequence.rows; ++i) {
        rows.push_back({slice, sequence.position + i, i >= sequence.rows - sequence.outputs});
      }
    }
    // A row's queries depend on its position alone, so that it is the same row in every pass.
    std::vector<float> queries;
    for (const SliceRow& row : rows) {
      const std::vector<float> own = queries_at(row.position, width_);
      queries.insert(queries.end(), own.begin(), own.end());
    }
    std::vector<float> all;
    pass_.begin(rows, slices);
    const Status done = attend_layers(rows, queries, all);
    pass_.end();
    if (!done.ok()) return done.error();
    return all;
  }

 private:
  Status attend_layers(std::vector<SliceRow>& rows, std::vector<float>& queries,
                       std::vector<float>& all) {
    for (int layer = 0; layer < config_.layers; ++layer) {
      if (layer == config_.last_state_layer()) {
        size_t kept = 0;
        for (size_t row = 0; row < rows.size(); ++row) {
          if (!rows[row].output) continue;
          std::copy_n(queries.begin() + row * width_, width_, queries.begin() + kept * width_);
          rows[kept++] = rows[row];
        }
        rows.resize(kept);
        if (rows.empty()) return {};
        pass_.keep(rows);
      }
      // A layer with smaller heads leaves the end of a row alone.
      std::vector<float> outputs(rows.size() * width_, -1);
      RETURN_IF_ERROR(pass_.attend(layer, {queries.data(), width_}, {outputs.data(), width_}));
      all.insert(all.end(), outputs.begin(), outputs.end());
    }
    return {};
  }

  const ModelConfig config_;
  const size_t width_;
  const KvLayout layout_;
  ThreadPool pool_;
  AttentionPass pass_;
};

}  // namespace cascade::testing
