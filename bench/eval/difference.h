// Where two runs of one sequence differ: in K and V in their pages, recurrent states, hidden
// states, or logits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "cache/kv_view.h"

namespace cascade::eval {

// In the order that decides which difference within a layer is the first.
enum class Tensor : uint8_t {
  kKey,
  kKeyScale,
  kValue,
  kValueScale,
  kState,
  kHidden,
  kFinal,
  kLogits,
};

// "K", "K scale", "V", "V scale", "recurrent state", "hidden", "final hidden", "logits".
std::string_view to_string(Tensor tensor);

// A number: its bits as they are stored, and the value that they stand for.
struct Element {
  uint32_t bits = 0;
  double value = 0;
};

struct Difference {
  int layer = -1;  // -1: after all layers (final hidden states, logits)
  Tensor tensor = Tensor::kKey;
  int head = -1;         // KV head; -1: the tensor has none
  int64_t position = 0;  // of the token within its sequence
  int channel = -1;      // or the token id, for logits; -1: a scale, which has none
  Element reference, other;

  // Orders by layer; then K, V, recurrent and hidden states; then position, head, channel. The
  // final hidden states and the logits come after all layers.
  bool before(const Difference& that) const;
  // "K of layer 3, KV head 1, position 130, channel 5: 0.5 (0x3f00) in the reference, …"
  std::string to_string() const;
  Json to_json() const;
};

// The result of comparisons: how many numbers differ, and the first of them.
struct Comparison {
  int64_t differences = 0;
  std::optional<Difference> first;

  void add(const Difference& difference);
};

// Compares K and V, scales included, of tokens [0, tokens) of two chains. Ignores everything else
// in the pages: slots after the last token, and padding.
void compare_kv(const KvLayout& layout, KvPages reference, KvPages other, int64_t tokens,
                Comparison& result);

// Compares rows of `width` numbers as bits; row i belongs to position first_position + i.
void compare_rows(Tensor tensor, int layer, int64_t first_position, int width,
                  std::span<const float> reference, std::span<const float> other,
                  Comparison& result);

// One number of K (kKey, kKeyScale) or V of a token in its page. Scales have no channel: `channel`
// is ignored.
Element kv_element(const KvLayout& layout, const uint8_t* page, int part, Tensor tensor, int head,
                   int slot, int channel);

}  // namespace cascade::eval
