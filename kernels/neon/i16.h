// Sixteen 32-bit integers in four NEON registers: the integer type of kernels/generic.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "kernels/neon/v16.h"

namespace cascade::neon {

struct I16 {
  int32x4_t v[4];

  struct Bytes {  // four bytes for each of 16 lanes
    int8x16_t v[4];
  };

  // f(i) in register i.
  template <class F>
  [[gnu::always_inline]] static I16 each(const F& f) {
    return {{f(0), f(1), f(2), f(3)}};
  }

  static I16 zero() { return set1(0); }
  static I16 set1(int32_t x) {
    const int32x4_t all = vdupq_n_s32(x);
    return {{all, all, all, all}};
  }
  // To the nearest, ties to even. |x| < 2^31.
  static I16 rounded(const V16& x) {
    return each([&](int i) { return vcvtnq_s32_f32(x.v[i]); });
  }
  V16 to_float() const {
    return V16::each([this](int i) { return vcvtq_f32_s32(v[i]); });
  }
  friend I16 operator+(const I16& a, const I16& b) {
    return each([&](int i) { return vaddq_s32(a.v[i], b.v[i]); });
  }
  friend I16 operator*(const I16& a, const I16& b) {
    return each([&](int i) { return vmulq_s32(a.v[i], b.v[i]); });
  }
  I16 times_16() const {
    return each([this](int i) { return vshlq_n_s32(v[i], 4); });
  }
  I16 times_256() const {
    return each([this](int i) { return vshlq_n_s32(v[i], 8); });
  }
  // Bits 0 to 7, and bits 8 to 15.
  I16 first_bytes() const {
    return each([this](int i) { return vandq_s32(v[i], vdupq_n_s32(255)); });
  }
  I16 second_bytes() const {
    return each([this](int i) { return vshrq_n_s32(v[i], 8); });
  }
  // half_of_e8m0() of values in [0, 254] (kernels/mxfp4_matrix.h). For 0 and 1 the first operand of
  // the maximum is less.
  V16 half_of_e8m0() const {
    const int32x4_t one = vdupq_n_s32(1), smallest = vdupq_n_s32(0x00200000);
    return V16::each([&](int i) {
      const int32x4_t normal = vshlq_n_s32(vsubq_s32(v[i], one), 23);
      const int32x4_t subnormal = vshlq_s32(smallest, vminq_s32(v[i], one));
      return vreinterpretq_f32_s32(vmaxq_s32(normal, subnormal));
    });
  }
  int32_t sum() const {
    return vaddvq_s32(vaddq_s32(vaddq_s32(v[0], v[1]), vaddq_s32(v[2], v[3])));
  }
  // Stores the values as 16 bytes; each must be in [-128, 127].
  void store_int8(int8_t* p) const { vst1q_s8(p, bytes()); }
  // Stores the values as 16 bytes; each must be in [0, 255].
  void store_uint8(uint8_t* p) const { vst1q_u8(p, vreinterpretq_u8_s8(bytes())); }
  // The low (half = 0) or high (half = 1) four bits of each of 16 bytes.
  static I16 load_half_bytes(const uint8_t* p, int half) {
    const uint8x16_t both = vld1q_u8(p);
    const uint8x16_t x = half == 0 ? vandq_u8(both, vdupq_n_u8(15)) : vshrq_n_u8(both, 4);
    const uint16x8_t low = vmovl_u8(vget_low_u8(x)), high = vmovl_u8(vget_high_u8(x));
    return {{vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(low))),
             vreinterpretq_s32_u32(vmovl_u16(vget_high_u16(low))),
             vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(high))),
             vreinterpretq_s32_u32(vmovl_u16(vget_high_u16(high)))}};
  }
  // table[x] for each byte x < 16.
  static Bytes looked_up(const Bytes& x, const uint8_t* table) {
    const uint8x16_t sixteen = vld1q_u8(table);
    Bytes found;
    for (int i = 0; i < 4; ++i) {
      found.v[i] = vreinterpretq_s8_u8(vqtbl1q_u8(sixteen, vreinterpretq_u8_s8(x.v[i])));
    }
    return found;
  }
  // The low four bits of 64 bytes, and the high four bits.
  static void load_nibbles(const uint8_t* p, Bytes& low, Bytes& high) {
    for (int i = 0; i < 4; ++i) {
      const uint8x16_t both = vld1q_u8(p + 16 * i);
      low.v[i] = vreinterpretq_s8_u8(vandq_u8(both, vdupq_n_u8(15)));
      high.v[i] = vreinterpretq_s8_u8(vshrq_n_u8(both, 4));
    }
  }
  static Bytes load_bytes(const uint8_t* p) {
    Bytes bytes;
    for (int i = 0; i < 4; ++i) bytes.v[i] = vreinterpretq_s8_u8(vld1q_u8(p + 16 * i));
    return bytes;
  }
  static void store_bytes(uint8_t* p, const Bytes& x) {
    for (int i = 0; i < 4; ++i) vst1q_u8(p + 16 * i, vreinterpretq_u8_s8(x.v[i]));
  }
  // Puts kBits bits (1 or 2) of each byte at `from`, from bit kShift on, above the low four bits.
  template <int kShift, int kBits>
  static Bytes add_high_bits(const Bytes& low, const uint8_t* from) {
    Bytes all;
    for (int i = 0; i < 4; ++i) {
      const uint8x16_t moved = vshlq_u8(vld1q_u8(from + 16 * i), vdupq_n_s8(4 - kShift));
      const uint8x16_t high = vandq_u8(moved, vdupq_n_u8(((1 << kBits) - 1) << 4));
      all.v[i] = vorrq_s8(low.v[i], vreinterpretq_s8_u8(high));
    }
    return all;
  }
  // Byte kByte of each of 16 words.
  template <int kByte>
  static I16 byte_of_words(const uint8_t* p) {
    return each([p](int i) {
      const uint32x4_t x = vreinterpretq_u32_u8(vld1q_u8(p + 16 * i));
      const uint32x4_t moved = vshlq_u32(x, vdupq_n_s32(-8 * kByte));
      return vreinterpretq_s32_u32(vandq_u32(moved, vdupq_n_u32(255)));
    });
  }
  template <int kByte>
  static I16 signed_byte_of_words(const uint8_t* p) {
    return each([p](int i) {
      const int32x4_t x = vreinterpretq_s32_u8(vld1q_u8(p + 16 * i));
      return vshrq_n_s32(vshlq_s32(x, vdupq_n_s32(24 - 8 * kByte)), 24);
    });
  }
  // 64 bytes of int4 -> 128 bytes (nibble - 8) * m + 128; m in [0, 15].
  static void expand_nibbles(const uint8_t* p, const I16& m, uint8_t* out) {
    for (int i = 0; i < 4; ++i) {
      const uint32x4_t m32 = vmulq_n_u32(vreinterpretq_u32_s32(m.v[i]), 0x01010101u);
      const uint8x16_t factor = vreinterpretq_u8_u32(m32);
      const uint8x16_t base = vsubq_u8(vdupq_n_u8(128), vshlq_n_u8(factor, 3));
      const uint8x16_t both = vld1q_u8(p + 16 * i);
      vst1q_u8(out + 16 * i, vmlaq_u8(base, vandq_u8(both, vdupq_n_u8(15)), factor));
      vst1q_u8(out + 64 + 16 * i, vmlaq_u8(base, vshrq_n_u8(both, 4), factor));
    }
  }

 private:
  int8x16_t bytes() const {
    const int16x8_t low = vcombine_s16(vmovn_s32(v[0]), vmovn_s32(v[1]));
    const int16x8_t high = vcombine_s16(vmovn_s32(v[2]), vmovn_s32(v[3]));
    return vcombine_s8(vmovn_s16(low), vmovn_s16(high));
  }
};

// Adds products of signed bytes as 16-bit numbers in pairs, then in fours. A pair fits since |x| <=
// 127 and |w| <= 128.
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
  using Weights = Bytes;
  static Weights load_weights(const uint8_t* p) {
    Weights w;
    for (int i = 0; i < 4; ++i) {
      w.v[i] = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(p + 16 * i), vdupq_n_u8(128)));
    }
    return w;
  }
  // sum + w[lane][0..3] . x[0..3]
  static I16 dot(const I16& sum, const Weights& w, const int8_t* x) {
    const int8x16_t xs = vreinterpretq_s8_s32(four(x));
    return I16::each([&](int i) {
      const int16x8_t low = vmull_s8(vget_low_s8(w.v[i]), vget_low_s8(xs));
      const int16x8_t high = vmull_high_s8(w.v[i], xs);
      return vpadalq_s16(sum.v[i], vpaddq_s16(low, high));
    });
  }
  // The same, for an x that no other product uses.
  static I16 dot_once(const I16& sum, const Weights& w, const int8_t* x) { return dot(sum, w, x); }
  // Loads the low four bits of 64 bytes, and the high four bits times 2^kHighShift.
  static constexpr int kHighShift = 0;
  static void load_nibbles(const uint8_t* p, Bytes& low, Bytes& high) {
    Int::load_nibbles(p, low, high);
  }
  // dot() for the results of load_nibbles.
  static I16 dot_nibbles(const I16& sum, const Bytes& w, const int8_t* x) { return dot(sum, w, x); }

  // Sums of products of bytes of at most 6 bits with x.
  using Products = I16;
  static I16 start_products(const I16& sum) { return sum; }
  template <int kBits, int kStep, bool kOnce>
  static I16 add_products(const I16& sum, const Bytes& w, const int8_t* x) {
    return dot(sum, w, x);
  }
  static I16 finish_products(const I16& sum) { return sum; }

  // Signed values in [-127, 127] times unsigned values: a product fits 16 bits, a sum of two
  // products does not.
  using Values = Bytes;
  static Values load_values(const uint8_t* p) {
    Values values;
    for (int i = 0; i < 4; ++i) values.v[i] = vreinterpretq_s8_u8(vld1q_u8(p + 16 * i));
    return values;
  }
  static I16 dot_unsigned(const I16& sum, const Values& w, const uint8_t* x) {
    const uint8x8_t xs = vget_low_u8(vreinterpretq_u8_s32(four(x)));
    const int16x8_t wide = vreinterpretq_s16_u16(vmovl_u8(xs));
    return I16::each([&](int i) {
      const int16x8_t low = vmulq_s16(vmovl_s8(vget_low_s8(w.v[i])), wide);
      const int16x8_t high = vmulq_s16(vmovl_high_s8(w.v[i]), wide);
      return vaddq_s32(sum.v[i], vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)));
    });
  }

 private:
  static int32x4_t four(const void* p) {
    int32_t bytes;
    __builtin_memcpy(&bytes, p, sizeof bytes);
    return vdupq_n_s32(bytes);
  }
};

}  // namespace cascade::neon
