// aarch64 has the scalar kernels so far, and OpenBLAS.
#include "kernels/table.h"

namespace cascade {

const Kernels* vector_kernels(Isa /*isa*/) {
  return nullptr;
}

const char* openblas_core_type() {
  return nullptr;
}

}  // namespace cascade
