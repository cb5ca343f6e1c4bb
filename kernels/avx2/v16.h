// Sixteen floats in two AVX2 registers: the vector type of kernels/generic.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/kv_format.h"

namespace cascade::avx2 {

struct V16 {
  // Register tiles, with two registers per vector: of 16 registers, 12 hold accumulators, 2 weights
  // and 1 a broadcast. This also holds for few rows.
  static constexpr int kGemmRows = 6, kGemmPanels = 1;
  static constexpr int kGemmFewRows = 2, kGemmFewPanels = 3;
  // Attention: 2 rows by 32 keys (scores) or 32 channels (values).
  static constexpr int kAttentionRows = 2, kAttentionColumns = 2;

  __m256 low;
  __m256 high;

  static V16 zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static V16 set1(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static V16 load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  void store(float* p) const {
    _mm256_storeu_ps(p, low);
    _mm256_storeu_ps(p + 8, high);
  }
  // The first `count` lanes (0..16); the others read 0 and are not written.
  static V16 load_partial(const float* p, int count) {
    return {_mm256_maskload_ps(p, first(count, 0)), _mm256_maskload_ps(p + 8, first(count, 8))};
  }
  void store_partial(float* p, int count) const {
    _mm256_maskstore_ps(p, first(count, 0), low);
    _mm256_maskstore_ps(p + 8, first(count, 8), high);
  }

  // 16 bf16 values.
  static V16 load_bf16(const uint16_t* p) {
    const auto widen = [](const uint16_t* q) {
      const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(q));
      return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
    };
    return {widen(p), widen(p + 8)};
  }
  // 16 pairs of bf16 values: the even ones in `even`, the odd ones in `odd`.
  static void load_bf16_pairs(const uint16_t* p, V16& even, V16& odd) {
    const __m256i upper = _mm256_set1_epi32(static_cast<int>(0xFFFF0000u));
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 16));
    even.low = _mm256_castsi256_ps(_mm256_slli_epi32(a, 16));
    even.high = _mm256_castsi256_ps(_mm256_slli_epi32(b, 16));
    odd.low = _mm256_castsi256_ps(_mm256_and_si256(a, upper));
    odd.high = _mm256_castsi256_ps(_mm256_and_si256(b, upper));
  }

  // 16 fp16 values.
  static V16 load_f16(const uint16_t* p) {
    return widen_f16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  // 16 pairs of f16 values: the first of each in `first`, the second in `second`.
  static void load_f16_pairs(const void* p, V16& first, V16& second) {
    const auto* from = static_cast<const __m256i*>(p);
    const __m256i a = _mm256_loadu_si256(from), b = _mm256_loadu_si256(from + 1);
    const __m256i mask = _mm256_set1_epi32(0xFFFF);
    // Packing works on halves of registers: their quarters must be put in order.
    const auto ordered = [](__m256i x, __m256i y) {
      return _mm256_permute4x64_epi64(_mm256_packus_epi32(x, y), 0xD8);
    };
    first = widen_f16(ordered(_mm256_and_si256(a, mask), _mm256_and_si256(b, mask)));
    second = widen_f16(ordered(_mm256_srli_epi32(a, 16), _mm256_srli_epi32(b, 16)));
  }
  // 16 e4m3 values.
  static V16 load_e4m3(const uint8_t* p) {
    const __m256i x = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    const __m256i magnitude = _mm256_slli_epi16(_mm256_and_si256(x, _mm256_set1_epi16(0x7F)), 7);
    const __m256i sign = _mm256_slli_epi16(_mm256_and_si256(x, _mm256_set1_epi16(0x80)), 8);
    return widen_f16(_mm256_or_si256(magnitude, sign)) * set1(kE4m3AsF16Scale);
  }

  friend V16 operator+(V16 a, V16 b) {
    return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
  }
  friend V16 operator-(V16 a, V16 b) {
    return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
  }
  friend V16 operator*(V16 a, V16 b) {
    return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
  }
  friend V16 operator/(V16 a, V16 b) {
    return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
  }
  // a * b + c with one rounding.
  static V16 fma(V16 a, V16 b, V16 c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  V16 magnitude() const {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_andnot_ps(sign, low), _mm256_andnot_ps(sign, high)};
  }
  // b where a is a NaN.
  static V16 max(V16 a, V16 b) {
    return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
  }
  static V16 min(V16 a, V16 b) {
    return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
  }
  // To the nearest whole number, ties to even.
  static V16 round(V16 a) {
    return {_mm256_round_ps(a.low, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
            _mm256_round_ps(a.high, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
  }
  // y * 2^n for whole n in [-126, 127]; exact where the result is a normal number.
  static V16 times_exp2(V16 y, V16 n) {
    const auto power = [](__m256 x) {
      const __m256i biased = _mm256_add_epi32(_mm256_cvtps_epi32(x), _mm256_set1_epi32(127));
      return _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23));
    };
    return {_mm256_mul_ps(y.low, power(n.low)), _mm256_mul_ps(y.high, power(n.high))};
  }
  // Lanes [begin, end) of `a`, `fill` elsewhere. 0 <= begin <= end <= 16.
  static V16 keep(V16 a, int begin, int end, float fill) {
    const __m256 other = _mm256_set1_ps(fill);
    const auto blend = [&](__m256 x, int offset) {
      const __m256i mask = _mm256_andnot_si256(first(begin, offset), first(end, offset));
      return _mm256_blendv_ps(other, x, _mm256_castsi256_ps(mask));
    };
    return {blend(a.low, 0), blend(a.high, 8)};
  }
  // The lanes of `a` whose bit is set, `fill` elsewhere.
  static V16 select(uint16_t bits, V16 a, float fill) {
    const __m256i low_bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256 other = _mm256_set1_ps(fill);
    const auto blend = [&](__m256 x, int byte) {
      const __m256i set = _mm256_and_si256(_mm256_set1_epi32(byte), low_bits);
      const __m256i mask = _mm256_cmpeq_epi32(set, low_bits);
      return _mm256_blendv_ps(other, x, _mm256_castsi256_ps(mask));
    };
    return {blend(a.low, bits & 0xFF), blend(a.high, bits >> 8)};
  }
  // A bit for each lane where a >= b.
  static uint16_t at_least(V16 a, V16 b) {
    const auto bits = [](__m256 x, __m256 y) {
      return _mm256_movemask_ps(_mm256_cmp_ps(x, y, _CMP_GE_OQ));
    };
    return static_cast<uint16_t>(bits(a.low, b.low) | bits(a.high, b.high) << 8);
  }
  // Lanes by halves: j += j+8, j += j+4, j += j+2, j += j+1.
  float sum() const {
    const __m256 half = _mm256_add_ps(low, high);
    const __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    const __m128 two = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  float largest() const {
    const __m256 half = _mm256_max_ps(low, high);
    const __m128 quarter = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    const __m128 two = _mm_max_ps(quarter, _mm_movehl_ps(quarter, quarter));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }

 private:
  static V16 widen_f16(__m256i x) {
    return {_mm256_cvtph_ps(_mm256_castsi256_si128(x)),
            _mm256_cvtph_ps(_mm256_extracti128_si256(x, 1))};
  }
  // All ones in lane i of 8 if offset + i < count, else 0.
  static __m256i first(int count, int offset) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count - offset), lanes);
  }
};

}  // namespace cascade::avx2
