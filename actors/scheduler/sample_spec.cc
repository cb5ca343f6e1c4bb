// Fills in the settings that sampling needs and a request may leave open.
#include "actors/scheduler/sample_spec.h"

#include "wire/conversation_rules.h"

namespace cascade {

wire::SampleSpec sample_spec(const wire::GenerateRequest& params, const GenerationConfig& defaults,
                             const std::function<uint64_t()>& random) {
  const wire::SamplingParams& given = params.sampling;
  wire::SampleSpec spec;
  spec.temperature = given.temperature.value_or(defaults.do_sample ? defaults.temperature : 0);
  spec.top_p = given.top_p.value_or(defaults.do_sample ? defaults.top_p : 1);
  spec.top_k = given.top_k.value_or(defaults.do_sample ? defaults.top_k : 0);
  spec.min_p = given.min_p.value_or(defaults.do_sample ? defaults.min_p : 0);
  spec.repetition_penalty = given.repetition_penalty.value_or(defaults.repetition_penalty);
  spec.seed = given.seed ? *given.seed : random();
  spec.presence_penalty = given.presence_penalty.value_or(0);
  spec.frequency_penalty = given.frequency_penalty.value_or(0);
  for (const wire::LogitBias& entry : given.logit_bias) {
    spec.bias_tokens.push_back(entry.token);
    spec.biases.push_back(static_cast<float>(entry.bias));
  }
  spec.top_logprobs = params.top_logprobs;
  if (const auto& grammar = params.grammar) {
    spec.constraint.emplace();
    spec.constraint->grammar = *grammar;
    spec.constraint->may_think = params.thinking.value_or(true);
    spec.constraint->goes_on = wire::goes_on_with_text(params);
  }
  return spec;
}

}  // namespace cascade
