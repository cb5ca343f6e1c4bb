// Which instruction sets this CPU has, and their tables.
#include "kernels/kernels.h"

#include <algorithm>

#include "kernels/attention_totals.h"
#include "kernels/kv_format.h"
#include "kernels/quantized_rows.h"
#include "kernels/table.h"

namespace cascade {
namespace {

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
    case Isa::kNeon: return "neon";
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

constexpr size_t kExpandedBytes = 256 << 10;  // The expanded panels share the cache with the rows
                                              // of a pass (generic/quantized.h).

size_t expanded_panel_bytes(int k) {
  return static_cast<size_t>(row_groups(k)) * kGroup * kPanelChannels;
}

}  // namespace

int expanded_panels(int k) {
  return std::clamp(static_cast<int>(kExpandedBytes / expanded_panel_bytes(k)) / 2 * 2, 2, 8);
}

size_t quantized_gemm_scratch_bytes(int k) {
  const size_t panel = expanded_panel_bytes(k);
  const size_t weights = std::min(8 * panel, std::max(kExpandedBytes, 2 * panel));
  return weights + weights / 4;  // records have scales as f32, too (generic/records.h)
}

size_t attention_scratch_floats(int head_dim) {
  const auto width = static_cast<size_t>(padded_head_dim(head_dim));
  // generic/attention_scratch.h: scores, sums, values; probabilities and queries as bytes; scalars.
  const size_t row = kTileKeys + 2 * width + 2 * kTileKeys / 4 + width / 4 + 11;
  return kAttentionRowsMax * row;
}

size_t attention_total_floats(int head_dim) {
  return kTotalValues + static_cast<size_t>(padded_head_dim(head_dim));
}

Isa best_isa() {
  for (const Isa isa : {Isa::kAvx512Vnni, Isa::kAvx512, Isa::kAvx2, Isa::kNeon}) {
    if (vector_kernels(isa) != nullptr) return isa;
  }
  return Isa::kScalar;
}

Isa default_isa() {
  const Isa best = best_isa();
  // Look for the library only where it may be used.
  return default_isa(best, best == Isa::kScalar && kernels_for(Isa::kOpenblas).ok());
}

Result<const Kernels*> kernels_for(Isa isa) {
  if (isa == Isa::kScalar) return &scalar_kernels();
  if (isa == Isa::kOpenblas) {
    ASSIGN_OR_RETURN(const Kernels* base, kernels_for(best_isa()));
    return openblas_kernels(*base);
  }
  const Kernels* const kernels = vector_kernels(isa);
  if (kernels == nullptr) return lacks(isa);
  return kernels;
}

}  // namespace cascade
