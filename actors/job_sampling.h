// Samples tokens as a job's wire::SampleSpec says.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "actors/engine.h"
#include "base/result.h"
#include "model/grammar/output_constraint.h"
#include "model/sampler.h"
#include "model/token_history.h"
#include "wire/messages.h"

namespace cascade {

SamplerParams sampler_params(const wire::SampleSpec& spec);

TokenHistory history_of(const wire::SampleSpec& spec);

// The compiled grammar that the spec's constraint refers to; null without a constraint. Errors:
// those of Model::grammar_vocabulary() and GrammarCache::get().
Result<std::shared_ptr<SharedGrammar>> grammar_of(Engine& engine, const wire::SampleSpec& spec);

// Builds the constraint from the tokens so far, so that it does not matter who computed them. Takes
// some 0.1 ms for 5,000 tokens. Errors: those of OutputConstraint::behind().
Result<OutputConstraint> constraint_of(const Model& model, std::shared_ptr<SharedGrammar> grammar,
                                       const wire::Constraint& spec);

// Calls sample(), restricted to the tokens that the constraint allows, if there is one
// (`constraint` may be nullptr). The constraint takes the token. Errors: those of sample() and of
// the constraint.
Result<Sampled> sample_allowed(std::span<float> logits, SamplerParams params,
                               const TokenHistory& history, int64_t position,
                               const Kernels& kernels, OutputConstraint* constraint);

// Samples the first token after a prompt, which is at `position`. Errors: as above.
Result<Sampled> sample_first(Engine& engine, const wire::SampleSpec& spec, std::span<float> logits,
                             int64_t position);

}  // namespace cascade
