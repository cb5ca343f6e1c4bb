// Every aarch64 CPU has NEON; the further extensions of newer CPUs are not used.
#include "kernels/table.h"

namespace cascade {

const Kernels* vector_kernels(Isa isa) {
  return isa == Isa::kNeon ? &neon_kernels() : nullptr;
}

const char* openblas_core_type() {
  return nullptr;
}

}  // namespace cascade
