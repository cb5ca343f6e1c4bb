// The state of a generation is made from the tokens that the job names.
#include "actors/job_sampling.h"

#include <utility>

#include "base/check.h"

namespace cascade {

SamplerParams sampler_params(const wire::SampleSpec& spec) {
  return {.temperature = spec.temperature,
          .top_p = spec.top_p,
          .top_k = spec.top_k,
          .min_p = spec.min_p,
          .repetition_penalty = spec.repetition_penalty,
          .seed = spec.seed,
          .presence_penalty = spec.presence_penalty,
          .frequency_penalty = spec.frequency_penalty,
          .bias_tokens = spec.bias_tokens,
          .biases = spec.biases,
          .top_logprobs = spec.top_logprobs};
}

TokenHistory history_of(const wire::SampleSpec& spec) {
  const std::span<const int32_t> all = spec.history;
  const auto prompt = static_cast<size_t>(spec.history_prompt_tokens);
  CHECK(prompt <= all.size());
  return {all.first(prompt), all.subspan(prompt)};
}

Result<std::shared_ptr<SharedGrammar>> grammar_of(Engine& engine, const wire::SampleSpec& spec) {
  if (!spec.constraint) return std::shared_ptr<SharedGrammar>();
  const Result<GrammarVocabulary>& vocabulary = engine.model.grammar_vocabulary();
  if (!vocabulary.ok()) return vocabulary.error();
  const wire::Grammar& grammar = spec.constraint->grammar;
  // An answer that goes on with a text has no header before it.
  const AnswerForm form = spec.constraint->goes_on ? AnswerForm::kTagged : vocabulary->form;
  return engine.grammars.get(grammar.kind, grammar.schema, *vocabulary, form);
}

Result<OutputConstraint> constraint_of(const Model& model, std::shared_ptr<SharedGrammar> grammar,
                                       const wire::Constraint& spec) {
  const GrammarVocabulary& vocabulary = *model.grammar_vocabulary();
  // The thoughts of harmony are in the grammar.
  const bool in_grammar = has_thoughts(vocabulary.form);
  const Thoughts thoughts = in_grammar          ? Thoughts::kNone
                            : spec.inside_think ? Thoughts::kBegun
                            : spec.may_think    ? Thoughts::kMayCome
                                                : Thoughts::kNone;
  return OutputConstraint::behind(std::move(grammar), vocabulary, thoughts, spec.tokens,
                                  spec.goes_on);
}

Result<Sampled> sample_allowed(std::span<float> logits, SamplerParams params,
                               const TokenHistory& history, int64_t position,
                               const Kernels& kernels, OutputConstraint* constraint) {
  if (constraint == nullptr) return sample(logits, params, history, position, kernels);
  ASSIGN_OR_RETURN(const auto allowed, constraint->allowed());
  params.allowed = allowed->words;
  ASSIGN_OR_RETURN(Sampled sampled, sample(logits, params, history, position, kernels));
  RETURN_IF_ERROR(constraint->take(sampled.token));
  return sampled;
}

Result<Sampled> sample_first(Engine& engine, const wire::SampleSpec& spec, std::span<float> logits,
                             int64_t position) {
  ASSIGN_OR_RETURN(const auto grammar, grammar_of(engine, spec));
  std::optional<OutputConstraint> constraint;
  if (grammar) {
    ASSIGN_OR_RETURN(constraint, constraint_of(engine.model, grammar, *spec.constraint));
  }
  return sample_allowed(logits, sampler_params(spec), history_of(spec), position,
                        *engine.model.kernels, constraint ? &*constraint : nullptr);
}

}  // namespace cascade
