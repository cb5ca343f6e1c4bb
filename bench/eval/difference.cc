// Whole blocks are compared first. Single numbers are looked at only where blocks differ, or where
// blocks also hold bytes that do not belong to valid tokens.
#include "bench/eval/difference.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

#include "base/check.h"
#include "kernels/kv_format.h"

namespace cascade::eval {
namespace {

bool is_scale(Tensor tensor) {
  return tensor == Tensor::kKeyScale || tensor == Tensor::kValueScale;
}

bool is_key(Tensor tensor) {
  return tensor == Tensor::kKey || tensor == Tensor::kKeyScale;
}

auto order(const Difference& d) {
  const int layer = d.layer < 0 ? INT32_MAX : d.layer;
  // The scale of a token is ordered with its K or V.
  const int tensor = static_cast<int>(d.tensor) - (is_scale(d.tensor) ? 1 : 0);
  return std::tuple(layer, tensor, d.position, d.head, is_scale(d.tensor), d.channel);
}

std::string shown(const Element& element) {
  char text[64];
  std::snprintf(text, sizeof text, "%.9g (0x%x)", element.value, element.bits);
  return text;
}

template <class T>
T load(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

double int8_value(Tensor tensor, uint8_t bits) {
  return tensor == Tensor::kKey ? int{bits} - 128 : int{static_cast<int8_t>(bits)};
}

// Where the blocks of one layer and head begin, and how many bytes of them a full page uses.
struct Blocks {
  size_t begin;
  size_t bytes;
  bool padded;  // some bytes within have no meaning
};

Blocks blocks_of(const KvLayout& layout, int part, Tensor tensor, int head) {
  const int dim = layout.parts[part].head_dim;
  if (tensor == Tensor::kKey) {
    return {layout.key_offset(part, head), key_block_bytes(layout.type, dim), false};
  }
  return {layout.value_offset(part, head), value_block_bytes(layout.type, dim),
          padded_head_dim(dim) != dim};
}

// Compares one page of K (tensor kKey) or V.
void compare_block(const KvLayout& layout, int part, Tensor tensor, int head, int64_t page,
                   int slots, const uint8_t* reference, const uint8_t* other, Comparison& result) {
  const Blocks blocks = blocks_of(layout, part, tensor, head);
  const bool whole = slots == kPageTokens && !blocks.padded;
  if (whole && std::memcmp(reference + blocks.begin, other + blocks.begin, blocks.bytes) == 0) {
    return;
  }
  const auto compare = [&](Tensor what, int slot, int channel) {
    Difference d = {part, what, head, page * kPageTokens + slot, channel, {}, {}};
    d.reference = kv_element(layout, reference, part, what, head, slot, channel);
    d.other = kv_element(layout, other, part, what, head, slot, channel);
    if (d.reference.bits != d.other.bits) result.add(d);
  };
  const Tensor scale = tensor == Tensor::kKey ? Tensor::kKeyScale : Tensor::kValueScale;
  for (int slot = 0; slot < slots; ++slot) {
    for (int channel = 0; channel < layout.parts[part].head_dim; ++channel)
      compare(tensor, slot, channel);
    if (kv_has_scales(layout.type)) compare(scale, slot, -1);
  }
}

}  // namespace

std::string_view to_string(Tensor tensor) {
  switch (tensor) {
    case Tensor::kKey: return "K";
    case Tensor::kKeyScale: return "K scale";
    case Tensor::kValue: return "V";
    case Tensor::kValueScale: return "V scale";
    case Tensor::kHidden: return "hidden";
    case Tensor::kState: return "recurrent state";
    case Tensor::kFinal: return "final hidden";
    case Tensor::kLogits: return "logits";
  }
  return "";
}

bool Difference::before(const Difference& that) const {
  return order(*this) < order(that);
}

std::string Difference::to_string() const {
  std::string text(eval::to_string(tensor));
  if (layer >= 0) text += " of layer " + std::to_string(layer);
  if (head >= 0) text += ", KV head " + std::to_string(head);
  text += ", position " + std::to_string(position);
  if (channel >= 0) {
    text += (tensor == Tensor::kLogits ? ", token id " : ", channel ") + std::to_string(channel);
  }
  return text + ": " + shown(reference) + " in the reference, " + shown(other) + " in the variant";
}

Json Difference::to_json() const {
  const auto or_null = [](int number) { return number < 0 ? Json() : Json(number); };
  return {{"layer", or_null(layer)},
          {"tensor", eval::to_string(tensor)},
          {"head", or_null(head)},
          {"position", position},
          {"channel", or_null(channel)},
          {"reference", reference.value},
          {"reference_bits", reference.bits},
          {"variant", other.value},
          {"variant_bits", other.bits}};
}

void Comparison::add(const Difference& difference) {
  ++differences;
  if (!first || difference.before(*first)) first = difference;
}

Element kv_element(const KvLayout& layout, const uint8_t* page, int part, Tensor tensor, int head,
                   int slot, int channel) {
  const KvType type = layout.type;
  const bool key = is_key(tensor);
  const int dim = layout.parts[part].head_dim;
  const uint8_t* block =
      page + (key ? layout.key_offset(part, head) : layout.value_offset(part, head));
  double scale = 1;
  if (kv_has_scales(type)) {
    const size_t offset = kv_scales_offset(key ? dim : padded_head_dim(dim));
    const auto bits = load<uint16_t>(block + offset + slot * sizeof(uint16_t));
    scale = f16_to_f32(bits);
    if (is_scale(tensor)) return {bits, scale};
  }
  CHECK(!is_scale(tensor));
  const size_t index =
      key ? key_index(type, dim, slot, channel) : value_index(type, dim, slot, channel);
  const uint8_t* at = block + index * kv_element_bytes(type);
  switch (type) {
    case KvType::kF32: return {load<uint32_t>(at), load<float>(at)};
    case KvType::kBf16: return {load<uint16_t>(at), bf16_to_f32(load<uint16_t>(at))};
    case KvType::kFp16: return {load<uint16_t>(at), f16_to_f32(load<uint16_t>(at))};
    case KvType::kFp8: return {*at, e4m3_to_f32(*at) * scale};
    case KvType::kInt8: return {*at, int8_value(tensor, *at) * scale};
  }
  return {};
}

void compare_kv(const KvLayout& layout, KvPages reference, KvPages other, int64_t tokens,
                Comparison& result) {
  for (int64_t page = 0; page * kPageTokens < tokens; ++page) {
    const int slots = static_cast<int>(std::min<int64_t>(kPageTokens, tokens - page * kPageTokens));
    for (int part = 0; part < layout.part_count(); ++part) {
      for (int head = 0; head < layout.parts[part].kv_heads; ++head) {
        for (const Tensor tensor : {Tensor::kKey, Tensor::kValue}) {
          compare_block(layout, part, tensor, head, page, slots, reference[page], other[page],
                        result);
        }
      }
    }
  }
}

void compare_rows(Tensor tensor, int layer, int64_t first_position, int width,
                  std::span<const float> reference, std::span<const float> other,
                  Comparison& result) {
  CHECK(reference.size() == other.size() && reference.size() % width == 0);
  if (std::memcmp(reference.data(), other.data(), reference.size_bytes()) == 0) return;
  for (size_t i = 0; i < reference.size(); ++i) {
    const Element a = {std::bit_cast<uint32_t>(reference[i]), reference[i]};
    const Element b = {std::bit_cast<uint32_t>(other[i]), other[i]};
    if (a.bits == b.bits) continue;
    result.add({layer, tensor, -1, first_position + static_cast<int64_t>(i / width),
                static_cast<int>(i % width), a, b});
  }
}

}  // namespace cascade::eval
