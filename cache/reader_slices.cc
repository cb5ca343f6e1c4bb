// The disk's measured speed and the measured speed of computing say how long slices should be.
#include "cache/reader_slices.h"

#include <algorithm>
#include <cmath>

#include "cache/kv_view.h"

namespace cascade {
namespace {

// How much longer a slice computes than it reads: times vary.
constexpr double kMargin = 1.25;

// The share of the newest slice in the measured speed.
constexpr double kNewest = 0.25;

// The part of the memory that slices longer than usual may take.
constexpr int64_t kPartOfMemory = 8;

int64_t whole_pages(int64_t tokens) {
  return std::max<int64_t>(1, tokens / kPageTokens) * kPageTokens;
}

}  // namespace

int64_t reader_slice_tokens_max(int64_t pool_pages, const ReaderSliceLimits& limits) {
  const int64_t affordable = pool_pages / kPartOfMemory / kReaderSliceStages * kPageTokens;
  return std::clamp(affordable, std::min(limits.usual_tokens, limits.tokens_max),
                    limits.tokens_max);
}

void ReaderSlices::add_read(int64_t bytes, int64_t us) {
  if (bytes <= 0 || us <= 0) return;
  const double now = static_cast<double>(us) / static_cast<double>(bytes);
  us_per_byte_ = us_per_byte_ == 0 ? now : us_per_byte_ + kNewest * (now - us_per_byte_);
}

int64_t ReaderSlices::next_tokens(const Costs& costs, int64_t most) const {
  double wanted = static_cast<double>(limits_.usual_tokens);
  if (costs.token_us > 0) {
    const double quick = static_cast<double>(limits_.slice_us) / costs.token_us;
    const double hidden = kMargin * costs.read_bytes * us_per_byte_ / costs.token_us;
    wanted = std::max(std::min(wanted, quick), hidden);
  }
  const auto lowest = static_cast<double>(std::min(limits_.tokens_min, most));
  return whole_pages(static_cast<int64_t>(std::clamp(wanted, lowest, static_cast<double>(most))));
}

double ReaderSlices::wait_us(int64_t tokens, const Costs& costs, int64_t most) const {
  const auto each = static_cast<double>(next_tokens(costs, most));
  const double slices = std::ceil(static_cast<double>(tokens) / each);
  const double computing_us = static_cast<double>(tokens) * costs.token_us;
  return std::max(0.0, slices * costs.read_bytes * us_per_byte_ - computing_us);
}

}  // namespace cascade
