// Frequencies of RoPE and their scalings, as the Hugging Face reference defines them.
#include "model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace cascade {
namespace {

// Llama 3.1: long wavelengths are stretched by `factor`, short ones kept, those between blended.
double llama3_frequency(double frequency, const RopeConfig& config) {
  const double wavelength = 2 * std::numbers::pi / frequency;
  const double longest_kept = config.original_context / config.high_freq_factor;
  const double shortest_stretched = config.original_context / config.low_freq_factor;
  if (wavelength < longest_kept) return frequency;
  if (wavelength > shortest_stretched) return frequency / config.factor;
  const double smooth = (config.original_context / wavelength - config.low_freq_factor) /
                        (config.high_freq_factor - config.low_freq_factor);
  return (1 - smooth) * frequency / config.factor + smooth * frequency;
}

// YaRN (Peng et al. 2023): the dimension whose wave turns `rotations` times over the original
// context.
double yarn_dimension(double rotations, const RopeConfig& config, int rotary_dim) {
  return rotary_dim * std::log(config.original_context / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(config.theta));
}

// For each dimension: 1 if it is interpolated in full (slow waves), 0 if it is kept (fast waves).
std::vector<double> yarn_interpolation(const RopeConfig& config, int rotary_dim) {
  double low = yarn_dimension(config.beta_fast, config, rotary_dim);
  double high = yarn_dimension(config.beta_slow, config, rotary_dim);
  if (config.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, rotary_dim - 1.0);
  if (low == high) high += 0.001;  // as the reference does, against division by zero
  std::vector<double> share(rotary_dim / 2);
  for (int i = 0; i < rotary_dim / 2; ++i)
    share[i] = std::clamp((i - low) / (high - low), 0.0, 1.0);
  return share;
}

}  // namespace

RopeTable::RopeTable(const RopeConfig& config, int rotary_dim)
    : frequencies_(rotary_dim / 2), attention_factor_(1) {
  for (int i = 0; i < rotary_dim / 2; ++i) {
    frequencies_[i] = std::pow(config.theta, -2.0 * i / rotary_dim);
  }
  switch (config.scaling) {
    case RopeScaling::kNone: break;
    case RopeScaling::kLinear:
      for (double& frequency : frequencies_) frequency /= config.factor;
      break;
    case RopeScaling::kProportional: {
      // Gemma 4: the last pairs do not rotate.
      const int moving = static_cast<int>(config.moving_share * rotary_dim / 2);
      for (int i = 0; i < rotary_dim / 2; ++i) {
        frequencies_[i] = i < moving ? frequencies_[i] / config.factor : 0;
      }
      break;
    }
    case RopeScaling::kLlama3:
      for (double& frequency : frequencies_) frequency = llama3_frequency(frequency, config);
      break;
    case RopeScaling::kYarn: {
      const std::vector<double> share = yarn_interpolation(config, rotary_dim);
      for (int i = 0; i < rotary_dim / 2; ++i) {
        frequencies_[i] =
            frequencies_[i] / config.factor * share[i] + frequencies_[i] * (1 - share[i]);
      }
      attention_factor_ = config.attention_factor;
      break;
    }
    case RopeScaling::kLongRope:
      for (int i = 0; i < rotary_dim / 2; ++i) frequencies_[i] /= double{config.divisors[i]};
      attention_factor_ = config.attention_factor;
      break;
  }
}

void RopeTable::angles(int64_t position, float* cos, float* sin) const {
  for (size_t i = 0; i < frequencies_.size(); ++i) {
    const double angle = static_cast<double>(position) * frequencies_[i];
    cos[i] = static_cast<float>(std::cos(angle) * attention_factor_);
    sin[i] = static_cast<float>(std::sin(angle) * attention_factor_);
  }
}

}  // namespace cascade
