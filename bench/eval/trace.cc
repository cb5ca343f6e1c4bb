// Numbers are added in the order of tokens, heads and channels, so that equal runs give equal
// lines.
#include "bench/eval/trace.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/hash.h"
#include "kernels/kv_format.h"

namespace cascade::eval {
namespace {

TensorStatistics kv_statistics(const KvLayout& layout, const IdentityRun& run, int64_t tokens,
                               int part, Tensor tensor, Tensor scale) {
  TensorStatistics statistics;
  for (int64_t token = 0; token < tokens; ++token) {
    const uint8_t* page = run.pages[token / kPageTokens];
    const int slot = static_cast<int>(token % kPageTokens);
    for (int head = 0; head < layout.parts[part].kv_heads; ++head) {
      for (int channel = 0; channel < layout.parts[part].head_dim; ++channel) {
        Element element = kv_element(layout, page, part, tensor, head, slot, channel);
        // The hash must include the scale even where the numbers are all 0.
        if (channel == 0 && kv_has_scales(layout.type)) {
          element.bits |= kv_element(layout, page, part, scale, head, slot, -1).bits << 16;
        }
        statistics.add(element);
      }
    }
  }
  return statistics;
}

TensorStatistics hidden_statistics(const LayerStates& layers, int layer) {
  TensorStatistics statistics;
  for (int64_t token = 0; token < layers.tokens; ++token) {
    if (!layers.known[layer][token]) continue;
    for (int channel = 0; channel < layers.width; ++channel) {
      const float value = layers.states[layer][token * layers.width + channel];
      statistics.add({std::bit_cast<uint32_t>(value), value});
    }
  }
  return statistics;
}

}  // namespace

void TensorStatistics::add(const Element& element) {
  bits_.push_back(static_cast<int32_t>(element.bits));
  if (!std::isfinite(element.value)) return;
  min_ = finite_ == 0 ? element.value : std::min(min_, element.value);
  max_ = finite_ == 0 ? element.value : std::max(max_, element.value);
  sum_ += element.value;
  squares_ += element.value * element.value;
  ++finite_;
}

Json TensorStatistics::to_json() const {
  const auto count = static_cast<double>(std::max<int64_t>(1, finite_));
  const Digest digest = Hasher().field("bits", std::span<const int32_t>(bits_)).finish();
  return {{"values", bits_.size()},
          {"not_finite", static_cast<int64_t>(bits_.size()) - finite_},
          {"min", min_},
          {"max", max_},
          {"mean", sum_ / count},
          {"rms", std::sqrt(squares_ / count)},
          {"hash", digest.hex().substr(0, 16)}};
}

std::vector<Json> trace_of(const std::string& run_name, const KvLayout& layout,
                           const IdentityRun& run, int64_t tokens) {
  std::vector<Json> lines;
  const auto add = [&](int layer, Tensor tensor, const TensorStatistics& statistics) {
    Json line = statistics.to_json();
    line["run"] = run_name;
    line["layer"] = layer;
    line["tensor"] = to_string(tensor);
    lines.push_back(std::move(line));
  };
  const int states = static_cast<int>(run.layers.states.size());
  for (int layer = 0; layer < std::max(states, layout.part_count()); ++layer) {
    if (layer < layout.part_count()) {
      add(layer, Tensor::kKey,
          kv_statistics(layout, run, tokens, layer, Tensor::kKey, Tensor::kKeyScale));
      add(layer, Tensor::kValue,
          kv_statistics(layout, run, tokens, layer, Tensor::kValue, Tensor::kValueScale));
    }
    if (layer >= states) continue;
    add(layer, Tensor::kHidden, hidden_statistics(run.layers, layer));
  }
  return lines;
}

}  // namespace cascade::eval
