// Which of the instruction sets an x86-64 CPU has.
#include <cpuid.h>

#include "kernels/table.h"

namespace cascade {
namespace {

// Asks the CPU itself, since __builtin_cpu_supports of Clang 14 does not know the name "f16c". The
// check of AVX2 shows that the system saves the registers.
bool has_f16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

bool has_avx2() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && has_f16c();
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}

bool has_avx512vnni() {
  return has_avx512() && __builtin_cpu_supports("avx512vnni") != 0;
}

}  // namespace

const Kernels* vector_kernels(Isa isa) {
  switch (isa) {
    case Isa::kAvx2: return has_avx2() ? &avx2_kernels() : nullptr;
    case Isa::kAvx512: return has_avx512() ? &avx512_kernels() : nullptr;
    case Isa::kAvx512Vnni: return has_avx512vnni() ? &avx512vnni_kernels() : nullptr;
    default: return nullptr;
  }
}

// OpenBLAS 0.3.21 falls back to SSE3 code on CPU models that it does not know.
const char* openblas_core_type() {
  if (__builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0) {
    return "SKYLAKEX";
  }
  return __builtin_cpu_supports("avx2") != 0 ? "Haswell" : nullptr;
}

}  // namespace cascade
