// Sums over the model's matrices and heads.
#include "bench/speed/bounds.h"

#include <algorithm>

namespace cascade::speed {
namespace {

Work product_work(const PackedMatrix& w, double rows) {
  const double ops = 2.0 * w.n * w.k * rows;
  const auto bytes = static_cast<double>(w.bytes());
  return w.quantized() ? Work{0, ops, bytes} : Work{ops, 0, bytes};
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

Work matrix_work(const Weights& weights, double rows, double head_rows) {
  Work work;
  for (const LayerWeights& layer : weights.layers) {
    for (const auto* matrix : {&layer.qkv, &layer.output, &layer.gate_up, &layer.down}) {
      work += product_work(matrix->matrix, rows);
    }
  }
  if (head_rows > 0) work += product_work(weights.lm_head(), head_rows);
  return work;
}

Work attention_work(const ModelConfig& config, KvType type, int64_t begin, int64_t end) {
  // Each query head multiplies with K and with V of every key it sees.
  double keys = 0;
  for (const int window : config.window) {
    for (int64_t position = begin; position < end; ++position) {
      const int64_t seen = window > 0 ? std::min<int64_t>(position + 1, window) : position + 1;
      keys += static_cast<double>(seen);
    }
  }
  const double ops = 2.0 * 2.0 * config.head_dim * config.query_heads * keys;
  return type == KvType::kInt8 ? Work{0, ops, 0} : Work{ops, 0, 0};
}

double kv_bytes(const KvLayout& layout, int64_t tokens) {
  return static_cast<double>(layout.page_bytes()) / kPageTokens * static_cast<double>(tokens);
}

double kv_read_bytes(const ModelConfig& config, const KvLayout& layout, int64_t batch,
                     int64_t depth, int64_t shared) {
  double bytes = 0;
  for (const int window : config.window) {
    const int64_t first = window > 0 ? std::max<int64_t>(0, depth + 1 - window) : 0;
    const int64_t together = std::max<int64_t>(0, std::min(shared, depth) - first);
    const int64_t apart = depth - first - together;
    bytes += kv_bytes(layout, together + batch * apart) / layout.layers;
  }
  return bytes;
}

}  // namespace cascade::speed
