// The least time that a forward pass can take on a machine: its bytes over the read bandwidth, and
// its operations over the peak.
#pragma once

#include <cstdint>
#include <span>

#include "base/number_types.h"
#include "bench/speed/peak.h"
#include "cache/kv_view.h"
#include "model/attention_mode.h"
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

// In seconds. Reading and computing may overlap; the two kinds of operations cannot.
double bound_s(const Work& work, const Peak& peak);

// The work of the decoder's matrices for `rows` tokens, and of the LM head for `head_rows` of them.
// Weights are read once. Of a mixture, those of all experts that are expected to be chosen if each
// token chooses any of them with the same probability.
Work matrix_work(const ModelConfig& config, const Weights& weights, double rows, double head_rows);

// The work of attention for tokens [begin, end) of one sequence, which attend in `mode`. It has no
// bytes: how much is read from memory depends on which sequences share it.
Work attention_work(const ModelConfig& config, KvType type, int64_t begin, int64_t end,
                    const AttentionMode& mode = {});

// The work of recurrent layers beside their matrices, for `rows` tokens of `sequences` sequences.
// Each sequence's state is read and written once.
Work recurrent_work(const RecurrentConfig& config, double rows, double sequences);

// The bytes of K and V of `tokens` tokens.
double kv_bytes(const KvLayout& layout, int64_t tokens);

// The bytes of K and V that the next tokens of `batch` sequences read. Each sequence has `depth`
// tokens already, and the first `shared` of them are in the same memory. A layer with a window
// reads only what the window shows (the sinks of a mode are left out). Where sequences select, each
// reads indexes and chosen pages for itself, unless they are common: then these count once.
double kv_read_bytes(const ModelConfig& config, const KvLayout& layout, int64_t batch,
                     int64_t depth, int64_t shared, const AttentionMode& mode = {});

}  // namespace cascade::speed
