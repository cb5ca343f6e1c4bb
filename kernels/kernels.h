// The table of functions that every instruction set implements, and the numerics they share.
//
// Bit identity. For one weight and KV type, `scalar`, `avx2` and `avx512` give the same bits, and
// an output depends only on its own row: never on the number of rows in a call, on the split over
// threads or on what else is in a batch. The rules, each stated where it holds:
//  - matrix product: one chain of fused multiply-adds over k ascending, from +0 (gemm);
//  - sums over a row: 16 lanes (element i in lane i mod 16, i ascending), then the lanes by halves:
//    lane j += lane j+8, then +4, +2, +1 (rms_norm, softmax);
//  - attention: tiles of 64 and splits of 1,024 keys at absolute positions, merged ascending;
//  - one exp for all (kernels/exp.h).
// `openblas` replaces the matrix product only: the same result for every row count and thread
// count, but other bits than the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/number_types.h"
#include "base/result.h"
#include "kernels/packed_matrix.h"

namespace cascade {

enum class Isa : uint8_t { kScalar, kAvx2, kAvx512, kOpenblas };

std::string_view to_string(Isa isa);  // "scalar", "avx2", "avx512", "openblas"
std::optional<Isa> isa_from_string(std::string_view name);

// Keys of one tile, which is a page; and of one split, whose softmax starts afresh. Both lie at
// absolute multiples, so that every way to compute a row sees the same boundaries. 64 keys of one
// head fit the first-level cache; a merge every 1,024 keys costs under 1 %.
inline constexpr int kTileKeys = 64;
inline constexpr int kSplitKeys = 1024;

// Part of every chain key: changes whenever the bits that kernels produce change.
inline constexpr uint32_t kNumericsVersion = 1;

// y[r][n] = sum over k of x[r][k] * w[n][k], for rows [0, rows) and the output channels of panels
// [panel_begin, panel_end) of w. No bias. x and y do not overlap.
struct GemmArgs {
  const PackedMatrix* w;  // [n, k]
  const float* x;         // [rows, k], row r at x + r * x_stride
  size_t x_stride;
  float* y;  // [rows, w->n_padded], row r at y + r * y_stride; padding channels get 0
  size_t y_stride;
  int rows;
  int panel_begin;
  int panel_end;
};

// Attention of query rows of one KV head. Row r attends to the keys
// [max(0, positions[r] - window + 1), positions[r]] (window 0: from 0), all of which are in pages.
struct AttentionArgs {
  KvType kv_type;
  int head_dim;                 // multiple of 8, <= 512
  float scale;                  // of q.k, usually 1/sqrt(head_dim)
  int window;                   // 0 = unlimited
  const uint8_t* const* pages;  // page i holds keys [64 i, 64 i + 64)
  size_t key_offset;            // of this layer's and head's key block in a page, bytes
  size_t value_offset;          // and of its value block
  int rows;
  const float* const* queries;  // [rows]: head_dim floats each
  const int32_t* positions;     // [rows]: absolute position of the row's token, non-decreasing
  float* const* outputs;        // [rows]: head_dim floats each
  float* scratch;               // attention_scratch_floats(head_dim) floats, 64-byte aligned
};

// Query rows that attention() takes at once; more are cut into blocks of this size.
inline constexpr int kAttentionRowsMax = 16;
size_t attention_scratch_floats(int head_dim);

// All functions are pure but for their outputs, and may run on any thread.
struct Kernels {
  Isa isa;
  // How pack_matrix() must lay out weights for gemm.
  MatrixLayout matrix_layout;

  void (*gemm)(const GemmArgs& args);

  // out[i] = x[i] / sqrt(mean(x^2) + eps) * weight[i], i < n. out may be x. n a multiple of 8.
  void (*rms_norm)(const float* x, const float* weight, float eps, int n, float* out);

  // Rotates `heads` heads of `head_dim` floats in place, pairs (i, i + head_dim/2), by the angles
  // whose cos and sin are given [head_dim/2].
  void (*rope)(float* x, int heads, int head_dim, const float* cos, const float* sin);

  // out[i] = gate[i] * sigmoid(gate[i]) * up[i]. out may be gate. n a multiple of 8.
  void (*silu_mul)(const float* gate, const float* up, int n, float* out);

  // x[i] += y[i]. n a multiple of 8.
  void (*add)(float* x, const float* y, int n);

  // Writes one token's K and V of one KV head (head_dim floats each) into slot `token` (< 64) of
  // the blocks (kernels/kv_format.h), rounding to `type`.
  void (*write_kv)(KvType type, int head_dim, int token, const float* key, const float* value,
                   uint8_t* key_block, uint8_t* value_block);

  void (*attention)(const AttentionArgs& args);

  // log(sum over i of exp(x[i])), i < n; exact to some 1e-6 relative to the sum.
  double (*log_sum_exp)(const float* x, int n);
};

// The kernels of `isa`; immutable, lives for ever. Errors: kUnsupported, field "isa", if this CPU
// lacks the instructions or the library cannot be loaded.
Result<const Kernels*> kernels_for(Isa isa);

// The fastest that this CPU has.
Isa best_isa();

}  // namespace cascade
