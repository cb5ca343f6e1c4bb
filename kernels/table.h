// The tables of the instruction sets; dispatch.cc decides which of them may be called.
#pragma once

#include "kernels/kernels.h"

namespace cascade {

const Kernels& scalar_kernels();
const Kernels& avx2_kernels();        // call only on a CPU with AVX2, FMA and F16C
const Kernels& avx512_kernels();      // call only on a CPU with AVX-512 F, BW, DQ and VL
const Kernels& avx512vnni_kernels();  // and VNNI
const Kernels& neon_kernels();        // every aarch64 CPU

// These functions differ between architectures: kernels/x86, kernels/aarch64.
// The table of a set of vector instructions; null if this CPU lacks them.
const Kernels* vector_kernels(Isa isa);
// The CPU type that OpenBLAS must be told to use; null if its own choice is right.
const char* openblas_core_type();

// `base` with the matrix product of OpenBLAS, which is loaded on the first call.
// Errors: kUnsupported, field "isa", if the library is not installed.
Result<const Kernels*> openblas_kernels(const Kernels& base);

}  // namespace cascade
