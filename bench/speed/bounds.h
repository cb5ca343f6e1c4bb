// The least time that a forward pass can take on a machine: its bytes over the read bandwidth, its
// operations over the peak.
#pragma once

#include <cstdint>
#include <span>

#include "base/number_types.h"
#include "bench/speed/peak.h"
#include "cache/kv_view.h"
#include "model/config.h"
#include "model/weights.h"

namespace cascade::speed {

// A fused multiply-add counts as two operations.
struct Work {
  double f32_ops = 0;
  double int8_ops = 0;
  double bytes = 0;  // read from memory at least once

  Work& operator+=(const Work& other);
};

// Seconds: reading and computing may overlap, the two kinds of operations cannot.
double bound_s(const Work& work, const Peak& peak);

// The decoder's matrices over `rows` tokens, and the LM head over `head_rows` of them. Weights are
// read once.
Work matrix_work(const Weights& weights, double rows, double head_rows);

// Attention of tokens [begin, end) of one sequence, each over all tokens before it and itself.
// Bytes: none; what is read from memory depends on who shares it.
Work attention_work(const ModelConfig& config, KvType type, int64_t begin, int64_t end);

// Bytes of the K and V of `tokens` tokens.
double kv_bytes(const KvLayout& layout, int64_t tokens);

// Bytes of K and V that the next token of each of `batch` sequences reads, all with `depth` tokens
// behind them, of which the first `shared` are the same memory: of a layer with a window, only what
// the window shows.
double kv_read_bytes(const ModelConfig& config, const KvLayout& layout, int64_t batch,
                     int64_t depth, int64_t shared);

}  // namespace cascade::speed
