// The latest slice tells how long the next one should be: both read nearly the same pages.
#include "cache/reader_slices.h"

#include <algorithm>
#include <cmath>

#include "cache/kv_view.h"

namespace cascade {
namespace {

// How much longer a slice computes than the previous one read: times vary.
constexpr double kMargin = 1.25;

// One slice's share of us_per_byte_.
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

void ReaderSlices::add(const Measured& slice) {
  const int64_t computing_us = slice.compute_us - slice.wait_us;
  if (slice.tokens <= 0 || computing_us <= 0 || slice.read_bytes <= 0 || slice.read_us <= 0) return;
  token_us_ = static_cast<double>(computing_us) / static_cast<double>(slice.tokens);
  read_us_ = static_cast<double>(slice.read_us);
  const double us_per_byte = read_us_ / static_cast<double>(slice.read_bytes);
  us_per_byte_ =
      us_per_byte_ == 0 ? us_per_byte : us_per_byte_ + kNewest * (us_per_byte - us_per_byte_);
}

int64_t ReaderSlices::tokens(int64_t most) const {
  double wanted = static_cast<double>(limits_.usual_tokens);
  if (token_us_ > 0) {
    const double quick = static_cast<double>(limits_.slice_us) / token_us_;
    wanted = std::max(std::min(wanted, quick), kMargin * read_us_ / token_us_);
  }
  const auto lowest = static_cast<double>(std::min(limits_.tokens_min, most));
  return whole_pages(static_cast<int64_t>(std::clamp(wanted, lowest, static_cast<double>(most))));
}

// The tokens that are read grow with the position, from 0 where the context fits memory.
double ReaderSlices::wait_us(const Rest& rest, int64_t memory_tokens, double token_bytes,
                             int64_t most) const {
  const int64_t begin = std::max(rest.begin, memory_tokens);
  if (begin >= rest.end) return 0;
  const double read_each = static_cast<double>(begin + rest.end - 2 * memory_tokens) / 2;
  const double slices =
      std::ceil(static_cast<double>(rest.end - begin) / static_cast<double>(tokens(most)));
  return std::max(0.0, slices * read_each * token_bytes * us_per_byte_ - rest.compute_us);
}

}  // namespace cascade
