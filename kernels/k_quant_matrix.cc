// The panels of K-quants: groups to words and back.
#include "kernels/k_quant_matrix.h"

#include <algorithm>

#include "kernels/k_quantizer.h"

namespace cascade {
namespace {

// Four bytes as the word that has the first one in its lowest byte.
uint32_t word_of(const uint8_t* bytes) {
  return uint32_t{bytes[0]} | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 |
         uint32_t{bytes[3]} << 24;
}

// The lowest bits of four q that lie side by side, and the bits above them.
uint32_t low_bits(uint32_t four) {
  return four & 0x0F0F0F0Fu;
}
uint32_t high_bits(uint32_t four) {
  return four >> 4 & 0x0F0F0F0Fu;
}

// Writes the words of a group.
void encode_group(const RecordFormat& format, const KQuantGroup& group, uint32_t* words) {
  words[0] = uint32_t{group.unit} | uint32_t{group.offset_unit} << 16;
  for (int line = 0; line < format.scale_lines(); ++line) {
    uint8_t bytes[4];
    for (int i = 0; i < 4; ++i) bytes[i] = static_cast<uint8_t>(group.scales[line * 4 + i]);
    words[format.scales_at() + line] = word_of(bytes);
  }
  if (format.offsets) words[format.offsets_at()] = word_of(group.offsets);
  const int bits_above = format.bits - 4;
  const int fours_of_line = bits_above == 0 ? 1 : 8 / bits_above;
  std::fill_n(words + format.high_at(), format.high_lines(), 0u);
  for (int four = 0; four < kGroup / 4; ++four) {
    const uint32_t q = word_of(group.q + 4 * four);
    uint32_t& low = words[format.low_at() + four / 2];
    low = four % 2 == 0 ? low_bits(q) : low | low_bits(q) << 4;
    if (bits_above == 0) continue;
    words[format.high_at() + four / fours_of_line] |= high_bits(q)
                                                      << (four % fours_of_line * bits_above);
  }
}

}  // namespace

void encode_k_quant_groups(const PackedMatrix& matrix, const KQuantGroup* groups, uint32_t* words) {
  const RecordFormat format = record_format(matrix.type);
  for (int g = 0; g < matrix.groups(); ++g) {
    encode_group(format, groups[g], words + size_t(g) * format.lines());
  }
}

void encode_k_quant_row(const PackedMatrix& matrix, const float* row, uint32_t* words) {
  const RecordFormat format = record_format(matrix.type);
  for (int g = 0; g < matrix.groups(); ++g) {
    const int count = std::min(kGroup, matrix.k - g * kGroup);
    const KQuantGroup group = quantize_k_group(matrix.type, row + g * kGroup, count);
    encode_group(format, group, words + size_t(g) * format.lines());
  }
}

KQuantGroup k_quant_group(const PackedMatrix& matrix, int panel, int lane, int group) {
  const RecordFormat format = record_format(matrix.type);
  const auto* record = reinterpret_cast<const uint32_t*>(matrix.panel(panel) +
                                                         size_t(group) * format.record_bytes()) +
                       lane;
  const auto word = [&](int line) { return record[line * kPanelChannels]; };
  const auto byte = [&](int first_line, int index) {
    return static_cast<uint8_t>(word(first_line + index / 4) >> (index % 4 * 8));
  };
  KQuantGroup out = {};
  out.unit = static_cast<uint16_t>(word(0));
  out.offset_unit = static_cast<uint16_t>(word(0) >> 16);
  for (int s = 0; s < format.subgroups(); ++s) {
    const uint8_t scale = byte(format.scales_at(), s);
    out.scales[s] = format.offsets ? int16_t{scale} : int16_t{static_cast<int8_t>(scale)};
    if (format.offsets) out.offsets[s] = byte(format.offsets_at(), s);
  }
  const int bits_above = format.bits - 4;
  for (int k = 0; k < kGroup; ++k) {
    const int j = k % 4, four = k / 4;
    int q = byte(format.low_at() + four / 2, j) >> (four % 2 * 4) & 15;
    if (bits_above > 0) {
      const int fours_of_line = 8 / bits_above;
      const int above =
          byte(format.high_at() + four / fours_of_line, j) >> (four % fours_of_line * bits_above);
      q |= (above & ((1 << bits_above) - 1)) << 4;
    }
    out.q[k] = static_cast<uint8_t>(q);
  }
  return out;
}

void k_quant_values(const RecordFormat& format, const KQuantGroup& group, float* out) {
  const float unit = f16_to_f32(group.unit), offset_unit = f16_to_f32(group.offset_unit);
  const int zero = format.offsets ? 0 : 1 << (format.bits - 1);
  for (int s = 0; s < format.subgroups(); ++s) {
    const float scale = unit * static_cast<float>(group.scales[s]);
    const float offset = format.offsets ? offset_unit * static_cast<float>(group.offsets[s]) : 0;
    const int begin = s * format.subgroup;
    for (int i = begin; i < begin + format.subgroup; ++i) {
      const float product = scale * static_cast<float>(group.q[i] - zero);
      out[i] = format.offsets ? product - offset : product;
    }
  }
}

void get_k_quant_row(const PackedMatrix& matrix, int channel, float* row) {
  const RecordFormat format = record_format(matrix.type);
  const int panel = channel / kPanelChannels, lane = channel % kPanelChannels;
  float values[kGroup];
  for (int g = 0; g < matrix.groups(); ++g) {
    k_quant_values(format, k_quant_group(matrix, panel, lane, g), values);
    std::copy_n(values, std::min(kGroup, matrix.k - g * kGroup), row + g * kGroup);
  }
}

}  // namespace cascade
