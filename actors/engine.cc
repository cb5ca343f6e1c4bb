// Jobs in, answers out: no sockets, so that tests call these directly.
#include "actors/engine.h"

#include <algorithm>

#include "base/clock.h"
#include "model/conversation.h"
#include "model/sampler.h"

namespace cascade {
namespace {

std::vector<uint8_t*> page_addresses(const PageArena& arena, std::span<const uint32_t> pages) {
  std::vector<uint8_t*> addresses;
  addresses.reserve(pages.size());
  for (const uint32_t page : pages) addresses.push_back(arena.data(page));
  return addresses;
}

SamplerParams sampler_params(const wire::SampleSpec& spec) {
  return {spec.temperature, spec.top_p, spec.top_k, spec.min_p, spec.repetition_penalty, spec.seed};
}

// A sequence of a decode job while it runs.
struct Running {
  const wire::DecodeSequence* job;
  std::vector<uint8_t*> pages;
  int32_t token;  // to feed next
  int64_t position;
  std::vector<int32_t> history;
  wire::DecodedSequence result;
  std::optional<Error> error;

  bool done() const {
    const auto& sampled = result.token_ids;
    if (error || static_cast<int32_t>(sampled.size()) >= job->steps_max) return true;
    return !sampled.empty() &&
           std::ranges::find(job->end_tokens, sampled.back()) != job->end_tokens.end();
  }
};

// One step of the sequences that are not done; false if all are.
bool decode_step(Engine& engine, std::vector<Running>& all) {
  std::vector<Running*> active;
  std::vector<Slice> slices;
  for (Running& running : all) {
    if (running.done()) continue;
    active.push_back(&running);
    slices.push_back({std::span(&running.token, 1), running.position, running.pages, 1});
  }
  if (active.empty()) return false;
  const auto rows = static_cast<int>(active.size());
  const size_t vocab = engine.model.config.vocab_size;
  std::vector<float> hidden(active.size() * engine.model.config.hidden_size);
  std::vector<float> logits(active.size() * vocab);
  engine.transformer.forward(slices, hidden.data());
  engine.transformer.logits(hidden.data(), rows, logits.data());
  engine.pool.run(rows, [&](int row, int) {
    Running& running = *active[row];
    const auto sampled =
        sample(std::span(logits).subspan(row * vocab, vocab), sampler_params(running.job->sample),
               running.history, running.position + 1, *engine.model.kernels);
    if (!sampled.ok()) {
      running.error = sampled.error();
      return;
    }
    running.token = sampled->token;
    ++running.position;
    running.result.token_ids.push_back(sampled->token);
    running.result.logprobs.push_back(sampled->logprob);
    if (running.job->sample.repetition_penalty != 1) running.history.push_back(sampled->token);
  });
  return true;
}

}  // namespace

wire::EncodeDone run_encode(const Model& model, const wire::EncodeJob& job) {
  wire::EncodeDone done;
  done.job = job.job;
  const ConversationContext context = {model.tokenizer, model.chat_template, model.template_tokens,
                                       job.thinking, job.now_unix_s};
  const auto store = [&](auto&& ids) {
    if (ids.ok()) {
      done.token_ids = *std::move(ids);
    } else {
      done.error = ids.error();
    }
  };
  switch (job.mode) {
    case wire::EncodeJob::Mode::kRaw: store(encode_raw(model.tokenizer, job.raw)); break;
    case wire::EncodeJob::Mode::kText:
      store(model.tokenizer.encode(job.raw, /*trusted=*/false, /*with_template=*/false));
      break;
    case wire::EncodeJob::Mode::kHistory: store(encode_history(context, job.messages)); break;
    case wire::EncodeJob::Mode::kPrompt: {
      auto prompt = encode_prompt(context, job.messages);
      if (!prompt.ok()) {
        done.error = prompt.error();
        break;
      }
      done.token_ids = std::move(prompt->token_ids);
      done.generation_prefix = std::move(prompt->generation_prefix);
      done.inside_think = prompt->inside_think;
      break;
    }
  }
  return done;
}

wire::PrefillDone run_prefill(Engine& engine, const wire::PrefillJob& job) {
  const int64_t start_us = system_clock().monotonic_us();
  wire::PrefillDone done;
  done.job = job.job;
  const auto pages = page_addresses(engine.arena, job.pages);
  const Slice slice = {job.token_ids, job.position, pages, job.sample ? 1 : 0};
  std::vector<float> hidden(engine.model.config.hidden_size);
  engine.transformer.forward(std::span(&slice, 1), hidden.data());
  if (job.sample) {
    std::vector<float> logits(engine.model.config.vocab_size);
    engine.transformer.logits(hidden.data(), 1, logits.data());
    const int64_t next = job.position + static_cast<int64_t>(job.token_ids.size());
    const auto sampled = sample(logits, sampler_params(*job.sample), job.sample->history, next,
                                *engine.model.kernels);
    if (sampled.ok()) {
      done.token = sampled->token;
      done.logprob = sampled->logprob;
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
                   page_addresses(engine.arena, sequence.pages),
                   sequence.token,
                   sequence.position,
                   sequence.sample.history,
                   {sequence.sequence, {}, {}},
                   {}});
  }
  while (done.steps < job.steps_max && decode_step(engine, all)) ++done.steps;
  for (Running& running : all) {
    if (running.error) done.error = running.error;
    done.sequences.push_back(std::move(running.result));
  }
  done.compute_us = system_clock().monotonic_us() - start_us;
  return done;
}

}  // namespace cascade
