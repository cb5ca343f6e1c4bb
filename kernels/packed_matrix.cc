// The layouts of f32 and bf16 matrices, and calls of the code for the other types.
#include "kernels/packed_matrix.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "base/check.h"
#include "base/checked.h"
#include "kernels/k_quant_matrix.h"
#include "kernels/mxfp4_matrix.h"
#include "kernels/quantized_matrix.h"
#include "kernels/record_format.h"

namespace cascade {
namespace {

constexpr size_t kPanelAlignment = 64;

// The index of element (channel, k) in its panel, for an f32 or bf16 matrix in panels.
size_t panel_index(const PackedMatrix& matrix, int channel, int k) {
  const size_t lane = static_cast<size_t>(channel % kPanelChannels);
  if (matrix.type == WeightType::kF32) return static_cast<size_t>(k) * kPanelChannels + lane;
  return static_cast<size_t>(k / 2) * kPanelChannels * 2 + lane * 2 + static_cast<size_t>(k % 2);
}

// The number of rows that are packed together: the number of words in a register.
constexpr int kRowsAtOnce = 4;

// The number of four-byte words that a row has in a panel. They are 16 words apart: the words of
// the other rows are in between.
size_t row_words(const PackedMatrix& matrix) {
  if (matrix.type == WeightType::kF32) return static_cast<size_t>(matrix.k);
  if (matrix.type == WeightType::kBf16) return static_cast<size_t>(matrix.k) / 2;
  if (!has_records(matrix.type)) return quantized_row_words(matrix);
  return static_cast<size_t>(matrix.groups()) *
         static_cast<size_t>(record_format(matrix.type).lines());
}

// Writes the words of a row to `words`, one after the other. Parts that are not words are written
// to their place in the panel.
void encode_row(const PackedMatrix& matrix, const float* row, int lane, uint32_t* words,
                uint8_t* panel) {
  if (is_k_quant(matrix.type)) return encode_k_quant_row(matrix, row, words);
  if (matrix.type == WeightType::kMxfp4) return encode_mxfp4_row(matrix, row, words);
  if (matrix.quantized()) return encode_quantized_row(matrix, row, lane, words, panel);
  if (matrix.type == WeightType::kF32) {
    std::memcpy(words, row, static_cast<size_t>(matrix.k) * sizeof(float));
    return;
  }
  auto* halves = reinterpret_cast<uint16_t*>(words);
  for (int k = 0; k < matrix.k; ++k) halves[k] = f32_to_bf16(row[k]);
}

using FourWords [[gnu::vector_size(16)]] = uint32_t;

// Writes four rows of `count` words, which follow each other in `words`, to four lanes of a panel,
// from `lane` on.
void interleave(const uint32_t* words, size_t count, int lane, uint8_t* panel) {
  static_assert(kRowsAtOnce == 4);
  auto* out = reinterpret_cast<uint32_t*>(panel) + lane;
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    FourWords rows[4];
    for (size_t row = 0; row < 4; ++row) {
      std::memcpy(&rows[row], words + row * count + i, sizeof rows[row]);
    }
    const FourWords low01 = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
    const FourWords high01 = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
    const FourWords low23 = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
    const FourWords high23 = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
    const FourWords columns[4] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                                  __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                                  __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                                  __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
    for (size_t column = 0; column < 4; ++column) {
      std::memcpy(out + (i + column) * kPanelChannels, &columns[column], sizeof columns[column]);
    }
  }
  for (; i < count; ++i) {
    for (size_t row = 0; row < 4; ++row) out[i * kPanelChannels + row] = words[row * count + i];
  }
}

// Clears what packing `rows` rows may leave unwritten: in a full panel only its end.
void clear_unwritten(const PackedMatrix& matrix, int rows, uint8_t* panel) {
  CHECK(rows > 0 && rows <= kPanelChannels);
  const size_t bytes = matrix.panel_bytes();
  const size_t cleared = rows < kPanelChannels ? bytes : std::min(bytes, kPanelAlignment);
  std::memset(panel + bytes - cleared, 0, cleared);
}

// Reads, encodes and interleaves rows of `size` elements each, a few at a time.
template <class Element, class Read, class Encode>
void pack_rows(const PackedMatrix& matrix, int rows, size_t size, const Read& read,
               const Encode& encode, uint8_t* panel) {
  const size_t count = row_words(matrix);
  std::vector<Element> elements(kRowsAtOnce * size);
  std::vector<uint32_t> words(kRowsAtOnce * count);
  for (int first = 0; first < rows; first += kRowsAtOnce) {
    const int some = std::min(kRowsAtOnce, rows - first);
    read(first, some, elements.data());
    for (int i = 0; i < some; ++i) {
      encode(matrix, &elements[i * size], first + i, &words[i * count], panel);
    }
    // The words of missing rows are 0, even if the coding writes the number 0 in another way.
    std::fill(words.begin() + static_cast<ptrdiff_t>(some * count), words.end(), 0u);
    interleave(words.data(), count, first, panel);
  }
}

}  // namespace

void FreeAligned::operator()(uint8_t* p) const {
  std::free(p);
}

AlignedBytes allocate_aligned(size_t bytes) {
  CHECK(bytes > 0);
  const size_t rounded = round_up(bytes, size_t{64});
  auto* p = static_cast<uint8_t*>(std::aligned_alloc(64, rounded));
  if (p == nullptr) throw std::bad_alloc();
  std::memset(p, 0, rounded);
  return AlignedBytes(p);
}

size_t PackedMatrix::multipliers_offset() const {
  return static_cast<size_t>(groups()) * kGroup * kPanelChannels / 2;
}

size_t PackedMatrix::scales_offset() const {
  const auto weights = static_cast<size_t>(groups()) * kGroup * kPanelChannels;
  if (type == WeightType::kInt8) return weights;
  if (block_scales) return multipliers_offset();
  return multipliers_offset() + static_cast<size_t>(groups()) * 2 * kPanelChannels;
}

size_t PackedMatrix::panel_bytes() const {
  if (has_records(type)) return static_cast<size_t>(groups()) * record_format(type).record_bytes();
  if (!quantized()) {
    const size_t element = type == WeightType::kF32 ? sizeof(float) : sizeof(uint16_t);
    return static_cast<size_t>(k) * kPanelChannels * element;
  }
  const size_t scales_of_lane = static_cast<size_t>(groups()) * (kGroup / scale_span());
  const size_t scales = scales_of_lane * kPanelChannels * sizeof(uint16_t);
  return round_up(scales_offset() + scales, kPanelAlignment);
}

PackedMatrix describe_matrix(WeightType type, MatrixLayout layout, int n, int k,
                             bool block_scales) {
  CHECK(n > 0 && k > 0 && k % 8 == 0);
  PackedMatrix matrix;
  matrix.type = layout == MatrixLayout::kRowMajor ? WeightType::kF32 : type;
  matrix.layout = layout;
  matrix.n = n;
  matrix.n_padded = round_up(n, kPanelChannels);
  matrix.k = k;
  matrix.block_scales = block_scales;
  CHECK(!block_scales || (matrix.quantized() && !has_records(type) && k % kBlock == 0));
  return matrix;
}

void set_row(PackedMatrix& matrix, int channel, const float* row) {
  CHECK(channel >= 0 && channel < matrix.n);
  if (matrix.layout == MatrixLayout::kRowMajor) {
    const size_t bytes = static_cast<size_t>(matrix.k) * sizeof(float);
    std::memcpy(matrix.data + static_cast<size_t>(channel) * bytes, row, bytes);
    return;
  }
  const size_t count = row_words(matrix);
  std::vector<uint32_t> words(count);
  uint8_t* panel = matrix.data + (channel / kPanelChannels) * matrix.panel_bytes();
  const int lane = channel % kPanelChannels;
  encode_row(matrix, row, lane, words.data(), panel);
  auto* out = reinterpret_cast<uint32_t*>(panel) + lane;
  for (size_t i = 0; i < count; ++i) out[i * kPanelChannels] = words[i];
}

void pack_panel(const PackedMatrix& matrix, int rows, const RowReader& read, uint8_t* panel) {
  clear_unwritten(matrix, rows, panel);
  if (matrix.layout == MatrixLayout::kRowMajor) {
    return read(0, rows, reinterpret_cast<float*>(panel));
  }
  pack_rows<float>(matrix, rows, static_cast<size_t>(matrix.k), read, encode_row, panel);
}

void pack_panel(const PackedMatrix& matrix, int rows, const BlockRowReader& read, uint8_t* panel) {
  CHECK(matrix.block_scales);
  clear_unwritten(matrix, rows, panel);
  pack_rows<WeightBlock>(matrix, rows, static_cast<size_t>(matrix.k) / kBlock, read, encode_blocks,
                         panel);
}

void pack_panel(const PackedMatrix& matrix, int rows, const KQuantRowReader& read, uint8_t* panel) {
  CHECK(is_k_quant(matrix.type));
  clear_unwritten(matrix, rows, panel);
  const auto encode = [](const PackedMatrix& m, const KQuantGroup* groups, int, uint32_t* words,
                         uint8_t*) { encode_k_quant_groups(m, groups, words); };
  pack_rows<KQuantGroup>(matrix, rows, static_cast<size_t>(matrix.groups()), read, encode, panel);
}

void pack_panel(const PackedMatrix& matrix, int rows, const Mxfp4RowReader& read, uint8_t* panel) {
  CHECK(matrix.type == WeightType::kMxfp4 && matrix.k % kBlock == 0);
  clear_unwritten(matrix, rows, panel);
  const auto encode = [](const PackedMatrix& m, const Mxfp4Block* blocks, int, uint32_t* words,
                         uint8_t*) { encode_mxfp4_blocks(m, blocks, words); };
  pack_rows<Mxfp4Block>(matrix, rows, static_cast<size_t>(matrix.k) / kBlock, read, encode, panel);
}

void get_row(const PackedMatrix& matrix, int channel, float* row) {
  CHECK(channel >= 0 && channel < matrix.n);
  if (matrix.layout == MatrixLayout::kRowMajor) {
    const size_t bytes = static_cast<size_t>(matrix.k) * sizeof(float);
    std::memcpy(row, matrix.data + static_cast<size_t>(channel) * bytes, bytes);
    return;
  }
  if (is_k_quant(matrix.type)) return get_k_quant_row(matrix, channel, row);
  if (matrix.type == WeightType::kMxfp4) return get_mxfp4_row(matrix, channel, row);
  if (matrix.quantized()) return get_quantized_row(matrix, channel, row);
  const uint8_t* panel = matrix.panel(channel / kPanelChannels);
  for (int k = 0; k < matrix.k; ++k) {
    const size_t index = panel_index(matrix, channel, k);
    row[k] = matrix.type == WeightType::kF32
                 ? reinterpret_cast<const float*>(panel)[index]
                 : bf16_to_f32(reinterpret_cast<const uint16_t*>(panel)[index]);
  }
}

}  // namespace cascade
