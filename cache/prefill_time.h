// How long prompt tokens take to compute: a later token costs more, since it attends to more
// tokens.
#pragma once

#include <array>
#include <cstdint>

#include "cache/attention_pages.h"

namespace cascade {

// A token at position p takes a + b p microseconds; a and b are fitted to the measured slices.
// Measurements are kept by position, so that many short prompts do not displace what long ones
// took, and the latest count most. One slice that took extremely long, or short, changes little.
// One thread.
class PrefillTime {
 public:
  // `growth` is the b/a to expect as long as the measured slices are too close together to tell
  // (see attention_growth()); at least 0. `layers` are the model's, at least 1.
  explicit PrefillTime(double growth = 0, int layers = 1) : growth_(growth), layers_(layers) {}

  // Notes that `tokens` tokens from `position` on were computed in one slice, in `compute_us`
  // microseconds. Has no effect if one of these makes no sense. Slices of fewer than 32 tokens
  // count only until there is a longer one: their time is that of reading the weights.
  void add(int64_t position, int64_t tokens, int64_t compute_us);

  // Microseconds that the tokens of positions [begin, end) take; 0 before the first measurement,
  // and for an empty range. `mode` is that of the tokens.
  double us(int64_t begin, int64_t end, const AttentionMode& mode = {}) const;
  // The same for `tokens` tokens whose positions add up to `positions`.
  double us_of(double tokens, double positions) const;

 private:
  struct Measured {
    double position = 0;  // of the measured tokens, on average
    double token_us = 0;
    int count = 0;  // slices; 0: nothing was measured here
  };
  void fit();

  // The first is for positions up to 256, the second up to 512, the third up to 1,024, and so on.
  std::array<Measured, 24> measured_;
  const double growth_;
  const int layers_;
  bool only_short_ = false;  // all measured slices were of a few tokens
  double first_us_ = 0;      // a
  double growth_us_ = 0;     // b
};

}  // namespace cascade
