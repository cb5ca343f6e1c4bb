// Loading a model and stepping it through chains, for the tests of the forward pass.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "cache/page_arena.h"
#include "kernels/kv_format.h"
#include "kernels/thread_pool.h"
#include "model/model.h"
#include "model/transformer.h"
#include "tests/shared_dir.h"

namespace cascade::testing {

using Ids = std::vector<int32_t>;

inline const std::vector<std::string>& fixture_models() {
  static const std::vector<std::string> names = {"llama-mha", "llama3-rope", "mistral-swa",
                                                 "qwen2-bias", "qwen3-gqa"};
  return names;
}

// Models that tests/model/reference made: one of each further family, or several if a family has
// variants, and then variants of families that other fixtures belong to.
inline const std::vector<std::string>& family_models() {
  static const std::vector<std::string> names = {
      "gemma3",        "gemma3-caps",   "granite",           "olmo2",         "phi3",
      "phi3-longrope", "smollm3",       "llama-linear",      "qwen2-window",  "qwen3-yarn",
      "olmo3",         "ministral3",    "ministral3-vision", "gemma3-vision", "gemma4-shared",
      "gemma4-alike",  "gemma4-vision", "gemma4-unified",    "granite4"};
  return names;
}

// Mixtures of experts.
inline const std::vector<std::string>& mixture_models() {
  static const std::vector<std::string> names = {
      "gemma4-moe",  "glm4-moe",           "glm4-moe-plain", "gpt-oss",       "gpt-oss-mxfp4",
      "granite-moe", "granite-moe-shared", "granite4-moe",   "mixtral",       "olmoe",
      "qwen2-moe",   "qwen2-moe-window",   "qwen3-moe",      "qwen3-moe-step"};
  return names;
}

// Models with recurrent layers.
inline const std::vector<std::string>& hybrid_models() {
  static const std::vector<std::string> names = {
      "granite4-hybrid", "granite4-hybrid-moe", "lfm2",           "lfm2-moe",
      "qwen3-5",         "qwen3-5-moe",         "qwen3-5-vision", "qwen3-next"};
  return names;
}

// The folder of a fixture's weights.
inline std::filesystem::path model_dir(const std::string& name) {
  return name == "demo" ? demo_model_dir() : fixtures_dir() / name;
}

// The fixture's name, as a test's name may have it.
inline constexpr auto test_name_of = [](const auto& model) {
  std::string name = model.param;
  std::ranges::replace(name, '-', '_');
  return name;
};

// The instruction sets that this machine can run; says so when one is missing.
inline std::vector<Isa> isas(std::initializer_list<Isa> wanted) {
  std::vector<Isa> found;
  for (const Isa isa : wanted) {
    const auto kernels = kernels_for(isa);
    if (kernels.ok()) {
      found.push_back(isa);
    } else {
      std::cout << "NOT TESTED: " << kernels.error().to_string() << "\n";
    }
  }
  return found;
}

// The thread pool for tests that need no other.
inline ThreadPool& two_threads() {
  static ThreadPool pool(2);
  return pool;
}

inline std::unique_ptr<Model> load(const std::string& name, const ModelOptions& options,
                                   ThreadPool& pool) {
  auto model = load_model(model_dir(name), options, pool);
  EXPECT_TRUE(model.ok()) << model.error().to_string();
  return model.ok() ? *std::move(model) : nullptr;
}

inline Ids random_ids(Random& random, size_t count, int vocab_size) {
  Ids ids(count);
  for (int32_t& id : ids) {
    id = static_cast<int32_t>(random.below(static_cast<uint64_t>(vocab_size)));
  }
  return ids;
}

// The pages of one chain. At first all their bytes are NaNs: a page that was used before may hold
// anything, and none of it may have an effect.
class ChainPages {
 public:
  ChainPages(const KvLayout& layout, size_t tokens)
      : layout_(layout),
        arena_(*PageArena::create(layout.indexed_page_bytes(),
                                  (tokens + kPageTokens - 1) / kPageTokens)) {
    for (PageIndex page = 0; page < arena_.page_count(); ++page) {
      pages_.push_back(arena_.data(page));
      std::memset(pages_.back(), 0xFF, layout.indexed_page_bytes());
    }
  }
  ChainPages(const ChainPages&) = delete;
  ChainPages& operator=(const ChainPages&) = delete;

  KvPages pages() const { return pages_; }
  // Uses another chain's page, read-only, in place of its own.
  void share(size_t page, const ChainPages& other) { pages_[page] = other.pages_[page]; }
  void copy(size_t page, const ChainPages& other) {
    std::memcpy(pages_[page], other.pages_[page], layout_.page_bytes());
  }

  // K and V of the first `tokens` tokens, bit for bit, without the rest of the pages.
  std::vector<uint8_t> written(size_t tokens) const {
    const size_t element = kv_element_bytes(layout_.type);
    std::vector<uint8_t> bytes;
    for (size_t t = 0; t < tokens; ++t) {
      const uint8_t* page = pages_[t / kPageTokens];
      const int slot = static_cast<int>(t % kPageTokens);
      for (int part = 0; part < layout_.part_count(); ++part) {
        const KvPartLayout& of = layout_.parts[part];
        for (int head = 0; head < of.kv_heads; ++head) {
          const uint8_t* keys = page + layout_.key_offset(part, head);
          const uint8_t* values = page + layout_.value_offset(part, head);
          for (int c = 0; c < of.head_dim; ++c) {
            const uint8_t* k = keys + key_index(layout_.type, of.head_dim, slot, c) * element;
            const uint8_t* v = values + value_index(layout_.type, of.head_dim, slot, c) * element;
            bytes.insert(bytes.end(), k, k + element);
            bytes.insert(bytes.end(), v, v + element);
          }
          if (!kv_has_scales(layout_.type)) continue;
          const int padded = padded_head_dim(of.head_dim);
          const uint8_t* k = keys + kv_scales_offset(of.head_dim) + slot * sizeof(uint16_t);
          const uint8_t* v = values + kv_scales_offset(padded) + slot * sizeof(uint16_t);
          bytes.insert(bytes.end(), k, k + sizeof(uint16_t));
          bytes.insert(bytes.end(), v, v + sizeof(uint16_t));
        }
      }
    }
    return bytes;
  }

 private:
  KvLayout layout_;
  PageArena arena_;
  std::vector<uint8_t*> pages_;
};

// The recurrent state of one chain, if its model has any. At first all of it is NaNs.
class ChainState {
 public:
  explicit ChainState(const ModelConfig& config)
      : floats_(config.recurrent.state_floats(), std::numeric_limits<float>::quiet_NaN()) {}

  // Lets the slice, the next one of the chain, go on from this state and change it.
  Slice with(Slice slice) {
    if (floats_.empty()) return slice;
    slice.state_from = slice.position == 0 ? nullptr : floats_.data();
    slice.state_to = floats_.data();
    return slice;
  }
  const std::vector<float>& floats() const { return floats_; }

 private:
  std::vector<float> floats_;
};

// All results of computing a chain: the final hidden state of every token, K and V, and the
// recurrent state at the end.
struct Trace {
  std::vector<float> hidden;
  std::vector<uint8_t> kv;
  std::vector<float> state = {};
  bool operator==(const Trace& other) const {
    return kv == other.kv && same_bits(hidden, other.hidden) && same_bits(state, other.state);
  }

 private:
  // A NaN equals itself, and 0 does not equal -0.
  static bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
  }
};

// Runs `ids` as one chain in slices of `slice` tokens.
inline Trace run_chain(Transformer& transformer, const KvLayout& layout, const Ids& ids,
                       size_t slice, const AttentionMode& mode = {}) {
  const ChainPages pages(layout, ids.size());
  const size_t width = static_cast<size_t>(transformer.config().hidden_size);
  ChainState state(transformer.config());
  int64_t indexed_pages = 0;
  Trace trace;
  trace.hidden.resize(ids.size() * width);
  for (size_t begin = 0; begin < ids.size(); begin += slice) {
    const size_t size = std::min(slice, ids.size() - begin);
    const Slice piece = state.with(
        {std::span(ids).subspan(begin, size), static_cast<int64_t>(begin), pages.pages(),
         static_cast<int>(size), nullptr, mode, mode.selected > 0 ? &indexed_pages : nullptr});
    CHECK(transformer.forward(std::span(&piece, 1), trace.hidden.data() + begin * width).ok());
  }
  trace.kv = pages.written(ids.size());
  trace.state = state.floats();
  return trace;
}

// Logits of the last token of a fixed chain of `tokens` tokens.
inline std::vector<float> last_logits(const Model& m, int tokens = 40) {
  Transformer transformer(m.config, m.weights, *m.kernels, m.kv_layout, two_threads());
  Ids ids;
  for (int i = 0; i < tokens; ++i) ids.push_back((i * 37 + 11) % m.config.vocab_size);
  const Trace trace = run_chain(transformer, m.kv_layout, ids, ids.size());
  const auto hidden = static_cast<size_t>(m.config.hidden_size);
  std::vector<float> logits(static_cast<size_t>(m.config.vocab_size));
  transformer.logits(trace.hidden.data() + trace.hidden.size() - hidden, 1, logits.data());
  return logits;
}

}  // namespace cascade::testing
