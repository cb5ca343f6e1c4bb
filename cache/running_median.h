// The median of the latest numbers of a stream.
#pragma once

#include <array>
#include <cstddef>

namespace cascade {

// The median of the last kWindow numbers, updated every kStep of them. A median of a sliding window
// is exact, needs no tuning, and costs a selection over 4 KiB now and then. One thread.
class RunningMedian {
 public:
  static constexpr size_t kWindow = 512;
  static constexpr size_t kStep = 32;

  // `initial` is the median until the first kStep numbers have come.
  explicit RunningMedian(double initial) : median_(initial) {}

  void add(double number);
  double value() const { return median_; }

 private:
  std::array<double, kWindow> numbers_{};  // a ring
  size_t count_ = 0;                       // ever added
  double median_;
};

}  // namespace cascade
