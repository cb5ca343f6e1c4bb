// From logits to one token, deterministically: the choice depends on logits, parameters, seed and
// position, and on nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernels/kernels.h"
#include "model/token_history.h"

namespace cascade {

// Raised when the same logits and seed give another token than before.
inline constexpr uint32_t kSamplingVersion = 2;

// The caller checks the ranges (wire/messages.h SamplingParams).
struct SamplerParams {
  double temperature = 0;  // 0 = the most likely token
  double top_p = 1;
  int32_t top_k = 0;  // 0 = off
  double min_p = 0;
  double repetition_penalty = 1;
  uint64_t seed = 0;
  double presence_penalty = 0;
  double frequency_penalty = 0;
  // biases[i] is added to the logit of bias_tokens[i]. Both have the same length and belong to the
  // caller.
  std::span<const int32_t> bias_tokens = {};
  std::span<const float> biases = {};
  int32_t top_logprobs = 0;  // how many of the most likely tokens to report
  // The tokens that may be chosen: bit i % 64 of word i / 64 is token i, and at least one is set.
  // Empty: all. Belongs to the caller.
  std::span<const uint64_t> allowed = {};

  // Whether sample() reads the history.
  bool penalises() const {
    return repetition_penalty != 1 || presence_penalty != 0 || frequency_penalty != 0;
  }
};

struct Sampled {
  int32_t token = 0;
  // The logprob of `token` under the model itself: log softmax of the raw logits, before any
  // parameter.
  float logprob = 0;
  // The most likely tokens under the model itself, most likely first: top_logprobs of them, or the
  // whole vocabulary if it is smaller. `token` may or may not be among them.
  std::vector<int32_t> top_tokens = {};
  std::vector<float> top_logprobs = {};
};

// Chooses the token at `position`. `logits` [vocab_size] is overwritten if there are biases or
// penalties; tokens of biases and history outside the vocabulary are passed over.
//
// The order is that of Hugging Face's generate(), with the two penalties of OpenAI's API where vLLM
// has them:
//   1. biases are added;
//   2. repetition_penalty r divides the logit of every token of prompt and answer if the logit is
//      positive, and multiplies it otherwise, once (Keskar et al. 2019);
//   3. frequency_penalty times how often a token was generated is subtracted, and so is
//      presence_penalty if the token was generated at all (the prompt does not count);
//   4. tokens that are not allowed are left out;
//   5. temperature, top-k, top-p, min-p;
//   6. one draw, by random numbers that depend on seed, position and token.
// Equal logits rank by id, so that ties are the same everywhere. Any thread.
// Errors: kDataCorrupt, field "logits", if they are not finite.
Result<Sampled> sample(std::span<float> logits, const SamplerParams& params,
                       const TokenHistory& history, int64_t position, const Kernels& kernels);

}  // namespace cascade
