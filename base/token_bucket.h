// Limits how often something may happen: by a rate, and by how many times at once.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cascade {

// The bucket is full at first. One thread.
class TokenBucket {
 public:
  // per_s > 0; at_once_max >= 1.
  TokenBucket(double per_s, double at_once_max)
      : per_s_(per_s), at_once_max_(at_once_max), tokens_(at_once_max) {}

  // Takes a token; false if there is none. A time before the latest one counts as the latest one.
  bool take(int64_t now_us) {
    const double passed_s = static_cast<double>(std::max<int64_t>(0, now_us - filled_us_)) / 1e6;
    tokens_ = std::min(at_once_max_, tokens_ + passed_s * per_s_);
    filled_us_ = std::max(filled_us_, now_us);
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

 private:
  const double per_s_;
  const double at_once_max_;
  double tokens_;
  int64_t filled_us_ = 0;
};

}  // namespace cascade
