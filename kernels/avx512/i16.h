// Sixteen 32-bit integers in one AVX-512 register: the integer type of kernels/generic.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/avx512/v16.h"

namespace cascade::avx512 {

[[gnu::always_inline]] inline int32_t four_bytes(const void* p) {
  int32_t four;
  __builtin_memcpy(&four, p, sizeof four);
  return four;
}

struct I16 {
  __m512i v;

  static I16 zero() { return {_mm512_setzero_si512()}; }
  static I16 set1(int32_t x) { return {_mm512_set1_epi32(x)}; }
  // To the nearest, ties to even. |x| < 2^31.
  static I16 rounded(V16 x) { return {_mm512_cvtps_epi32(x.v)}; }
  V16 to_float() const { return {_mm512_cvtepi32_ps(v)}; }
  friend I16 operator+(I16 a, I16 b) { return {_mm512_add_epi32(a.v, b.v)}; }
  friend I16 operator*(I16 a, I16 b) { return {_mm512_mullo_epi32(a.v, b.v)}; }
  I16 shifted_right(int bits) const { return {_mm512_srai_epi32(v, bits)}; }
  I16 times_16() const { return {_mm512_slli_epi32(v, 4)}; }
  I16 times_256() const { return {_mm512_slli_epi32(v, 8)}; }
  // Bits 0 to 7, and bits 8 to 15.
  I16 first_bytes() const { return {_mm512_and_si512(v, _mm512_set1_epi32(255))}; }
  I16 second_bytes() const { return {_mm512_srli_epi32(v, 8)}; }
  // half_of_e8m0() of values in [0, 254] (kernels/mxfp4_matrix.h). For 0 and 1 the first operand of
  // the maximum is less.
  V16 half_of_e8m0() const {
    const __m512i one = _mm512_set1_epi32(1), smallest = _mm512_set1_epi32(0x00200000);
    const __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(v, one), 23);
    const __m512i subnormal = _mm512_sllv_epi32(smallest, _mm512_min_epi32(v, one));
    return {_mm512_castsi512_ps(_mm512_max_epi32(normal, subnormal))};
  }
  int32_t sum() const { return _mm512_reduce_add_epi32(v); }
  // Stores the values as 16 bytes; each must be in [-128, 127].
  void store_int8(int8_t* p) const {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(v));
  }
  // Stores the values as 16 bytes; each must be in [0, 255].
  void store_uint8(uint8_t* p) const {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(v));
  }
  // The low (half = 0) or high (half = 1) four bits of each of 16 bytes.
  static I16 load_half_bytes(const uint8_t* p, int half) {
    const __m512i bytes =
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    return {half == 0 ? _mm512_and_si512(bytes, _mm512_set1_epi32(15))
                      : _mm512_srli_epi32(bytes, 4)};
  }

  using Bytes = __m512i;  // four bytes for each of 16 lanes
  // table[x] for each byte x < 16.
  static Bytes looked_up(Bytes x, const uint8_t* table) {
    const __m128i sixteen = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(sixteen), x);
  }
  // The low four bits of 64 bytes, and the high four bits.
  static void load_nibbles(const uint8_t* p, Bytes& low, Bytes& high) {
    const __m512i mask = _mm512_set1_epi8(15);
    const __m512i both = _mm512_loadu_si512(p);
    low = _mm512_and_si512(both, mask);
    high = _mm512_and_si512(_mm512_srli_epi16(both, 4), mask);
  }
  static Bytes load_bytes(const uint8_t* p) { return _mm512_loadu_si512(p); }
  static void store_bytes(uint8_t* p, Bytes x) { _mm512_storeu_si512(p, x); }
  // Puts kBits bits (1 or 2) of each byte at `from`, from bit kShift on, above the low four bits.
  template <int kShift, int kBits>
  static Bytes add_high_bits(Bytes low, const uint8_t* from) {
    const __m512i x = _mm512_loadu_si512(from);
    const __m512i moved = kShift <= 4 ? _mm512_slli_epi16(x, kShift <= 4 ? 4 - kShift : 0)
                                      : _mm512_srli_epi16(x, kShift <= 4 ? 0 : kShift - 4);
    const __m512i mask = _mm512_set1_epi8(((1 << kBits) - 1) << 4);
    return _mm512_ternarylogic_epi32(low, moved, mask, 0xF8);  // low | (moved & mask)
  }
  // Byte kByte of each of 16 words.
  template <int kByte>
  static I16 byte_of_words(const uint8_t* p) {
    const __m512i moved = _mm512_srli_epi32(_mm512_loadu_si512(p), 8 * kByte);
    return {_mm512_and_si512(moved, _mm512_set1_epi32(255))};
  }
  template <int kByte>
  static I16 signed_byte_of_words(const uint8_t* p) {
    return {_mm512_srai_epi32(_mm512_slli_epi32(_mm512_loadu_si512(p), 24 - 8 * kByte), 24)};
  }
  // 64 bytes of int4 -> 128 bytes (nibble - 8) * m + 128; m in [0, 15].
  static void expand_nibbles(const uint8_t* p, I16 m, uint8_t* out) {
    Bytes half[2];
    load_nibbles(p, half[0], half[1]);
    const __m512i m16 = _mm512_or_si512(m.v, _mm512_slli_epi32(m.v, 16));
    // 128 - 8 m in each byte; it fits into a byte since m <= 15.
    const __m512i base16 = _mm512_sub_epi16(_mm512_set1_epi16(128), _mm512_slli_epi16(m16, 3));
    const __m512i base = _mm512_or_si512(base16, _mm512_slli_epi16(base16, 8));
    for (int i = 0; i < 2; ++i) {
      const __m512i even =
          _mm512_mullo_epi16(_mm512_and_si512(half[i], _mm512_set1_epi16(0xFF)), m16);
      const __m512i odd = _mm512_mullo_epi16(_mm512_srli_epi16(half[i], 8), m16);
      const __m512i product = _mm512_or_si512(even, _mm512_slli_epi16(odd, 8));
      _mm512_storeu_si512(out + 64 * i, _mm512_add_epi8(product, base));
    }
  }
};

// Without VNNI: adds products of bytes in pairs as 16-bit numbers (which must not saturate), then
// in fours. |w| * (x with the sign of w) keeps the unsigned factor at most 128 and the sum of a
// pair at most 32,512.
struct PairDot {
  using Int = I16;
  using Bytes = I16::Bytes;
  static constexpr int kGemmRows = 6, kGemmPanels = 2, kGemmBlocksRows = 6;
  static constexpr int kGemmFewRows = 4, kGemmFewPanels = 2;
  // One row of records reads two panels side by side: there are enough registers for that.
  static constexpr bool kTwoStreams = true;
  static constexpr int kAttentionRows = 4, kAttentionColumns = 4;

  static __m512i dot_pairs(__m512i u8, __m512i s8) {
    return _mm512_madd_epi16(_mm512_maddubs_epi16(u8, s8), _mm512_set1_epi16(1));
  }

  // Weights are used without their bias.
  static constexpr bool kBiased = false;
  struct Weights {
    __m512i magnitude;
    __mmask64 negative;
  };
  static Weights load_weights(const uint8_t* p) {
    const __m512i w = _mm512_xor_si512(_mm512_loadu_si512(p), _mm512_set1_epi8(-128));
    return {_mm512_abs_epi8(w), _mm512_movepi8_mask(w)};
  }
  // sum + w[lane][0..3] . x[0..3]
  static I16 dot(I16 sum, const Weights& w, const int8_t* x) {
    const __m512i four = _mm512_set1_epi32(four_bytes(x));
    const __m512i turned = _mm512_mask_sub_epi8(four, w.negative, _mm512_setzero_si512(), four);
    return {_mm512_add_epi32(sum.v, dot_pairs(w.magnitude, turned))};
  }
  // The same, for an x that no other product uses.
  static I16 dot_once(I16 sum, const Weights& w, const int8_t* x) { return dot(sum, w, x); }
  // Loads the low four bits of 64 bytes, and the high four bits times 2^kHighShift.
  static constexpr int kHighShift = 0;
  static void load_nibbles(const uint8_t* p, Bytes& low, Bytes& high) {
    Int::load_nibbles(p, low, high);
  }
  // dot() for the results of load_nibbles: 15 * 127 * 2 fits 16 bits.
  static I16 dot_nibbles(I16 sum, Bytes w, const int8_t* x) {
    return {_mm512_add_epi32(sum.v, dot_pairs(w, _mm512_set1_epi32(four_bytes(x))))};
  }

  // Sums of products of x with bytes of kBits bits (4 to 6). The sums of pairs are added as 16-bit
  // numbers for kStepsMax steps: a pair is at most 2 * 127 * 63 with six bits, and two of these
  // fit.
  struct Products {
    I16 sum;
    __m512i pairs;
  };
  static Products start_products(I16 sum) { return {sum, _mm512_setzero_si512()}; }
  // kStep: the number of steps since the start.
  template <int kBits, int kStep, bool kOnce>
  static Products add_products(Products to, Bytes w, const int8_t* x) {
    constexpr int kStepsMax = 1 << (7 - kBits);
    const __m512i pairs = _mm512_maddubs_epi16(w, _mm512_set1_epi32(four_bytes(x)));
    if constexpr (kStep == 0) return {to.sum, pairs};
    if constexpr (kStep % kStepsMax == 0) return {finish_products(to), pairs};
    return {to.sum, _mm512_add_epi16(to.pairs, pairs)};
  }
  static I16 finish_products(const Products& all) {
    return {_mm512_add_epi32(all.sum.v, _mm512_madd_epi16(all.pairs, _mm512_set1_epi16(1)))};
  }

  // Multiplies signed values in [-127, 127] by unsigned x = 2 * (x / 2) + x % 2: the products of
  // the two parts fit 16 bits.
  using Values = __m512i;
  static Values load_values(const uint8_t* p) { return _mm512_loadu_si512(p); }
  static I16 dot_unsigned(I16 sum, Values w, const uint8_t* x) {
    const __m512i four = _mm512_set1_epi32(four_bytes(x));
    const __m512i half = _mm512_and_si512(_mm512_srli_epi16(four, 1), _mm512_set1_epi8(127));
    const __m512i odd = _mm512_and_si512(four, _mm512_set1_epi8(1));
    const __m512i twice = _mm512_madd_epi16(_mm512_maddubs_epi16(half, w), _mm512_set1_epi16(2));
    return {_mm512_add_epi32(sum.v, _mm512_add_epi32(twice, dot_pairs(odd, w)))};
  }
};

}  // namespace cascade::avx512
