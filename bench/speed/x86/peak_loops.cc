// One loop for each instruction set of x86-64 and each resource. Assembly keeps the compiler from
// removing them.
#include "bench/speed/peak_loops.h"

#include <immintrin.h>

#include "bench/speed/read_patterns.h"

namespace cascade::speed {
namespace {

// The number of independent chains: enough to hide the latency of an fma (4 cycles, two a cycle),
// and few enough to leave registers for the operands.
constexpr int kChains = 12;
#define CASCADE_CHAINS(before, after)                                                         \
  before "0" after before "1" after before "2" after before "3" after before "4" after before \
         "5" after before "6" after before "7" after before "8" after before "9" after before \
         "10" after before "11" after

// Runs `body` `steps` times on registers 0 to 15, which begin with 0.
#define CASCADE_ASM_LOOP(body)                                                              \
  asm volatile("1:\n\t" body "dec %0\n\tjnz 1b"                                             \
               : "+r"(steps)::"cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", \
                 "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")

[[gnu::target("avx512f")]] uint64_t read_avx512(ReadPattern pattern, const uint8_t* data,
                                                size_t bytes) {
  __m512i sum[4] = {};
  read_pattern(
      pattern, data, bytes, [&](const uint8_t* p) __attribute__((target("avx512f"))) {
        for (int i = 0; i < 4; ++i)
          sum[i] = _mm512_xor_si512(sum[i], _mm512_load_si512(p + 64 * i));
      });
  const __m512i all =
      _mm512_xor_si512(_mm512_xor_si512(sum[0], sum[1]), _mm512_xor_si512(sum[2], sum[3]));
  alignas(64) uint64_t words[8];
  _mm512_store_si512(words, all);
  return words[0] ^ words[1] ^ words[2] ^ words[3] ^ words[4] ^ words[5] ^ words[6] ^ words[7];
}

[[gnu::target("avx2")]] uint64_t read_avx2(ReadPattern pattern, const uint8_t* data, size_t bytes) {
  __m256i sum[4] = {};
  read_pattern(
      pattern, data, bytes, [&](const uint8_t* p) __attribute__((target("avx2"))) {
        const auto* from = reinterpret_cast<const __m256i*>(p);
        for (int i = 0; i < 8; ++i) sum[i % 4] = _mm256_xor_si256(sum[i % 4], from[i]);
      });
  const __m256i all =
      _mm256_xor_si256(_mm256_xor_si256(sum[0], sum[1]), _mm256_xor_si256(sum[2], sum[3]));
  return static_cast<uint64_t>(_mm256_extract_epi64(all, 0) ^ _mm256_extract_epi64(all, 1) ^
                               _mm256_extract_epi64(all, 2) ^ _mm256_extract_epi64(all, 3));
}

// A dirty upper half could make SSE code slow; and zeros are never denormal.
void clear_registers() {
  if (__builtin_cpu_supports("avx") != 0) asm volatile("vzeroall" ::: "memory");
}

void f32_avx512(int64_t steps) {
  clear_registers();
  CASCADE_ASM_LOOP(CASCADE_CHAINS("vfmadd231ps %%zmm15, %%zmm15, %%zmm", "\n\t"));
}

void f32_avx2(int64_t steps) {
  clear_registers();
  CASCADE_ASM_LOOP(CASCADE_CHAINS("vfmadd231ps %%ymm15, %%ymm15, %%ymm", "\n\t"));
}

void f32_sse(int64_t steps) {
  clear_registers();
  CASCADE_ASM_LOOP(CASCADE_CHAINS("mulps %%xmm15, %%xmm14\n\taddps %%xmm15, %%xmm", "\n\t"));
}

void int8_vnni(int64_t steps) {
  clear_registers();
  CASCADE_ASM_LOOP(CASCADE_CHAINS("vpdpbusd %%zmm15, %%zmm15, %%zmm", "\n\t"));
}

// Without VNNI a dot product of bytes takes three instructions; the last one adds.
void int8_avx512(int64_t steps) {
  clear_registers();
  CASCADE_ASM_LOOP(
      CASCADE_CHAINS("vpmaddubsw %%zmm15, %%zmm15, %%zmm14\n\t"
                     "vpmaddwd %%zmm15, %%zmm14, %%zmm14\n\t"
                     "vpaddd %%zmm14, %%zmm15, %%zmm",
                     "\n\t"));
}

void int8_avx2(int64_t steps) {
  clear_registers();
  CASCADE_ASM_LOOP(
      CASCADE_CHAINS("vpmaddubsw %%ymm15, %%ymm15, %%ymm14\n\t"
                     "vpmaddwd %%ymm15, %%ymm14, %%ymm14\n\t"
                     "vpaddd %%ymm14, %%ymm15, %%ymm",
                     "\n\t"));
}

// The baseline has no dot product of bytes; this one multiplies 16-bit numbers.
void int8_sse(int64_t steps) {
  clear_registers();
  CASCADE_ASM_LOOP(CASCADE_CHAINS("pmaddwd %%xmm15, %%xmm14\n\tpaddd %%xmm14, %%xmm", "\n\t"));
}

}  // namespace

PeakLoops peak_loops(Isa isa) {
  // Each lane of 32 bits does two operations; a lane has four bytes.
  const auto f32_flop = [](int lanes) { return kChains * lanes * 2; };
  const auto int8_op = [](int lanes) { return kChains * lanes * 4 * 2; };
  const bool avx512 = __builtin_cpu_supports("avx512bw") != 0;
  const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  switch (isa) {
    case Isa::kAvx512Vnni: return {read_avx512, f32_avx512, f32_flop(16), int8_vnni, int8_op(16)};
    case Isa::kAvx512: return {read_avx512, f32_avx512, f32_flop(16), int8_avx512, int8_op(16)};
    case Isa::kAvx2: return {read_avx2, f32_avx2, f32_flop(8), int8_avx2, int8_op(8)};
    case Isa::kOpenblas:
      if (avx512) return {read_avx512, f32_avx512, f32_flop(16), int8_avx512, int8_op(16)};
      if (avx2) return {read_avx2, f32_avx2, f32_flop(8), int8_avx2, int8_op(8)};
      [[fallthrough]];
    case Isa::kNeon:  // not on x86-64
    case Isa::kScalar: break;
  }
  return {read_words, f32_sse, f32_flop(4), int8_sse, int8_op(4) / 2};
}

}  // namespace cascade::speed
