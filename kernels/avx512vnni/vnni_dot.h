// Integer dot products with AVX-512 VNNI.
#pragma once

#include "kernels/avx512/i16.h"

namespace cascade::avx512vnni {

using avx512::four_bytes;
using avx512::I16;

struct VnniDot {
  using Int = I16;
  using Bytes = I16::Bytes;
  // Register tiles: of 32 registers, 24 hold accumulators, 2 weights and 1 a broadcast. Few rows
  // use one stream of weights, and as few instructions per weight as possible, so that a core sees
  // far ahead in the stream.
  static constexpr int kGemmRows = 12, kGemmPanels = 2, kGemmBlocksRows = 6;
  static constexpr int kGemmFewRows = 8, kGemmFewPanels = 1;
  // One row of records reads two panels side by side: there are enough registers for that.
  static constexpr bool kTwoStreams = true;
  // Attention: 4 rows by 64 keys (scores) or 64 channels (values).
  static constexpr int kAttentionRows = 4, kAttentionColumns = 4;

  // sum + u8 . s8 for every four bytes. This is assembly because GCC 12 copies each sum of the
  // intrinsic to another register and to the stack.
  static __m512i dot_bytes(__m512i sum, __m512i u8, __m512i s8) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(u8), "v"(s8));
    return sum;
  }

  // Weights are used with their bias of 128.
  static constexpr bool kBiased = true;
  using Weights = __m512i;
  static Weights load_weights(const uint8_t* p) { return _mm512_loadu_si512(p); }
  // sum + w[lane][0..3] . x[0..3]
  static I16 dot(I16 sum, Weights w, const int8_t* x) {
    return {dot_bytes(sum.v, w, _mm512_set1_epi32(four_bytes(x)))};
  }
  // The same, for an x that no other product uses: the instruction itself reads and repeats it.
  static I16 dot_once(I16 sum, Weights w, const int8_t* x) {
    using Four [[gnu::may_alias, gnu::aligned(1)]] = int32_t;
    asm("vpdpbusd %2%{1to16%}, %1, %0"
        : "+v"(sum.v)
        : "v"(w), "m"(*reinterpret_cast<const Four*>(x)));
    return sum;
  }
  // Loads the low four bits of 64 bytes, and the high four bits in place: these are 16 times as
  // large.
  static constexpr int kHighShift = 4;
  static void load_nibbles(const uint8_t* p, Bytes& low, Bytes& high) {
    const __m512i both = _mm512_loadu_si512(p);
    low = _mm512_and_si512(both, _mm512_set1_epi8(0x0F));
    high = _mm512_and_si512(both, _mm512_set1_epi8(static_cast<char>(0xF0)));
  }
  // dot_once() for the results of load_nibbles.
  static I16 dot_nibbles(I16 sum, Bytes w, const int8_t* x) { return dot_once(sum, w, x); }

  // Sums of products of unsigned bytes with x. kOnce: no other product uses this x.
  using Products = I16;
  static I16 start_products(I16 sum) { return sum; }
  template <int kBits, int kStep, bool kOnce>
  static I16 add_products(I16 sum, Bytes w, const int8_t* x) {
    return kOnce ? dot_once(sum, w, x) : dot(sum, w, x);
  }
  static I16 finish_products(I16 sum) { return sum; }

  // Signed values in [-127, 127] and unsigned x.
  using Values = __m512i;
  static Values load_values(const uint8_t* p) { return _mm512_loadu_si512(p); }
  static I16 dot_unsigned(I16 sum, Values w, const uint8_t* x) {
    return {dot_bytes(sum.v, _mm512_set1_epi32(four_bytes(x)), w)};
  }
};

}  // namespace cascade::avx512vnni
