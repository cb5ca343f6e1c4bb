// What all instruction sets share of the choice of pages.
#include "kernels/page_choice.h"

#include <array>
#include <cmath>

#include "kernels/generic/page_choice_scratch.h"
#include "kernels/kv_format.h"

namespace cascade {

size_t choose_pages_scratch_floats(int head_dim, int rows, int heads, int pages) {
  return generic::PageChoiceScratch::floats(head_dim, rows, heads, pages);
}

const float* cluster_logs() {
  static const auto kLogs = [] {
    std::array<float, 256> logs;
    logs.fill(-INFINITY);
    for (int n = 1; n <= kKvBlockTokens; ++n) logs[n] = static_cast<float>(std::log(double(n)));
    return logs;
  }();
  return kLogs.data();
}

}  // namespace cascade
