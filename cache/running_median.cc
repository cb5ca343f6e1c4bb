// Finds the median by selection in a copy of the window.
#include "cache/running_median.h"

#include <algorithm>

namespace cascade {

void RunningMedian::add(double number) {
  numbers_[count_++ % kWindow] = number;
  if (count_ % kStep != 0) return;
  std::array<double, kWindow> sorted = numbers_;
  const auto end = sorted.begin() + static_cast<ptrdiff_t>(std::min(count_, kWindow));
  const auto middle = sorted.begin() + (end - sorted.begin()) / 2;
  std::nth_element(sorted.begin(), middle, end);
  median_ = *middle;
}

}  // namespace cascade
