// Which instruction sets this CPU has, and their tables.
#include "kernels/kernels.h"

#include <cpuid.h>

#include <algorithm>

#include "kernels/kv_format.h"
#include "kernels/quantized_rows.h"
#include "kernels/table.h"

namespace cascade {
namespace {

// Asked of the CPU itself: __builtin_cpu_supports of Clang 14 does not know the name. That the
// system keeps the registers follows from AVX2.
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

Error lacks(Isa isa) {
  return unsupported("isa", "this CPU lacks the instructions of " + std::string(to_string(isa)));
}

}  // namespace

std::string_view to_string(Isa isa) {
  switch (isa) {
    case Isa::kScalar: return "scalar";
    case Isa::kAvx2: return "avx2";
    case Isa::kAvx512: return "avx512";
    case Isa::kAvx512Vnni: return "avx512vnni";
    case Isa::kOpenblas: return "openblas";
  }
  return "unknown";
}

std::optional<Isa> isa_from_string(std::string_view name) {
  for (const Isa isa : kIsas) {
    if (to_string(isa) == name) return isa;
  }
  return std::nullopt;
}

namespace {

constexpr size_t kExpandedBytes = 256 << 10;  // beside the rows of a pass (generic/quantized.h)

size_t expanded_panel_bytes(int k) {
  return static_cast<size_t>(row_groups(k)) * kGroup * kPanelChannels;
}

}  // namespace

int expanded_panels(int k) {
  return std::clamp(static_cast<int>(kExpandedBytes / expanded_panel_bytes(k)) / 2 * 2, 2, 8);
}

size_t quantized_gemm_scratch_bytes(int k) {
  const size_t panel = expanded_panel_bytes(k);
  return std::min(8 * panel, std::max(kExpandedBytes, 2 * panel));
}

size_t attention_scratch_floats(int head_dim) {
  const auto width = static_cast<size_t>(padded_head_dim(head_dim));
  // generic/attention_scratch.h: scores, sums, values; probabilities and queries as bytes; scalars.
  const size_t row = kTileKeys + 2 * width + 2 * kTileKeys / 4 + width / 4 + 11;
  return kAttentionRowsMax * row;
}

Isa best_isa() {
  if (has_avx512vnni()) return Isa::kAvx512Vnni;
  if (has_avx512()) return Isa::kAvx512;
  return has_avx2() ? Isa::kAvx2 : Isa::kScalar;
}

Result<const Kernels*> kernels_for(Isa isa) {
  switch (isa) {
    case Isa::kScalar: return &scalar_kernels();
    case Isa::kAvx2:
      if (!has_avx2()) return lacks(isa);
      return &avx2_kernels();
    case Isa::kAvx512:
      if (!has_avx512()) return lacks(isa);
      return &avx512_kernels();
    case Isa::kAvx512Vnni:
      if (!has_avx512vnni()) return lacks(isa);
      return &avx512vnni_kernels();
    case Isa::kOpenblas: {
      ASSIGN_OR_RETURN(const Kernels* base, kernels_for(best_isa()));
      return openblas_kernels(*base);
    }
  }
  return unsupported("isa", "unknown instruction set");
}

}  // namespace cascade
