// One loop per resource of an aarch64 CPU. Assembly keeps the compiler from removing them.
#include "bench/speed/peak_loops.h"

#include "bench/speed/read_patterns.h"

namespace cascade::speed {
namespace {

// The number of independent chains: enough to hide the latency of an fma (4 cycles, up to four a
// cycle).
constexpr int kChains = 16;
#define CASCADE_CHAINS(before, after)                                                              \
  before "0" after before "1" after before "2" after before "3" after before "4" after before      \
         "5" after before "6" after before "7" after before "8" after before "9" after before      \
         "10" after before "11" after before "12" after before "13" after before "14" after before \
         "15" after

// Runs `body` `steps` times on registers 0 to 15. These and register 31 are 0 at first; register 30
// is free for any use.
#define CASCADE_ASM_LOOP(body) \
  asm volatile(CASCADE_CHAINS("movi v", ".4s, #0\n\t") "movi v31.4s, #0\n\t"                      \
               "1:\n\t" body "subs %0, %0, #1\n\tb.ne 1b"                                         \
               : "+r"(steps)::"cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9",   \
                 "v10", "v11", "v12", "v13", "v14", "v15", "v30", "v31")

void f32_neon(int64_t steps) {
  CASCADE_ASM_LOOP(CASCADE_CHAINS("fmla v", ".4s, v31.4s, v31.4s\n\t"));
}

// Armv8.0 has no dot product of bytes: smull multiplies eight pairs, and sadalp adds the products
// in twos.
void int8_neon(int64_t steps) {
  CASCADE_ASM_LOOP(CASCADE_CHAINS("smull v30.8h, v31.8b, v31.8b\n\tsadalp v", ".4s, v30.8h\n\t"));
}

}  // namespace

PeakLoops peak_loops(Isa /*isa*/) {
  // An addition and a multiplication for each of 4 lanes, or of 8 pairs of bytes.
  return {read_words, f32_neon, kChains * 4 * 2, int8_neon, kChains * 8 * 2};
}

}  // namespace cascade::speed
