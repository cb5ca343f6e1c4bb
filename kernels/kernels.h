// The table of functions that every instruction set implements, and the numerics they share.
//
// Bit identity. For one weight and KV type, `scalar`, `avx2`, `avx512`, `avx512vnni` and `neon`
// give the same bits, and an output depends only on its own row: never on the number of rows in a
// call, on the split over threads or on the rest of a batch. The rules, each also stated where it
// holds:
//  - matrix product of f32 and bf16: one chain of fused multiply-adds over k ascending, from +0;
//  - matrix product of int8 and int4: exact integer sums over groups of 128, then one chain of
//    fused multiply-adds over the groups; of K-quants and MXFP4: exact integer sums over the
//    weights with one scale, then such chains (QuantizedGemmArgs);
//  - sums over a row: 16 lanes (element i in lane i mod 16, i ascending), then the lanes by halves:
//    lane j += lane j+8, then +4, +2, +1 (rms_norm, softmax);
//  - attention: tiles of 64 and splits of 1,024 keys at absolute positions, merged ascending
//    (AttentionArgs);
//  - choice of pages: exact integer sums, one fused multiply-add, the first pages of equal scores
//    (ChoosePagesArgs);
//  - convolutions and scans: chains of fused multiply-adds for each channel or column
//    (kernels/recurrence.h);
//  - one exp for all, also in activations and soft caps (kernels/exp.h).
// `openblas` replaces only the matrix product: it gives the same result for every row count and
// thread count, but other bits than the rest.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/number_types.h"
#include "base/result.h"
#include "kernels/packed_matrix.h"
#include "kernels/page_choice.h"
#include "kernels/recurrence.h"

namespace cascade {

enum class Isa : uint8_t { kScalar, kAvx2, kAvx512, kAvx512Vnni, kNeon, kOpenblas };

inline constexpr Isa kIsas[] = {Isa::kScalar,     Isa::kAvx2, Isa::kAvx512,
                                Isa::kAvx512Vnni, Isa::kNeon, Isa::kOpenblas};

std::string_view to_string(Isa isa);  // "scalar", "avx2", … "openblas"
std::optional<Isa> isa_from_string(std::string_view name);

// The number of keys of one tile, which is a page, and of one split, whose softmax starts afresh.
// Both lie at absolute multiples, so that every way to compute a row sees the same boundaries. 64
// keys of one head fit the first-level cache; a merge every 1,024 keys costs under 1 %.
inline constexpr int kTileKeys = 64;
inline constexpr int kSplitKeys = 1024;

// Part of every chain key: changes whenever the bits that kernels produce change.
inline constexpr uint32_t kNumericsVersion = 3;

// y[r][n] = sum over k of x[r][k] * w[n][k], for rows [0, rows) and the output channels of panels
// [panel_begin, panel_end) of w. No bias. x and y do not overlap.
struct GemmArgs {
  const PackedMatrix* w;  // [n, k], f32 or bf16
  const float* x;         // [rows, k], row r at x + r * x_stride
  size_t x_stride;
  float* y;  // [rows, w->n_padded], row r at y + r * y_stride; padding channels get 0
  size_t y_stride;
  int rows;
  int panel_begin;
  int panel_end;
};

// The same for quantised weights and rows (kernels/quantized_rows.h). int8 and int4:
//   y[r][n] = sum over groups ascending of (sum over k of xq * wq) * (x scale * w scale)
// With block scales:
//   y[r][n] = sum over groups ascending of
//             (sum over its blocks ascending of (sum over k of xq * wq) * w scale) * x scale
// K-quants, whose scales and offsets are products of a level and a unit, and MXFP4
// (kernels/record_format.h):
//   y[r][n] = sum over groups ascending of part * x scale
// A part is one chain over the subgroups of the group. It begins with
//   (sum over k of xq * wq) * scale[s], s ascending; q6k has wq - 32 instead of wq; in mxfp4, wq is
//   twice the number of the code, and scale[s] is half of 2^(exponent - 127)
// and goes on, in q4k and q5k, with
//   -(sum over k of xq) * offset[s], s ascending.
// Sums of integers are exact; the other sums are chains of fused multiply-adds from +0.
struct QuantizedGemmArgs {
  const PackedMatrix* w;  // [n, k], of a quantised type
  const uint8_t* x;       // quantized_rows_bytes(rows, k) bytes
  float* y;
  size_t y_stride;
  int rows;
  int panel_begin;
  int panel_end;
  uint8_t* scratch;  // quantized_gemm_scratch_bytes(k), 64-byte aligned; int8 needs none
};
// The number of panels of int4 or of records that are expanded at once, for all rows: even, from 2
// to 8, and small enough for the second-level cache.
int expanded_panels(int k);
// Enough for every smaller k too.
size_t quantized_gemm_scratch_bytes(int k);

// Row `index` of the `rows` quantised rows at `data` (kernels/quantized_rows.h).
struct QuantizeRowArgs {
  const float* x;  // [k]
  int k;
  uint8_t* data;  // quantized_rows_bytes(rows, k) bytes
  int rows;
  int index;
  bool k_quants;  // also writes what only K-quants read (bias32, minus)
  // The groups that are written, from x[group_begin * kGroup] on; group_end <= row_groups(k).
  int group_begin;
  int group_end;
};

// Attention of query rows of one KV head. The row at position p sees these keys, all of which are
// in its pages:
//   [max(0, p - window + 1), p] and, with a window, also [0, sinks)   (window 0: all of [0, p])
// and of these only those in the row's chosen pages, if it has any.
// Rows may be of different sequences. Neighbours whose pages are the same memory are attended
// together, so that pages that several sequences share are read once.
//
// Per row, tiles of 64 keys ascending (T = the visible ones of a tile):
//   s = q.k * scale, capped (Kernels::soft_cap) if soft_cap > 0;  m = max of T,  e = exp(s - m),
//   o = sum over T of e * v,  l = sum over T of e
// and tiles are merged one by one into a softmax that starts afresh at every split of 1,024 keys
// (online softmax, Milakov and Gimelshein 2018); splits are merged ascending. With int8 KV, q is
// rounded to int8 with one scale, and e * (scale of v) is rounded to a u8 with one scale for the
// tile, so that both products are exact integer sums. Where a tile weighs much in the softmax so
// far, a second u8 has 1/256 of the first one's unit: kFineTileShare.
struct AttentionArgs {
  KvType kv_type;
  int head_dim;                        // multiple of 8, <= 512
  float scale;                         // of q.k, usually 1/sqrt(head_dim)
  float soft_cap;                      // of the scores; 0 = none
  int window;                          // 0 = unlimited
  int sinks;                           // how many first keys a window does not hide
  const uint8_t* const* const* pages;  // [rows]: page i holds keys [64 i, 64 i + 64)
  size_t key_offset;                   // of this layer's and head's key block in a page, bytes
  size_t value_offset;                 // the same for the value block
  int rows;                            // <= kAttentionRowsMax
  const float* const* queries;         // [rows]: head_dim floats each
  const int32_t* positions;            // [rows]: absolute position of the row's token
  float* const* outputs;               // [rows]: head_dim floats each
  float* scratch;                      // attention_scratch_floats(head_dim), 64-byte aligned
  // The splits of this call: [split_begin, split_end). Pages of other splits are not read.
  int split_begin = 0;
  int split_end = INT_MAX;
  // Continues one attention over several calls. [rows], each attention_total_floats(head_dim): the
  // softmax over the splits of earlier calls; all 0 before the first one. Calls over ascending
  // ranges of splits give the bits of one call over all. A row's output is written by the call that
  // has the row's own position. nullptr: there is only one call.
  float* const* totals = nullptr;
  // [rows]: a row sees page i only if bit i % 64 of word i / 64 is set; that of its own position is
  // set. nullptr for a row that sees all pages; nullptr: all rows do.
  const uint64_t* const* chosen = nullptr;
  // [rows]: a logit that takes part in the row's softmax, but has no value (learned sinks; Xiao and
  // others 2023, section 3.3). It is merged after the last split. nullptr: there are none.
  const float* sink_logits = nullptr;
};

// A u8 is off by up to 1/510 of the tile's largest probability; for all 64 keys together this is
// about 0.9 % of it. A second u8 is used where that largest probability is over 1/8 of the
// softmax's sum so far: the error of the other tiles is then under 0.12 % of the result. Measured
// on the demo model: the perplexity changes by 0.14 % without the second u8, and by 0.01 % with it
// (docs/QUALITY.md).
inline constexpr float kFineTileShare = 8.0f;

// The largest number of rows for which a tile of K and V is read once.
inline constexpr int kAttentionRowsMax = 32;
size_t attention_scratch_floats(int head_dim);
// The floats of one row of AttentionArgs::totals.
size_t attention_total_floats(int head_dim);

// The constants of clamped_swiglu, the activation of gpt-oss.
inline constexpr float kSwigluSlope = 1.702f;
inline constexpr float kSwigluLimit = 7.0f;

// All functions are pure except for their outputs, and may run on any thread.
struct Kernels {
  Isa isa;
  // The layout of f32 and bf16 weights that gemm needs.
  MatrixLayout matrix_layout;
  // The layout of weights of any type: quantised ones are always in panels.
  MatrixLayout matrix_layout_of(WeightType type) const {
    return is_quantized(type) ? MatrixLayout::kPanels16 : matrix_layout;
  }

  void (*gemm)(const GemmArgs& args);
  void (*quantized_gemm)(const QuantizedGemmArgs& args);

  // Writes groups of a quantised row. Different groups may be written from different threads.
  void (*quantize_row)(const QuantizeRowArgs&);

  // out[i] = x[i] / sqrt(mean(x^2) + eps) * weight[i], i < n. out may be x. n a multiple of 8.
  void (*rms_norm)(const float* x, const float* weight, float eps, int n, float* out);

  // Rotates the first `rotary_dim` of `head_dim` floats of each of `heads` heads in place, pairs
  // (i, i + rotary_dim/2), by the angles whose cos and sin are given [rotary_dim/2].
  void (*rope)(float* x, int heads, int head_dim, int rotary_dim, const float* cos,
               const float* sin);

  // out[i] = gate[i] * sigmoid(gate[i]) * up[i]. out may be gate or up. n a multiple of 8.
  void (*silu_mul)(const float* gate, const float* up, int n, float* out);

  // out[i] = gelu(gate[i]) * up[i], gelu in its tanh form. out may be gate. n a multiple of 8.
  void (*gelu_tanh_mul)(const float* gate, const float* up, int n, float* out);

  // out[i] = g * sigmoid(kSwigluSlope * g) * (u + 1), where g = min(gate[i], kSwigluLimit) and u =
  // up[i] limited to [-kSwigluLimit, kSwigluLimit]. out may be gate. n a multiple of 8.
  void (*clamped_swiglu)(const float* gate, const float* up, int n, float* out);

  // out[i] = sigmoid(gate[i]) * up[i]. out may be gate or up. n a multiple of 8.
  void (*sigmoid_mul)(const float* gate, const float* up, int n, float* out);

  // x[i] += y[i]. n a multiple of 8.
  void (*add)(float* x, const float* y, int n);

  // x[i] = fma(y[i], factor, x[i]). n a multiple of 8.
  void (*add_scaled)(float* x, const float* y, float factor, int n);

  // x[i] *= y[i]. n a multiple of 8.
  void (*multiply_rows)(float* x, const float* y, int n);

  // x[i] *= factor.
  void (*multiply)(float* x, float factor, int n);

  // x[i] = cap * tanh(x[i] / cap); a NaN stays a NaN. cap > 0.
  void (*soft_cap)(float* x, float cap, int n);

  // Writes one token's K and V of one KV head (head_dim floats each) into slot `token` (< 64) of
  // the blocks (kernels/kv_format.h), rounding to `type`.
  void (*write_kv)(KvType type, int head_dim, int token, const float* key, const float* value,
                   uint8_t* key_block, uint8_t* value_block);

  void (*attention)(const AttentionArgs& args);

  void (*choose_pages)(const ChoosePagesArgs& args);

  void (*convolve)(const ConvolveArgs& args);

  void (*scan)(const ScanArgs& args);

  // log(sum over i of exp(x[i])), i < n; exact to about 1e-6 relative to the sum.
  double (*log_sum_exp)(const float* x, int n);
};

// The kernels of `isa`; immutable, never destroyed. Errors: kUnsupported, field "isa", if this CPU
// lacks the instructions or the library cannot be loaded.
Result<const Kernels*> kernels_for(Isa isa);

// The fastest set of this CPU among those that give the same bits.
Isa best_isa();

// The default: best_isa(). A CPU without any of these vector instructions uses `openblas` instead,
// if that library is installed, since most of the time is spent in the matrix product.
Isa default_isa();
// The same, from facts about the machine.
constexpr Isa default_isa(Isa best, bool has_openblas) {
  return best == Isa::kScalar && has_openblas ? Isa::kOpenblas : best;
}

}  // namespace cascade
