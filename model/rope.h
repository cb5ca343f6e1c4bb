// Rotary position embedding (Su et al. 2021) with the scalings of Llama 3, YaRN and LongRoPE.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.h"

namespace cascade {

// The frequencies of one model, in f64: angles are exact to f64 and rounded to f32 once, since f32
// angles are off by 6e-4 at position 32,000 (rule R7). Immutable; any thread.
class RopeTable {
 public:
  // `rotary_dim` is the number of a head's dimensions that are rotated; even.
  RopeTable(const RopeConfig& config, int rotary_dim);

  // cos and sin of position * frequency, times the attention factor; [rotary_dim/2] each.
  void angles(int64_t position, float* cos, float* sin) const;

  const std::vector<double>& frequencies() const { return frequencies_; }  // [rotary_dim/2]

 private:
  std::vector<double> frequencies_;
  double attention_factor_;
};

}  // namespace cascade
