// Sixteen floats in four NEON registers: the vector type of kernels/generic.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "kernels/kv_format.h"

namespace cascade::neon {

struct V16 {
  // Register tiles, with four registers per vector: of 32 registers, 16 hold accumulators, which
  // hide the latency of fma (4 cycles, up to four a cycle), and up to 8 hold weights.
  static constexpr int kGemmRows = 4, kGemmPanels = 1;
  static constexpr int kGemmFewRows = 2, kGemmFewPanels = 2;
  // Attention: 2 rows by 32 keys (scores) or 32 channels (values).
  static constexpr int kAttentionRows = 2, kAttentionColumns = 2;

  float32x4_t v[4];

  // f(i) in register i.
  template <class F>
  [[gnu::always_inline]] static V16 each(const F& f) {
    return {{f(0), f(1), f(2), f(3)}};
  }

  static V16 zero() { return set1(0.0f); }
  static V16 set1(float x) {
    const float32x4_t all = vdupq_n_f32(x);
    return {{all, all, all, all}};
  }
  static V16 load(const float* p) {
    return each([p](int i) { return vld1q_f32(p + 4 * i); });
  }
  void store(float* p) const {
    for (int i = 0; i < 4; ++i) vst1q_f32(p + 4 * i, v[i]);
  }
  // The first `count` lanes (0..16); the others read 0 and are not written.
  static V16 load_partial(const float* p, int count) {
    if (count == 16) return load(p);
    float lanes[16] = {};
    for (int i = 0; i < count; ++i) lanes[i] = p[i];
    return load(lanes);
  }
  void store_partial(float* p, int count) const {
    if (count == 16) return store(p);
    float lanes[16];
    store(lanes);
    for (int i = 0; i < count; ++i) p[i] = lanes[i];
  }

  // 16 bf16 values.
  static V16 load_bf16(const uint16_t* p) {
    return each([p](int i) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p + 4 * i), 16)); });
  }
  // 16 pairs of bf16 values: the even ones in `even`, the odd ones in `odd`.
  static void load_bf16_pairs(const uint16_t* p, V16& even, V16& odd) {
    const uint32x4_t upper = vdupq_n_u32(0xFFFF0000u);
    for (int i = 0; i < 4; ++i) {
      const uint32x4_t pairs = vreinterpretq_u32_u16(vld1q_u16(p + 8 * i));
      even.v[i] = vreinterpretq_f32_u32(vshlq_n_u32(pairs, 16));
      odd.v[i] = vreinterpretq_f32_u32(vandq_u32(pairs, upper));
    }
  }

  // 16 fp16 values.
  static V16 load_f16(const uint16_t* p) {
    return each([p](int i) { return widen_f16(vld1_u16(p + 4 * i)); });
  }
  // 16 pairs of f16 values: the first of each in `first`, the second in `second`.
  static void load_f16_pairs(const void* p, V16& first, V16& second) {
    const auto* from = static_cast<const uint16_t*>(p);
    for (int i = 0; i < 2; ++i) {
      const uint16x8x2_t pairs = vld2q_u16(from + 16 * i);
      for (int j = 0; j < 2; ++j) {
        V16& to = j == 0 ? first : second;
        to.v[2 * i] = widen_f16(vget_low_u16(pairs.val[j]));
        to.v[2 * i + 1] = widen_f16(vget_high_u16(pairs.val[j]));
      }
    }
  }
  // 16 e4m3 values.
  static V16 load_e4m3(const uint8_t* p) {
    const uint8x16_t bytes = vld1q_u8(p);
    const uint16x8_t words[2] = {vmovl_u8(vget_low_u8(bytes)), vmovl_u8(vget_high_u8(bytes))};
    uint16x8_t f16[2];
    for (int i = 0; i < 2; ++i) {
      const uint16x8_t magnitude = vshlq_n_u16(vandq_u16(words[i], vdupq_n_u16(0x7F)), 7);
      const uint16x8_t sign = vshlq_n_u16(vandq_u16(words[i], vdupq_n_u16(0x80)), 8);
      f16[i] = vorrq_u16(magnitude, sign);
    }
    const V16 small = {{widen_f16(vget_low_u16(f16[0])), widen_f16(vget_high_u16(f16[0])),
                        widen_f16(vget_low_u16(f16[1])), widen_f16(vget_high_u16(f16[1]))}};
    return small * set1(kE4m3AsF16Scale);
  }

  friend V16 operator+(const V16& a, const V16& b) {
    return each([&](int i) { return vaddq_f32(a.v[i], b.v[i]); });
  }
  friend V16 operator-(const V16& a, const V16& b) {
    return each([&](int i) { return vsubq_f32(a.v[i], b.v[i]); });
  }
  friend V16 operator*(const V16& a, const V16& b) {
    return each([&](int i) { return vmulq_f32(a.v[i], b.v[i]); });
  }
  friend V16 operator/(const V16& a, const V16& b) {
    return each([&](int i) { return vdivq_f32(a.v[i], b.v[i]); });
  }
  // a * b + c with one rounding.
  static V16 fma(const V16& a, const V16& b, const V16& c) {
    return each([&](int i) { return vfmaq_f32(c.v[i], a.v[i], b.v[i]); });
  }
  V16 magnitude() const {
    return each([this](int i) { return vabsq_f32(v[i]); });
  }
  // b where a is a NaN.
  static V16 max(const V16& a, const V16& b) {
    return each([&](int i) { return max4(a.v[i], b.v[i]); });
  }
  static V16 min(const V16& a, const V16& b) {
    return each([&](int i) { return vbslq_f32(vcltq_f32(a.v[i], b.v[i]), a.v[i], b.v[i]); });
  }
  // To the nearest whole number, ties to even.
  static V16 round(const V16& a) {
    return each([&](int i) { return vrndnq_f32(a.v[i]); });
  }
  // y * 2^n for whole n in [-126, 127]; exact where the result is a normal number.
  static V16 times_exp2(const V16& y, const V16& n) {
    return each([&](int i) {
      const int32x4_t biased = vaddq_s32(vcvtq_s32_f32(n.v[i]), vdupq_n_s32(127));
      return vmulq_f32(y.v[i], vreinterpretq_f32_s32(vshlq_n_s32(biased, 23)));
    });
  }
  // Lanes [begin, end) of `a`, `fill` elsewhere. 0 <= begin <= end <= 16.
  static V16 keep(const V16& a, int begin, int end, float fill) {
    const auto below = [](int count) { return (uint32_t{1} << count) - 1; };
    return select(static_cast<uint16_t>(below(end) & ~below(begin)), a, fill);
  }
  // The lanes of `a` whose bit is set, `fill` elsewhere.
  static V16 select(uint16_t bits, const V16& a, float fill) {
    const uint32x4_t first = {1, 2, 4, 8};
    return each([&](int i) {
      const uint32x4_t mask = vtstq_u32(vdupq_n_u32(static_cast<uint32_t>(bits) >> (4 * i)), first);
      return vbslq_f32(mask, a.v[i], vdupq_n_f32(fill));
    });
  }
  // A bit for each lane where a >= b.
  static uint16_t at_least(const V16& a, const V16& b) {
    const uint32x4_t first = {1, 2, 4, 8};
    uint32_t bits = 0;
    for (int i = 0; i < 4; ++i) {
      bits |= vaddvq_u32(vandq_u32(vcgeq_f32(a.v[i], b.v[i]), first)) << (4 * i);
    }
    return static_cast<uint16_t>(bits);
  }
  // Lanes by halves: j += j+8, j += j+4, j += j+2, j += j+1.
  float sum() const {
    const float32x4_t quarter = vaddq_f32(vaddq_f32(v[0], v[2]), vaddq_f32(v[1], v[3]));
    const float32x2_t two = vadd_f32(vget_low_f32(quarter), vget_high_f32(quarter));
    return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
  }
  float largest() const {
    const float32x4_t quarter = max4(max4(v[0], v[2]), max4(v[1], v[3]));
    const float32x4_t two = max4(quarter, vextq_f32(quarter, quarter, 2));
    const float a = vgetq_lane_f32(two, 0), b = vgetq_lane_f32(two, 1);
    return a > b ? a : b;
  }

 private:
  static float32x4_t max4(float32x4_t a, float32x4_t b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
  static float32x4_t widen_f16(uint16x4_t x) { return vcvt_f32_f16(vreinterpret_f16_u16(x)); }
};

}  // namespace cascade::neon
