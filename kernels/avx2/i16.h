// Sixteen 32-bit integers in two AVX2 registers: the integer type of kernels/generic.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/avx2/v16.h"

namespace cascade::avx2 {

struct I16 {
  __m256i low;
  __m256i high;

  static I16 zero() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
  static I16 set1(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
  // To the nearest, ties to even. |x| < 2^31.
  static I16 rounded(V16 x) { return {_mm256_cvtps_epi32(x.low), _mm256_cvtps_epi32(x.high)}; }
  V16 to_float() const { return {_mm256_cvtepi32_ps(low), _mm256_cvtepi32_ps(high)}; }
  friend I16 operator+(I16 a, I16 b) {
    return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
  }
  friend I16 operator*(I16 a, I16 b) {
    return {_mm256_mullo_epi32(a.low, b.low), _mm256_mullo_epi32(a.high, b.high)};
  }
  I16 times_16() const { return {_mm256_slli_epi32(low, 4), _mm256_slli_epi32(high, 4)}; }
  I16 times_256() const { return {_mm256_slli_epi32(low, 8), _mm256_slli_epi32(high, 8)}; }
  // Bits 0 to 7, and bits 8 to 15.
  I16 first_bytes() const {
    const __m256i mask = _mm256_set1_epi32(255);
    return {_mm256_and_si256(low, mask), _mm256_and_si256(high, mask)};
  }
  I16 second_bytes() const { return {_mm256_srli_epi32(low, 8), _mm256_srli_epi32(high, 8)}; }
  // half_of_e8m0() of values in [0, 254] (kernels/mxfp4_matrix.h). For 0 and 1 the first operand of
  // the maximum is less.
  V16 half_of_e8m0() const {
    const auto half = [](__m256i x) {
      const __m256i one = _mm256_set1_epi32(1), smallest = _mm256_set1_epi32(0x00200000);
      const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(x, one), 23);
      const __m256i subnormal = _mm256_sllv_epi32(smallest, _mm256_min_epi32(x, one));
      return _mm256_castsi256_ps(_mm256_max_epi32(normal, subnormal));
    };
    return {half(low), half(high)};
  }
  int32_t sum() const {
    const __m256i half = _mm256_add_epi32(low, high);
    __m128i x = _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    x = _mm_add_epi32(x, _mm_shuffle_epi32(x, 0x4E));
    x = _mm_add_epi32(x, _mm_shuffle_epi32(x, 0xB1));
    return _mm_cvtsi128_si32(x);
  }
  // Stores the values as 16 bytes; each must be in [-128, 127].
  void store_int8(int8_t* p) const {
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    const __m128i more =
        _mm_packs_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(words, more));
  }
  // Stores the values as 16 bytes; each must be in [0, 255].
  void store_uint8(uint8_t* p) const {
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    const __m128i more =
        _mm_packs_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(words, more));
  }
  // The low (half = 0) or high (half = 1) four bits of each of 16 bytes.
  static I16 load_half_bytes(const uint8_t* p, int half) {
    const auto widen = [half](const uint8_t* q) {
      const __m256i bytes =
          _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(q)));
      return half == 0 ? _mm256_and_si256(bytes, _mm256_set1_epi32(15))
                       : _mm256_srli_epi32(bytes, 4);
    };
    return {widen(p), widen(p + 8)};
  }

  static __m256i load(const uint8_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static __m256i four(const void* p) {
    int32_t bytes;
    __builtin_memcpy(&bytes, p, sizeof bytes);
    return _mm256_set1_epi32(bytes);
  }
  static __m256i dot_pairs(__m256i u8, __m256i s8) {
    return _mm256_madd_epi16(_mm256_maddubs_epi16(u8, s8), _mm256_set1_epi16(1));
  }

  struct Bytes {  // four bytes for each of 16 lanes
    __m256i low;
    __m256i high;
  };
  // table[x] for each byte x < 16.
  static Bytes looked_up(const Bytes& x, const uint8_t* table) {
    const __m256i both =
        _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
    return {_mm256_shuffle_epi8(both, x.low), _mm256_shuffle_epi8(both, x.high)};
  }
  // The low four bits of 64 bytes, and the high four bits.
  static void load_nibbles(const uint8_t* p, Bytes& low, Bytes& high) {
    const __m256i mask = _mm256_set1_epi8(15);
    const __m256i a = load(p), b = load(p + 32);
    low = {_mm256_and_si256(a, mask), _mm256_and_si256(b, mask)};
    high = {_mm256_and_si256(_mm256_srli_epi16(a, 4), mask),
            _mm256_and_si256(_mm256_srli_epi16(b, 4), mask)};
  }
  static Bytes load_bytes(const uint8_t* p) { return {load(p), load(p + 32)}; }
  static void store_bytes(uint8_t* p, Bytes x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x.low);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 32), x.high);
  }
  // Puts kBits bits (1 or 2) of each byte at `from`, from bit kShift on, above the low four bits.
  template <int kShift, int kBits>
  static Bytes add_high_bits(Bytes low, const uint8_t* from) {
    const auto add = [](__m256i nibbles, const uint8_t* p) {
      const __m256i x = load(p);
      const __m256i moved = kShift <= 4 ? _mm256_slli_epi16(x, kShift <= 4 ? 4 - kShift : 0)
                                        : _mm256_srli_epi16(x, kShift <= 4 ? 0 : kShift - 4);
      const __m256i mask = _mm256_set1_epi8(((1 << kBits) - 1) << 4);
      return _mm256_or_si256(nibbles, _mm256_and_si256(moved, mask));
    };
    return {add(low.low, from), add(low.high, from + 32)};
  }
  // Byte kByte of each of 16 words.
  template <int kByte>
  static I16 byte_of_words(const uint8_t* p) {
    const auto byte = [](__m256i x) {
      return _mm256_and_si256(_mm256_srli_epi32(x, 8 * kByte), _mm256_set1_epi32(255));
    };
    return {byte(load(p)), byte(load(p + 32))};
  }
  template <int kByte>
  static I16 signed_byte_of_words(const uint8_t* p) {
    const auto byte = [](__m256i x) {
      return _mm256_srai_epi32(_mm256_slli_epi32(x, 24 - 8 * kByte), 24);
    };
    return {byte(load(p)), byte(load(p + 32))};
  }
  // 64 bytes of int4 -> 128 bytes (nibble - 8) * m + 128; m in [0, 15].
  static void expand_nibbles(const uint8_t* p, I16 m, uint8_t* out) {
    Bytes half[2];
    load_nibbles(p, half[0], half[1]);
    const auto expand = [](__m256i nibbles, __m256i factor, uint8_t* to) {
      const __m256i m16 = _mm256_or_si256(factor, _mm256_slli_epi32(factor, 16));
      const __m256i base16 = _mm256_sub_epi16(_mm256_set1_epi16(128), _mm256_slli_epi16(m16, 3));
      const __m256i base = _mm256_or_si256(base16, _mm256_slli_epi16(base16, 8));
      const __m256i even =
          _mm256_mullo_epi16(_mm256_and_si256(nibbles, _mm256_set1_epi16(0xFF)), m16);
      const __m256i odd = _mm256_mullo_epi16(_mm256_srli_epi16(nibbles, 8), m16);
      const __m256i product = _mm256_or_si256(even, _mm256_slli_epi16(odd, 8));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_add_epi8(product, base));
    };
    for (int i = 0; i < 2; ++i) {
      expand(half[i].low, m.low, out + 64 * i);
      expand(half[i].high, m.high, out + 64 * i + 32);
    }
  }
};

// Adds products of bytes in pairs as 16-bit numbers (which must not saturate), then in fours. |w| *
// (x with the sign of w) keeps the unsigned factor at most 128 and the sum of a pair at most
// 32,512.
struct PairDot {
  using Int = I16;
  using Bytes = I16::Bytes;
  static constexpr int kGemmRows = 4, kGemmPanels = 1, kGemmBlocksRows = 4;
  static constexpr int kGemmFewRows = 2, kGemmFewPanels = 1;
  // One row of records reads one panel at a time: there are too few registers for two.
  static constexpr bool kTwoStreams = false;
  static constexpr int kAttentionRows = 2, kAttentionColumns = 2;

  // Weights are used without their bias.
  static constexpr bool kBiased = false;
  struct Weights {
    __m256i low, high, magnitude_low, magnitude_high;
  };
  static Weights load_weights(const uint8_t* p) {
    const __m256i bias = _mm256_set1_epi8(-128);
    const __m256i a = _mm256_xor_si256(I16::load(p), bias),
                  b = _mm256_xor_si256(I16::load(p + 32), bias);
    return {a, b, _mm256_abs_epi8(a), _mm256_abs_epi8(b)};
  }
  // sum + w[lane][0..3] . x[0..3]
  static I16 dot(I16 sum, const Weights& w, const int8_t* x) {
    const __m256i xs = I16::four(x);
    const __m256i a = I16::dot_pairs(w.magnitude_low, _mm256_sign_epi8(xs, w.low));
    const __m256i b = I16::dot_pairs(w.magnitude_high, _mm256_sign_epi8(xs, w.high));
    return {_mm256_add_epi32(sum.low, a), _mm256_add_epi32(sum.high, b)};
  }
  // The same, for an x that no other product uses.
  static I16 dot_once(I16 sum, const Weights& w, const int8_t* x) { return dot(sum, w, x); }
  // Loads the low four bits of 64 bytes, and the high four bits times 2^kHighShift.
  static constexpr int kHighShift = 0;
  static void load_nibbles(const uint8_t* p, Bytes& low, Bytes& high) {
    Int::load_nibbles(p, low, high);
  }
  // dot() for the results of load_nibbles: 15 * 127 * 2 fits 16 bits.
  static I16 dot_nibbles(I16 sum, const Bytes& w, const int8_t* x) {
    const __m256i xs = I16::four(x);
    return {_mm256_add_epi32(sum.low, I16::dot_pairs(w.low, xs)),
            _mm256_add_epi32(sum.high, I16::dot_pairs(w.high, xs))};
  }

  // Sums of products of x with bytes of kBits bits (4 to 6). The sums of pairs are added as 16-bit
  // numbers for kStepsMax steps: a pair is at most 2 * 127 * 63 with six bits, and two of these
  // fit.
  struct Products {
    I16 sum;
    __m256i low, high;
  };
  static Products start_products(I16 sum) {
    return {sum, _mm256_setzero_si256(), _mm256_setzero_si256()};
  }
  // kStep: the number of steps since the start.
  template <int kBits, int kStep, bool kOnce>
  static Products add_products(Products to, const Bytes& w, const int8_t* x) {
    constexpr int kStepsMax = 1 << (7 - kBits);
    const __m256i xs = I16::four(x);
    const __m256i a = _mm256_maddubs_epi16(w.low, xs), b = _mm256_maddubs_epi16(w.high, xs);
    if constexpr (kStep == 0) return {to.sum, a, b};
    if constexpr (kStep % kStepsMax == 0) return {finish_products(to), a, b};
    return {to.sum, _mm256_add_epi16(to.low, a), _mm256_add_epi16(to.high, b)};
  }
  static I16 finish_products(const Products& all) {
    const __m256i ones = _mm256_set1_epi16(1);
    return {_mm256_add_epi32(all.sum.low, _mm256_madd_epi16(all.low, ones)),
            _mm256_add_epi32(all.sum.high, _mm256_madd_epi16(all.high, ones))};
  }

  // Multiplies signed values in [-127, 127] by unsigned x = 2 * (x / 2) + x % 2: the products of
  // the two parts fit 16 bits.
  struct Values {
    __m256i low, high;
  };
  static Values load_values(const uint8_t* p) { return {I16::load(p), I16::load(p + 32)}; }
  static I16 dot_unsigned(I16 sum, const Values& w, const uint8_t* x) {
    const __m256i xs = I16::four(x);
    const __m256i half = _mm256_and_si256(_mm256_srli_epi16(xs, 1), _mm256_set1_epi8(127));
    const __m256i odd = _mm256_and_si256(xs, _mm256_set1_epi8(1));
    const auto dot = [&](__m256i into, __m256i values) {
      const __m256i twice =
          _mm256_madd_epi16(_mm256_maddubs_epi16(half, values), _mm256_set1_epi16(2));
      return _mm256_add_epi32(into, _mm256_add_epi32(twice, I16::dot_pairs(odd, values)));
    };
    return {dot(sum.low, w.low), dot(sum.high, w.high)};
  }
};

}  // namespace cascade::avx2
