// Sixteen floats in one AVX-512 register: the vector type of kernels/generic.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/kv_format.h"

namespace cascade::avx512 {

struct V16 {
  // Register tiles: of 32 registers, 24 hold accumulators, 2 weights and 1 a broadcast. For few
  // rows these are 16, 4 and 1.
  static constexpr int kGemmRows = 12, kGemmPanels = 2;
  static constexpr int kGemmFewRows = 4, kGemmFewPanels = 4;
  // Attention: 4 rows by 64 keys (scores) or 64 channels (values).
  static constexpr int kAttentionRows = 4, kAttentionColumns = 4;

  __m512 v;

  static V16 zero() { return {_mm512_setzero_ps()}; }
  static V16 set1(float x) { return {_mm512_set1_ps(x)}; }
  static V16 load(const float* p) { return {_mm512_loadu_ps(p)}; }
  void store(float* p) const { _mm512_storeu_ps(p, v); }
  // The first `count` lanes (0..16); the others read 0 and are not written.
  static V16 load_partial(const float* p, int count) {
    return {_mm512_maskz_loadu_ps(first(count), p)};
  }
  void store_partial(float* p, int count) const { _mm512_mask_storeu_ps(p, first(count), v); }

  // 16 bf16 values.
  static V16 load_bf16(const uint16_t* p) {
    const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16))};
  }
  // 16 pairs of bf16 values: the even ones in `even`, the odd ones in `odd`.
  static void load_bf16_pairs(const uint16_t* p, V16& even, V16& odd) {
    const __m512i pairs = _mm512_loadu_si512(p);
    even.v = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
    odd.v = _mm512_castsi512_ps(
        _mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xFFFF0000u))));
  }

  // 16 fp16 values.
  static V16 load_f16(const uint16_t* p) {
    return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
  }
  // 16 pairs of f16 values: the first of each in `first`, the second in `second`.
  static void load_f16_pairs(const void* p, V16& first, V16& second) {
    const __m512i pairs = _mm512_loadu_si512(p);
    first.v = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(pairs));
    second.v = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(pairs, 16)));
  }
  // 16 e4m3 values.
  static V16 load_e4m3(const uint8_t* p) {
    const __m256i x = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    const __m256i magnitude = _mm256_slli_epi16(_mm256_and_si256(x, _mm256_set1_epi16(0x7F)), 7);
    const __m256i sign = _mm256_slli_epi16(_mm256_and_si256(x, _mm256_set1_epi16(0x80)), 8);
    const __m512 wide = _mm512_cvtph_ps(_mm256_or_si256(magnitude, sign));
    return {_mm512_mul_ps(wide, _mm512_set1_ps(kE4m3AsF16Scale))};
  }

  friend V16 operator+(V16 a, V16 b) { return {_mm512_add_ps(a.v, b.v)}; }
  friend V16 operator-(V16 a, V16 b) { return {_mm512_sub_ps(a.v, b.v)}; }
  friend V16 operator*(V16 a, V16 b) { return {_mm512_mul_ps(a.v, b.v)}; }
  friend V16 operator/(V16 a, V16 b) { return {_mm512_div_ps(a.v, b.v)}; }
  // a * b + c with one rounding.
  static V16 fma(V16 a, V16 b, V16 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
  V16 magnitude() const { return {_mm512_abs_ps(v)}; }
  // b where a is a NaN.
  static V16 max(V16 a, V16 b) { return {_mm512_max_ps(a.v, b.v)}; }
  static V16 min(V16 a, V16 b) { return {_mm512_min_ps(a.v, b.v)}; }
  // To the nearest whole number, ties to even.
  static V16 round(V16 a) {
    return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
  }
  // y * 2^n for whole n; exact where the result is a normal number.
  static V16 times_exp2(V16 y, V16 n) { return {_mm512_scalef_ps(y.v, n.v)}; }
  // Lanes [begin, end) of `a`, `fill` elsewhere. 0 <= begin <= end <= 16.
  static V16 keep(V16 a, int begin, int end, float fill) {
    const auto mask = static_cast<__mmask16>(first(end) & ~first(begin));
    return {_mm512_mask_mov_ps(_mm512_set1_ps(fill), mask, a.v)};
  }
  // The lanes of `a` whose bit is set, `fill` elsewhere.
  static V16 select(uint16_t bits, V16 a, float fill) {
    return {_mm512_mask_mov_ps(_mm512_set1_ps(fill), bits, a.v)};
  }
  // A bit for each lane where a >= b.
  static uint16_t at_least(V16 a, V16 b) { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_GE_OQ); }
  // Lanes by halves: j += j+8, j += j+4, j += j+2, j += j+1.
  float sum() const {
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    const __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    const __m128 two = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  float largest() const { return _mm512_reduce_max_ps(v); }

 private:
  static __mmask16 first(int count) { return static_cast<__mmask16>((1u << count) - 1u); }
};

}  // namespace cascade::avx512
