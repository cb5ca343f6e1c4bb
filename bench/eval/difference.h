// Where two runs of one sequence differ: K and V in their pages, hidden states, logits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "cache/kv_view.h"

namespace cascade::eval {

// In the order of "first" within a layer.
enum class Tensor : uint8_t { kKey, kKeyScale, kValue, kValueScale, kHidden, kFinal, kLogits };

// "K", "K scale", "V", "V scale", "hidden", "final hidden", "logits".
std::string_view to_string(Tensor tensor);

// A number as it is stored, and what it stands for.
struct Element {
  uint32_t bits = 0;
  double value = 0;
};

struct Difference {
  int layer = -1;  // -1: behind all layers (final hidden states, logits)
  Tensor tensor = Tensor::kKey;
  int head = -1;         // KV head; -1: the tensor has none
  int64_t position = 0;  // of the token in its sequence
  int channel = -1;      // or token id, of logits; -1: a scale, which has none
  Element reference, other;

  // By layer, then K, V, hidden states, then position, head, channel; behind all layers come the
  // final hidden states and the logits.
  bool before(const Difference& that) const;
  // "K of layer 3, KV head 1, position 130, channel 5: 0.5 (0x3f00) in the reference, …"
  std::string to_string() const;
  Json to_json() const;
};

// What was compared: how many numbers differ, and the first of them.
struct Comparison {
  int64_t differences = 0;
  std::optional<Difference> first;

  void add(const Difference& difference);
};

// Compares K and V, scales included, of tokens [0, tokens) of two chains. What else is in the pages
// (slots behind the last token, padding) does not count.
void compare_kv(const KvLayout& layout, KvPages reference, KvPages other, int64_t tokens,
                Comparison& result);

// Compares rows of `width` numbers as bits; row i is that of position first_position + i.
void compare_rows(Tensor tensor, int layer, int64_t first_position, int width,
                  std::span<const float> reference, std::span<const float> other,
                  Comparison& result);

// One number of K (kKey, kKeyScale) or V of a token in its page; channel does not count for scales.
Element kv_element(const KvLayout& layout, const uint8_t* page, int layer, Tensor tensor, int head,
                   int slot, int channel);

}  // namespace cascade::eval
