// Turns jobs into answers, without sockets, so that tests can call these functions directly.
#include "actors/engine.h"

#include <algorithm>
#include <memory>

#include "actors/job_pages.h"
#include "base/clock.h"
#include "model/conversation.h"
#include "model/grammar/compile.h"
#include "model/grammar/vocabulary.h"
#include "model/page_choice.h"
#include "model/sampler.h"

namespace cascade {
namespace {

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

// The compiled grammar that the spec's constraint refers to; null without a constraint.
Result<std::shared_ptr<SharedGrammar>> grammar_of(Engine& engine, const wire::SampleSpec& spec) {
  if (!spec.constraint) return std::shared_ptr<SharedGrammar>();
  const Result<GrammarVocabulary>& vocabulary = engine.model.grammar_vocabulary();
  if (!vocabulary.ok()) return vocabulary.error();
  const wire::Grammar& grammar = spec.constraint->grammar;
  return engine.grammars.get(grammar.kind, grammar.schema, *vocabulary);
}

// Builds the constraint from the tokens so far, so that it does not matter who computed them. Takes
// some 0.1 ms for 5,000 tokens.
Result<OutputConstraint> constraint_of(const Model& model, std::shared_ptr<SharedGrammar> grammar,
                                       const wire::Constraint& spec) {
  const Thoughts thoughts = spec.inside_think ? Thoughts::kBegun
                            : spec.may_think  ? Thoughts::kMayCome
                                              : Thoughts::kNone;
  return OutputConstraint::behind(std::move(grammar), *model.grammar_vocabulary(), thoughts,
                                  spec.tokens, spec.goes_on);
}

// Calls sample(), restricted to the tokens that the constraint allows, if there is one.
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

// A sequence of a decode job while it runs.
struct Running {
  const wire::DecodeSequence* job;
  std::unique_ptr<JobPages> pages;
  int32_t token;  // the next to feed
  int64_t position;
  SamplerParams params;
  TokenHistory history;  // grows with every step of the burst
  std::shared_ptr<SharedGrammar> grammar;
  std::optional<OutputConstraint> constraint;  // advances with every step, too
  wire::DecodedSequence result;

  bool done() const {
    const auto& sampled = result.token_ids;
    if (result.error || result.lost_page) return true;
    if (static_cast<int32_t>(sampled.size()) >= job->steps_max) return true;
    return !sampled.empty() &&
           std::ranges::find(job->end_tokens, sampled.back()) != job->end_tokens.end();
  }
};

void take(Running& running, const Sampled& sampled) {
  wire::DecodedSequence& result = running.result;
  running.token = sampled.token;
  ++running.position;
  result.token_ids.push_back(sampled.token);
  result.logprobs.push_back(sampled.logprob);
  const auto& tops = sampled.top_tokens;
  result.top_token_ids.insert(result.top_token_ids.end(), tops.begin(), tops.end());
  const auto& logprobs = sampled.top_logprobs;
  result.top_logprobs.insert(result.top_logprobs.end(), logprobs.begin(), logprobs.end());
  if (running.params.penalises()) running.history.add_generated(sampled.token);
}

// Counts the tokens that were fed and selected pages, as the forward pass does.
void count_selected(const ModelConfig& config, std::span<Running* const> fed) {
  for (Running* running : fed) {
    const bool selected =
        selects_somewhere(running->job->attention, running->position, config.window);
    if (selected) ++running->result.selected_tokens;
  }
}

// Ends the first sequence whose pages could not be read.
void end_unread(std::span<Running* const> active) {
  const auto failed =
      std::ranges::find_if(active, [](const Running* running) { return running->pages->failed(); });
  CHECK(failed != active.end());
  (*failed)->result.lost_page = (*failed)->pages->lost_page();
  (*failed)->result.error = (*failed)->pages->error();
}

// Feeds the next token of each sequence that is not done; `hidden` receives their hidden states.
// Returns these sequences, without those that end because their pages cannot be read.
std::vector<Running*> feed(Engine& engine, std::vector<Running>& all, std::vector<float>& hidden) {
  while (true) {
    std::vector<Running*> active;
    std::vector<Slice> slices;
    for (Running& running : all) {
      if (running.done()) continue;
      active.push_back(&running);
      slices.push_back({std::span(&running.token, 1), running.position, running.pages->addresses(),
                        1, running.pages->absent(), running.job->attention});
    }
    hidden.resize(active.size() * engine.model.config.hidden_size);
    if (active.empty() || engine.transformer.forward(slices, hidden.data()).ok()) {
      count_selected(engine.model.config, active);
      return active;
    }
    end_unread(active);
  }
}

// Does one step of the sequences that are not done; false if all are done.
bool decode_step(Engine& engine, std::vector<Running>& all) {
  std::vector<float> hidden;
  const std::vector<Running*> active = feed(engine, all, hidden);
  if (active.empty()) return false;
  const auto rows = static_cast<int>(active.size());
  const size_t vocab = engine.model.config.vocab_size;
  std::vector<float> logits(active.size() * vocab);
  engine.transformer.logits(hidden.data(), rows, logits.data());
  engine.pool.run(rows, [&](int row, int) {
    Running& running = *active[row];
    const auto sampled =
        sample_allowed(std::span(logits).subspan(row * vocab, vocab), running.params,
                       running.history, running.position + 1, *engine.model.kernels,
                       running.constraint ? &*running.constraint : nullptr);
    if (sampled.ok()) {
      take(running, *sampled);
    } else {
      running.result.error = sampled.error();
    }
  });
  return true;
}

// Checks the grammar before anything is computed for the job.
Status check_grammar(const Model& model, const wire::EncodeJob& job) {
  if (!job.grammar) return {};
  const Result<GrammarVocabulary>& vocabulary = model.grammar_vocabulary();
  if (!vocabulary.ok()) return vocabulary.error();
  auto compiled = compile_grammar(job.grammar->kind, job.grammar->schema, "grammar.schema");
  return compiled.ok() ? Status() : compiled.error();
}

// Samples the first token after a prompt.
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

// Sets up the state that depends on the tokens so far. Takes half a millisecond for penalties that
// look at 16,384 tokens, of which 8,192 are distinct.
void begin(Engine& engine, Running& running) {
  const wire::SampleSpec& spec = running.job->sample;
  running.history = history_of(spec);
  if (running.grammar == nullptr) return;
  auto constraint = constraint_of(engine.model, running.grammar, *spec.constraint);
  if (constraint.ok()) {
    running.constraint = *std::move(constraint);
  } else {
    running.result.error = constraint.error();
  }
}

}  // namespace

wire::EncodeDone run_encode(const Model& model, const wire::EncodeJob& job) {
  wire::EncodeDone done;
  done.job = job.job;
  if (const Status usable = check_grammar(model, job); !usable.ok()) {
    done.error = usable.error();
    return done;
  }
  ConversationContext context = {model.tokenizer, model.templates, job.thinking, job.now_unix_s};
  if (!job.tools.empty()) {
    auto tools = parse_ordered_json(job.tools, "tools");
    if (!tools.ok()) {
      done.error = tools.error();
      return done;
    }
    context.tools = *std::move(tools);
  }
  const auto store = [&](auto&& ids) {
    if (ids.ok()) {
      done.token_ids = *std::move(ids);
    } else {
      done.error = ids.error();
    }
  };
  switch (job.mode) {
    case wire::EncodeJob::Mode::kRaw:
      if (job.token_ids.empty()) {
        store(encode_raw(model.tokenizer, job.raw));
      } else {
        done.token_ids = job.token_ids;
      }
      break;
    case wire::EncodeJob::Mode::kText:
      store(model.tokenizer.encode(job.raw, /*trusted=*/false, /*with_template=*/false));
      break;
    case wire::EncodeJob::Mode::kHistory:
      store(encode_history(context, job.messages, job.follower));
      break;
    case wire::EncodeJob::Mode::kBeginning: store(encode_beginning(context, job.messages)); break;
    case wire::EncodeJob::Mode::kPrompt: {
      auto prompt = encode_prompt(context, job.messages, job.goes_on);
      if (!prompt.ok()) {
        done.error = prompt.error();
        break;
      }
      done.token_ids = std::move(prompt->token_ids);
      done.generation_prefix = std::move(prompt->generation_prefix);
      done.inside_think = prompt->inside_think;
      if (job.show_text) done.text = std::move(prompt->text);
      break;
    }
  }
  if (done.token_ids.size() > wire::kNumbersMax) {
    done.tokens_left_out = std::ssize(done.token_ids);
    done.token_ids = {};
  }
  return done;
}

wire::PrefillDone run_prefill(Engine& engine, const wire::PrefillJob& job) {
  const int64_t start_us = system_clock().monotonic_us();
  wire::PrefillDone done;
  done.job = job.job;
  JobPages pages(engine.arena, engine.model.kv_layout, engine.files, job.pages);
  const Slice slice = {job.token_ids,      job.position,   pages.addresses(),
                       job.sample ? 1 : 0, pages.absent(), job.attention};
  std::vector<float> hidden(engine.model.config.hidden_size);
  const int64_t selected_before = engine.transformer.selected_tokens();
  const Status computed = engine.transformer.forward(std::span(&slice, 1), hidden.data());
  done.selected_tokens = engine.transformer.selected_tokens() - selected_before;
  CHECK(computed.ok() || pages.failed());
  done.read_bytes = pages.reading().bytes;
  done.read_us = pages.reading().read_us;
  done.read_wait_us = pages.reading().wait_us;
  done.lost_page = pages.lost_page();
  done.error = pages.error();
  if (job.sample && computed.ok()) {
    std::vector<float> logits(engine.model.config.vocab_size);
    engine.transformer.logits(hidden.data(), 1, logits.data());
    const int64_t next = job.position + static_cast<int64_t>(job.token_ids.size());
    auto sampled = sample_first(engine, *job.sample, logits, next);
    engine.grammars.shrink();
    if (sampled.ok()) {
      done.token = sampled->token;
      done.logprob = sampled->logprob;
      done.top_token_ids = std::move(sampled->top_tokens);
      done.top_logprobs = std::move(sampled->top_logprobs);
    } else {
      done.error = sampled.error();
    }
  }
  done.compute_us = system_clock().monotonic_us() - start_us;
  return done;
}

wire::DecodeDone run_decode(Engine& engine, const wire::DecodeJob& job) {
  const int64_t start_us = system_clock().monotonic_us();
  wire::DecodeDone done;
  done.job = job.job;
  std::vector<Running> all;
  for (const wire::DecodeSequence& sequence : job.sequences) {
    all.push_back({&sequence,
                   std::make_unique<JobPages>(engine.arena, engine.model.kv_layout, engine.files,
                                              sequence.pages),
                   sequence.token,
                   sequence.position,
                   sampler_params(sequence.sample),
                   {},
                   {},
                   {},
                   {.sequence = sequence.sequence,
                    .token_ids = {},
                    .logprobs = {},
                    .top_token_ids = {},
                    .top_logprobs = {},
                    .error = {},
                    .lost_page = {},
                    .selected_tokens = 0}});
    auto grammar = grammar_of(engine, sequence.sample);
    if (grammar.ok()) {
      all.back().grammar = *std::move(grammar);
    } else {
      all.back().result.error = grammar.error();
    }
  }
  engine.pool.run(static_cast<int>(all.size()), [&](int i, int) { begin(engine, all[i]); });
  while (done.steps < job.steps_max && decode_step(engine, all)) ++done.steps;
  for (Running& running : all) {
    const std::optional<Error>& error = running.result.error;
    // The fault is in the model, not in the sequence.
    if (error && error->code == ErrorCode::kDataCorrupt) done.error = error;
    done.sequences.push_back(std::move(running.result));
  }
  all.clear();
  engine.grammars.shrink();
  done.compute_us = system_clock().monotonic_us() - start_us;
  return done;
}

}  // namespace cascade
