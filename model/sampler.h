// From logits to one token, deterministically: the choice depends on logits, parameters, seed and
// position, and on nothing else.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "kernels/kernels.h"

namespace cascade {

// Ranges are the caller's to check (wire/messages.h SamplingParams).
struct SamplerParams {
  double temperature = 0;  // 0 = the most likely token
  double top_p = 1;
  int32_t top_k = 0;  // 0 = off
  double min_p = 0;
  double repetition_penalty = 1;
  uint64_t seed = 0;
};

struct Sampled {
  int32_t token = 0;
  // Of `token` under the model itself: log softmax of the raw logits, before any parameter.
  float logprob = 0;
};

// Chooses the token at `position`. `logits` [vocab_size] is overwritten if repetition_penalty != 1;
// `history` is read only then: every token of it is penalised once (Keskar et al. 2019).
// Order as in Hugging Face: penalty, temperature, top-k, top-p, min-p, draw. Equal logits rank by
// id, so that ties are the same everywhere. Any thread.
// Errors: kDataCorrupt, field "logits", if they are not finite.
Result<Sampled> sample(std::span<float> logits, const SamplerParams& params,
                       std::span<const int32_t> history, int64_t position, const Kernels& kernels);

}  // namespace cascade
