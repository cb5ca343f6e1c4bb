// Contexts are tried in powers of two, as published models have them.
#include "model/gguf/frequency_factors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "model/rope.h"

namespace cascade {
namespace {

constexpr std::string_view kFrequencyFactors = "rope_freqs.weight";
// Llama 3's scaling has these parameters in all published models.
constexpr double kLlama3LowFactor = 1;
constexpr double kLlama3HighFactor = 4;
constexpr double kLlama3ContextMin = 64;  // 8,192 in published models
constexpr double kLlama3ContextMax = 1 << 24;
// The factors in files were computed in f32.
constexpr double kFactorTolerance = 1e-4;

// Whether RoPE scaled so divides the frequencies by these factors.
bool gives(const RopeConfig& scaled, const ModelConfig& config, const std::vector<float>& factors) {
  const RopeTable before(config.rope, config.head_dim);
  const RopeTable after(scaled, config.head_dim);
  for (size_t i = 0; i < factors.size(); ++i) {
    const double factor = before.frequencies()[i] / after.frequencies()[i];
    if (!(std::abs(factor - factors[i]) <= kFactorTolerance * factor)) return false;
  }
  return true;
}

}  // namespace

Status read_frequency_factors(const GgufFiles& files, bool may_scale, ModelConfig& config) {
  const std::string name(kFrequencyFactors);
  const auto [tensor, bytes] = files.find(name);
  if (tensor == nullptr) return {};
  const auto count = static_cast<size_t>(config.head_dim / 2);
  if (tensor->type != TensorType::kF32 || bytes.size() != count * sizeof(float)) {
    return invalid_argument(name, "must have head_dim / 2 values of type F32");
  }
  std::vector<float> factors(count);
  std::memcpy(factors.data(), bytes.data(), bytes.size());
  if (std::ranges::all_of(factors, [](float factor) { return factor == 1; })) return {};
  RopeConfig scaled = config.rope;
  scaled.scaling = RopeScaling::kLlama3;
  scaled.factor = factors.back();
  scaled.low_freq_factor = kLlama3LowFactor;
  scaled.high_freq_factor = kLlama3HighFactor;
  const bool is_plain = config.rope.scaling == RopeScaling::kNone && may_scale && scaled.factor > 1;
  for (double context = kLlama3ContextMin; is_plain && context <= kLlama3ContextMax; context *= 2) {
    scaled.original_context = context;
    if (!gives(scaled, config, factors)) continue;
    config.rope = scaled;
    return {};
  }
  return unsupported(name,
                     "does not hold the frequencies of Llama 3's scaling, the only one that is "
                     "supported in this form");
}

}  // namespace cascade
