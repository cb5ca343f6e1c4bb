// Sums over the model's matrices and heads.
#include "bench/speed/bounds.h"

#include <algorithm>
#include <cmath>

#include "kernels/page_index.h"
#include "model/page_choice.h"

namespace cascade::speed {
namespace {

Work product_work(const PackedMatrix& w, double rows) {
  const double ops = 2.0 * w.n * w.k * rows;
  const auto bytes = static_cast<double>(w.bytes());
  return w.quantized() ? Work{0, ops, bytes} : Work{ops, 0, bytes};
}

Work stack_work(const StackedMatrix& stack, double rows) {
  Work work;
  for (const PackedMatrix& matrix : stack.matrices) work += product_work(matrix, rows);
  return work;
}

}  // namespace

Work& Work::operator+=(const Work& other) {
  f32_ops += other.f32_ops;
  int8_ops += other.int8_ops;
  bytes += other.bytes;
  return *this;
}

double bound_s(const Work& work, const Peak& peak) {
  const double computing = work.f32_ops / peak.f32_flop_per_s + work.int8_ops / peak.int8_op_per_s;
  return std::max(computing, work.bytes / peak.read_bytes_per_s);
}

Work matrix_work(const ModelConfig& config, const Weights& weights, double rows, double head_rows) {
  Work work;
  for (const LayerWeights& layer : weights.layers) {
    for (const StackedMatrix* stack : layer.stacks()) work += stack_work(*stack, rows);
    if (layer.mixture == nullptr) continue;
    // So far, every expert counts for every token.
    const double experts = config.mixture.experts;
    const double share = config.mixture.chosen / experts;
    const double read = rows > 0 ? 1 - std::pow(1 - share, rows) : 0;
    for (size_t i = 0; i < static_cast<size_t>(config.mixture.experts); ++i) {
      for (const auto* stack : {&layer.mixture->gate_up[i], &layer.mixture->down[i]}) {
        const Work all = stack_work(*stack, rows);
        work += {all.f32_ops * (share - 1), all.int8_ops * (share - 1), all.bytes * (read - 1)};
      }
    }
  }
  if (weights.layer_inputs != nullptr) {
    work += stack_work(weights.layer_inputs->projection, rows);
  }
  if (head_rows > 0) work += product_work(weights.lm_head(), head_rows);
  return work;
}

Work attention_work(const ModelConfig& config, KvType type, int64_t begin, int64_t end,
                    const AttentionMode& mode) {
  // Each query head multiplies with K and V of every key it sees, and with the index of every page
  // that it may choose.
  double keys = 0, means = 0;  // times the channels of a head
  for (int layer = 0; layer < static_cast<int>(config.window.size()); ++layer) {
    if (config.recurrent.is_recurrent(layer)) continue;
    const AttentionMode of_layer = selecting_mode(mode, layer, config.window[layer]);
    const double dim = config.attention_shape(layer).head_dim;
    for (int64_t position = begin; position < end; ++position) {
      keys += dim * static_cast<double>(keys_seen(of_layer, position));
      if (!selects(of_layer, position)) continue;
      const PageRange candidates = select_candidates(position);
      means += dim * static_cast<double>(kPageClusters * (candidates.end - candidates.begin));
    }
  }
  const double ops_of_key = 2.0 * config.query_heads;
  const double ops = 2 * ops_of_key * keys, index_ops = ops_of_key * means;
  return type == KvType::kInt8 ? Work{0, ops + index_ops, 0} : Work{ops, index_ops, 0};
}

Work recurrent_work(const RecurrentConfig& config, double rows, double sequences) {
  // Each element of a matrix decays, changes and is multiplied with the query; for the delta rule,
  // also with the key. A decay is one operation, the rest are two.
  const double of_element = config.kind == Recurrence::kDeltaNet ? 7 : 5;
  const double scan = of_element * config.value_channels() * config.key_dim;
  const double convolution = 2.0 * config.taps * config.channels;
  const auto layers = static_cast<double>(std::ranges::count(config.layers, true));
  const auto state_bytes = static_cast<double>(config.state_floats() * sizeof(float));
  return {layers * rows * (scan + convolution), 0, 2 * sequences * state_bytes};
}

double kv_bytes(const KvLayout& layout, int64_t tokens) {
  return static_cast<double>(layout.page_bytes()) / kPageTokens * static_cast<double>(tokens);
}

double kv_read_bytes(const ModelConfig& config, const KvLayout& layout, int64_t batch,
                     int64_t depth, int64_t shared, const AttentionMode& mode) {
  double bytes = 0;
  for (int layer = 0; layer < static_cast<int>(config.window.size()); ++layer) {
    if (config.recurrent.is_recurrent(layer)) continue;
    const AttentionMode of_layer = selecting_mode(mode, layer, config.window[layer]);
    const KvPartLayout& part = layout.parts[config.attention_shape(layer).kv_part];
    const double token_bytes = static_cast<double>(part.bytes()) / kPageTokens;
    if (selects(of_layer, depth)) {
      const PageRange candidates = select_candidates(depth);
      const int64_t count = candidates.end - candidates.begin;
      const int64_t common = std::clamp<int64_t>(shared / kPageTokens - candidates.begin, 0, count);
      bytes += static_cast<double>(common + batch * (count - common)) *
               static_cast<double>(part.indexes_bytes());
      // Sequences with common pages may all choose the same ones.
      const int64_t readers = common > 0 ? 1 : batch;
      bytes += token_bytes * static_cast<double>(readers * (keys_seen(of_layer, depth) - 1));
      continue;
    }
    const int64_t first =
        of_layer.window > 0 ? std::max<int64_t>(0, depth + 1 - of_layer.window) : 0;
    const int64_t together = std::max<int64_t>(0, std::min(shared, depth) - first);
    const int64_t apart = depth - first - together;
    bytes += token_bytes * static_cast<double>(together + batch * apart);
  }
  return bytes;
}

}  // namespace cascade::speed
