// The matrix product of panels of records (K-quants, MXFP4) for any vector type V16 and dot product
// D. Sums over the weights with one scale are exact integers; the chains of floats are those of the
// specification.
//
// Few rows read the packed bits. For many rows a panel is expanded once: its bits to bytes, its
// scales to f32. Both stay in the cache. The bytes are too small for products of scale and q.
//
// The bytes of MXFP4 are twice the numbers plus 16, so that they are unsigned.
#pragma once

#include "kernels/generic/blocks.h"
#include "kernels/generic/panel_source.h"
#include "kernels/kernels.h"
#include "kernels/mxfp4_matrix.h"
#include "kernels/quantized_rows.h"
#include "kernels/record_format.h"

namespace cascade::generic {

// Prefetches part kPart of kParts of a record that comes later. The parts are prefetched in the
// order of the memory, which is not the order of use: the streams of q6k were up to 12 % slower
// when each line was prefetched as it was used.
template <WeightType kType, int kPart, int kParts>
[[gnu::always_inline]] inline void prefetch_part(const uint8_t* record) {
  constexpr int kLines = record_format(kType).lines();
  constexpr int kFirst = kLines * kPart / kParts, kLast = kLines * (kPart + 1) / kParts;
  unroll<kLast - kFirst>([&](auto line)
                             CASCADE_INLINE { prefetch_weights(record + (kFirst + line) * 64); });
}

// The bytes that stand for the codes of MXFP4.
constexpr int kMxfp4Bias = 16;
struct Mxfp4Bytes {
  uint8_t of_code[16];
};
constexpr Mxfp4Bytes mxfp4_bytes() {
  Mxfp4Bytes bytes = {};
  for (int i = 0; i < 16; ++i) {
    bytes.of_code[i] = static_cast<uint8_t>(kTwiceE2m1[i] + kMxfp4Bias);
  }
  return bytes;
}
inline constexpr Mxfp4Bytes kMxfp4Bytes = mxfp4_bytes();

// The number of bits of a byte that is multiplied.
[[gnu::always_inline]] inline constexpr int product_bits(const RecordFormat& format) {
  return format.floats ? 5 : format.bits;
}

// Loads vectors kVector and kVector + 1 of a group. `record` is the group's record. Vector i has
// k = 4 i to 4 i + 3. kVector is even.
template <class D, WeightType kType, int kVector>
[[gnu::always_inline]] inline void load_packed(const uint8_t* record, typename D::Bytes& even,
                                               typename D::Bytes& odd) {
  constexpr RecordFormat kFormat = record_format(kType);
  const uint8_t* line = record + (kFormat.low_at() + kVector / 2) * 64;
  prefetch_part<kType, kVector / 2, kGroup / 8>(record);
  D::Int::load_nibbles(line, even, odd);
  if constexpr (kFormat.bits > 4) {
    constexpr int kBits = kFormat.bits - 4, kVectorsOfLine = 8 / kBits;
    constexpr int kShift = kVector % kVectorsOfLine * kBits;
    const uint8_t* above = record + (kFormat.high_at() + kVector / kVectorsOfLine) * 64;
    even = D::Int::template add_high_bits<kShift, kBits>(even, above);
    odd = D::Int::template add_high_bits<kShift + kBits, kBits>(odd, above);
  }
  if constexpr (kFormat.floats) {
    even = D::Int::looked_up(even, kMxfp4Bytes.of_code);
    odd = D::Int::looked_up(odd, kMxfp4Bytes.of_code);
  }
}

// The bytes of a group that has been expanded: a byte for each q [32][16][4], then the scales and
// offsets as f32 [8][16].
constexpr size_t kExpandedGroupBytes = kGroup * kPanelChannels + 8 * kPanelChannels * sizeof(float);

// The scales of a group of a panel, and its offsets (q4k, q5k).
template <class V, WeightType kType>
struct RecordFactors {
  static constexpr RecordFormat kFormat = record_format(kType);
  static constexpr int kOffsets = kFormat.offsets ? kFormat.subgroups() : 0;
  static constexpr int kFactors = kFormat.subgroups() + kOffsets;
  static_assert(kFactors <= 8);
  V scales[kFormat.subgroups()];
  V offsets[kOffsets + 1];  // an array has at least one element

  template <class I>
  [[gnu::always_inline]] void read(const uint8_t* record) {
    if constexpr (kFormat.floats) {
      unroll<kFormat.subgroups()>([&](auto s) CASCADE_INLINE {
        const uint8_t* line = record + kFormat.scales_at() * 64;
        scales[s] = I::template byte_of_words<s>(line).half_of_e8m0();
      });
      return;
    }
    V unit, offset_unit;
    V::load_f16_pairs(record, unit, offset_unit);
    unroll<kFormat.subgroups()>([&](auto s) CASCADE_INLINE {
      const uint8_t* line = record + (kFormat.scales_at() + s / 4) * 64;
      const I level = kFormat.offsets ? I::template byte_of_words<s % 4>(line)
                                      : I::template signed_byte_of_words<s % 4>(line);
      scales[s] = unit * level.to_float();
    });
    unroll<kOffsets>([&](auto s) CASCADE_INLINE {
      const I level = I::template byte_of_words<s>(record + kFormat.offsets_at() * 64);
      offsets[s] = offset_unit * level.to_float();
    });
  }
  [[gnu::always_inline]] void store(float* to) const {
    unroll<kFactors>([&](auto i) CASCADE_INLINE {
      constexpr bool kIsScale = i < kFormat.subgroups();
      const V& factor = kIsScale ? scales[kIsScale ? int(i) : 0]
                                 : offsets[kIsScale ? 0 : i - kFormat.subgroups()];
      factor.store(to + i * kPanelChannels);
    });
  }
  [[gnu::always_inline]] void load(const float* from) {
    unroll<kFormat.subgroups()>(
        [&](auto s) CASCADE_INLINE { scales[s] = V::load(from + s * kPanelChannels); });
    unroll<kOffsets>([&](auto s) CASCADE_INLINE {
      offsets[s] = V::load(from + (kFormat.subgroups() + s) * kPanelChannels);
    });
  }
};

// The integer sums of the weights with scale number kScale of a group. `from`: the groups of the
// panels, packed or expanded.
template <class D, Coding kCoding, int kScale, int kLanes, int kRows, int kPanels>
[[gnu::always_inline]] inline void record_sums(const uint8_t* const (&from)[kPanels],
                                               const QuantizedRow& x, int group,
                                               typename D::Products (&sum)[kRows][kPanels]) {
  using I = typename D::Int;
  constexpr RecordFormat kFormat = record_format(kCoding.type);
  constexpr int kVectors = kFormat.subgroup / 4;  // of bytes
  const auto* values = x.q + static_cast<size_t>(group) * kGroup * kLanes;
  unroll<kRows>([&](auto r) CASCADE_INLINE {
    const int at = (group * kFormat.subgroups() + kScale) * kLanes + r;
    static_assert(kMxfp4Bias == 2 * 8);
    const I start = kFormat.offsets  ? I::zero()
                    : kFormat.floats ? I::set1(2 * x.bias8[at])
                                     : I::set1(x.bias32[at]);
    unroll<kPanels>([&](auto p) CASCADE_INLINE { sum[r][p] = D::start_products(start); });
  });
  unroll<kVectors / 2>([&](auto pair) CASCADE_INLINE {
    constexpr int kVector = kScale * kVectors + 2 * pair;
    typename D::Bytes bytes[2][kPanels];
    unroll<kPanels>([&](auto p) CASCADE_INLINE {
      if constexpr (kCoding.expanded) {
        bytes[0][p] = D::Int::load_bytes(from[p] + kVector * 64);
        bytes[1][p] = D::Int::load_bytes(from[p] + kVector * 64 + 64);
      } else {
        load_packed<D, kCoding.type, kVector>(from[p], bytes[0][p], bytes[1][p]);
      }
    });
    unroll<2 * kRows * kPanels>([&](auto i) CASCADE_INLINE {
      constexpr int kHalf = i / (kRows * kPanels), r = i / kPanels % kRows, p = i % kPanels;
      constexpr int kStep = 2 * pair + kHalf;
      sum[r][p] = D::template add_products<product_bits(kFormat), kStep, kPanels == 1>(
          sum[r][p], bytes[kHalf][p], values + ((kVector + kHalf) * kLanes + r) * 4);
    });
  });
}

// Adds one group to the totals. The first row is x, in a block of kLanes rows.
template <class V, class D, Coding kCoding, int kLanes, int kRows, int kPanels>
[[gnu::always_inline]] inline void add_record(const PanelSource& source, const QuantizedRow& x,
                                              int group, V (&total)[kRows][kPanels]) {
  using I = typename D::Int;
  constexpr RecordFormat kFormat = record_format(kCoding.type);
  constexpr size_t kGroupBytes = kCoding.expanded ? kExpandedGroupBytes : kFormat.record_bytes();
  const uint8_t* from[kPanels];
  RecordFactors<V, kCoding.type> factors[kPanels];
  unroll<kPanels>([&](auto p) CASCADE_INLINE {
    from[p] = source.weights + p * source.weights_stride + group * kGroupBytes;
    if constexpr (kCoding.expanded) {
      factors[p].load(reinterpret_cast<const float*>(from[p] + kGroup * kPanelChannels));
    } else {
      factors[p].template read<I>(from[p]);
    }
  });
  V part[kRows][kPanels];
  unroll<kFormat.subgroups()>([&](auto s) CASCADE_INLINE {
    typename D::Products sum[kRows][kPanels];
    record_sums<D, kCoding, s, kLanes>(from, x, group, sum);
    unroll<kRows * kPanels>([&](auto i) CASCADE_INLINE {
      constexpr int r = i / kPanels, p = i % kPanels;
      const V dot = D::finish_products(sum[r][p]).to_float();
      // This equals a chain from 0, except for a possible -0, which the totals do not show, since
      // they begin at +0.
      if constexpr (s == 0) {
        part[r][p] = dot * factors[p].scales[s];
      } else {
        part[r][p] = V::fma(dot, factors[p].scales[s], part[r][p]);
      }
    });
  });
  unroll<(kFormat.offsets ? kFormat.subgroups() : 0)>([&](auto s) CASCADE_INLINE {
    static_assert(kFormat.subgroup == kSubgroup);
    unroll<kRows>([&](auto r) CASCADE_INLINE {
      const V row_sum = V::set1(x.minus[(group * kFormat.subgroups() + s) * kLanes + r]);
      unroll<kPanels>([&](auto p) CASCADE_INLINE {
        part[r][p] = V::fma(row_sum, factors[p].offsets[s], part[r][p]);
      });
    });
  });
  unroll<kRows>([&](auto r) CASCADE_INLINE {
    const V x_scale = V::set1(x.scale[group * kLanes + r]);
    unroll<kPanels>([&](auto p)
                        CASCADE_INLINE { total[r][p] = V::fma(part[r][p], x_scale, total[r][p]); });
  });
}

// Expands a panel: kExpandedGroupBytes for each group.
template <class V, class D, WeightType kType>
inline void expand_records(const PackedMatrix& w, int panel, uint8_t* out) {
  const uint8_t* record = w.panel(panel);
  for (int g = 0; g < w.groups(); ++g) {
    unroll<kGroup / 8>([&](auto pair) CASCADE_INLINE {
      typename D::Bytes even, odd;
      load_packed<D, kType, 2 * pair>(record, even, odd);
      D::Int::store_bytes(out + pair * 128, even);
      D::Int::store_bytes(out + pair * 128 + 64, odd);
    });
    RecordFactors<V, kType> factors;
    factors.template read<typename D::Int>(record);
    factors.store(reinterpret_cast<float*>(out + kGroup * kPanelChannels));
    record += record_format(kType).record_bytes();
    out += kExpandedGroupBytes;
  }
}

}  // namespace cascade::generic
