// Which instruction sets this CPU has, and their tables.
#include "kernels/kernels.h"
#include "kernels/kv_format.h"
#include "kernels/table.h"

namespace cascade {
namespace {

bool has_avx2() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
         __builtin_cpu_supports("f16c") != 0;
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}

Error lacks(Isa isa) {
  return unsupported("isa", "this CPU lacks the instructions of " + std::string(to_string(isa)));
}

}  // namespace

std::string_view to_string(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return "scalar";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kOpenblas:
      return "openblas";
  }
  return "scalar";
}

std::optional<Isa> isa_from_string(std::string_view name) {
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kOpenblas}) {
    if (to_string(isa) == name) return isa;
  }
  return std::nullopt;
}

size_t attention_scratch_floats(int head_dim) {
  const auto width = static_cast<size_t>(padded_head_dim(head_dim));
  return kAttentionRowsMax * (kTileKeys + 16 + 2 * width);
}

Isa best_isa() {
  if (has_avx512()) return Isa::kAvx512;
  return has_avx2() ? Isa::kAvx2 : Isa::kScalar;
}

Result<const Kernels*> kernels_for(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return &scalar_kernels();
    case Isa::kAvx2:
      if (!has_avx2()) return lacks(isa);
      return &avx2_kernels();
    case Isa::kAvx512:
      if (!has_avx512()) return lacks(isa);
      return &avx512_kernels();
    case Isa::kOpenblas: {
      ASSIGN_OR_RETURN(const Kernels* base, kernels_for(best_isa()));
      return openblas_kernels(*base);
    }
  }
  return unsupported("isa", "unknown instruction set");
}

}  // namespace cascade
