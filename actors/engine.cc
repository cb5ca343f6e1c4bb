// Turns jobs into answers, without sockets, so that tests can call these functions directly.
#include "actors/engine.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "actors/burst_sequence.h"
#include "actors/job_pages.h"
#include "actors/job_sampling.h"
#include "actors/job_state_slots.h"
#include "base/clock.h"
#include "model/conversation.h"
#include "model/fitted_prompt.h"
#include "model/grammar/compile.h"
#include "model/grammar/vocabulary.h"
#include "model/retrieval.h"
#include "model/stand_in.h"

namespace cascade {
namespace {

// A pass over some sequences of a burst.
using Active = std::vector<BurstSequence*>;

// Computes what the sequences feed next; `hidden` receives the states that they want. Sequences
// whose pages cannot be read end, and are removed from `active`.
void feed(Engine& engine, Active& active, std::vector<float>& hidden) {
  while (!active.empty()) {
    std::vector<Slice> slices;
    size_t rows = 0;
    for (BurstSequence* sequence : active) {
      slices.push_back(sequence->slice());
      rows += static_cast<size_t>(slices.back().outputs);
    }
    hidden.resize(rows * engine.model.config.hidden_size);
    if (engine.transformer.forward(slices, hidden.data()).ok()) return;
    const auto unread = std::ranges::find_if(active, &BurstSequence::end_if_unread);
    CHECK(unread != active.end());
    active.erase(unread);
  }
}

// The number of rows whose logits are computed together: Transformer::logits() takes as many at a
// time, and with the largest vocabularies they take some 17 MB.
constexpr int kLogitRows = 16;
static_assert(kDraftsMax + 1 <= kLogitRows);

// Gives the sequences, which were fed, the logits of their rows, one after the other in `hidden`.
void take_logits(Engine& engine, const Active& active, const std::vector<float>& hidden) {
  const size_t vocab = engine.model.config.vocab_size;
  const float* next = hidden.data();
  for (size_t begin = 0; begin < active.size();) {
    std::vector<int> first_rows;  // of the sequences [begin, begin + size)
    int rows = 0;
    size_t end = begin;
    while (end < active.size() && rows + active[end]->rows() <= kLogitRows) {
      first_rows.push_back(rows);
      rows += active[end++]->rows();
    }
    std::vector<float> logits(rows * vocab);
    engine.transformer.logits(next, rows, logits.data());
    next += size_t(rows) * engine.model.config.hidden_size;
    engine.pool.run(static_cast<int>(end - begin), [&](int i, int) {
      active[begin + i]->take(std::span(logits).subspan(first_rows[i] * vocab));
    });
    begin = end;
  }
}

// Runs a pass over the sequences that are not done; false if there is none. Once the steps of the
// job are used up, it goes on until the drafts that were begun are checked. Sequences without
// drafts go on, too: they would only wait.
bool run_pass(Engine& engine, std::vector<std::unique_ptr<BurstSequence>>& all, bool steps_left) {
  if (!steps_left && std::ranges::none_of(all, &BurstSequence::has_drafts)) return false;
  Active active;
  for (const auto& sequence : all) {
    const bool begins_drafts = sequence->is_drafting() && !sequence->has_drafts();
    if (sequence->is_done() || (!steps_left && begins_drafts)) continue;
    active.push_back(sequence.get());
  }
  const size_t begun = active.size();
  const int64_t start_us = system_clock().monotonic_us();
  std::vector<float> hidden;
  feed(engine, active, hidden);
  if (active.empty()) return false;
  BurstSequence& first = *active.front();
  const Slice slice = first.slice();
  take_logits(engine, active, hidden);
  if (begun == 1 && first.is_typical()) {
    engine.draft_pace.note(slice.attention, slice.outputs, slice.position,
                           system_clock().monotonic_us() - start_us);
  }
  return true;
}

// Copies the K and V of the job's tokens from where they are in other pages.
void move_rows(Engine& engine, const wire::PrefillJob& job) {
  const auto addresses = [&](const std::vector<uint32_t>& pages) {
    std::vector<uint8_t*> data;
    for (const uint32_t page : pages) data.push_back(engine.arena.data(page));
    return data;
  };
  const std::vector<uint8_t*> from = addresses(job.moved->pages);
  const std::vector<uint8_t*> to = addresses(job.pages);
  engine.mover.move({.from = from,
                     .from_begin = job.moved->begin,
                     .to = to,
                     .to_begin = job.position,
                     .count = std::ssize(job.token_ids),
                     .turn = job.moved->turn});
}

// The pass of a prefill job. kCancelled: it yielded, and engine.yielded says where it ended.
Status forward(Engine& engine, const wire::PrefillJob& job, const Slice& slice, float* hidden,
               const Interrupt& wanted) {
  const std::span<const Slice> slices(&slice, 1);
  if (!job.yields) return engine.transformer.forward(slices, hidden);
  Engine::Yielded latest = std::exchange(engine.yielded, {});
  if (latest.job != job.resumes) latest.pass = {};
  Status computed = engine.transformer.forward(slices, hidden, wanted, &latest.pass);
  if (!computed.ok()) engine.yielded = {job.job, std::move(latest.pass)};
  return computed;
}

// Puts what stands in for earlier messages before those of the job, if there is something.
void put_stand_in_before(const wire::EncodeJob& job, std::vector<ChatMessage>& messages,
                         wire::EncodeDone& done) {
  const StandIn* const summary = stand_in_for(job.summaries, LeftOut());
  if (summary == nullptr) return;
  put_stand_in(summary->text, messages);
  done.summarised = LeftOut();
}

// Encodes a prompt with what is brought back of earlier turns, if the job says how much.
Result<EncodedPrompt> encode_with_retrieved(const ConversationContext& context,
                                            const wire::EncodeJob& job, wire::EncodeDone& done) {
  std::vector<ChatMessage> messages = job.messages;
  if (job.retrieval) {
    ASSIGN_OR_RETURN(
        RetrievedText retrieved,
        retrieve(context.tokenizer, job.messages, job.retrieval->turns, job.retrieval->tokens_max));
    if (!retrieved.from.empty()) put_before_question(retrieved, messages);
    done.retrieved = std::move(retrieved.from);
    done.retrieved_text = std::move(retrieved.text);
  }
  put_stand_in_before(job, messages, done);
  return encode_prompt(context, messages, job.goes_on);
}

// Encodes a prompt, which leaves out old turns if the job says how much room there is.
Status put_prompt(const ConversationContext& context, const wire::EncodeJob& job,
                  wire::EncodeDone& done) {
  FittedPrompt fitted;
  if (job.room) {
    ASSIGN_OR_RETURN(fitted,
                     encode_fitted(context, job.messages, job.goes_on,
                                   {*job.room, job.preferred.value_or(LeftOut()), job.summaries}));
    if (fitted.left_out != LeftOut()) done.left_out = fitted.left_out;
    done.summarised = fitted.summarised;
  } else {
    ASSIGN_OR_RETURN(fitted.prompt, encode_with_retrieved(context, job, done));
  }
  done.token_ids = std::move(fitted.prompt.token_ids);
  done.generation_prefix = std::move(fitted.prompt.generation_prefix);
  done.inside_think = fitted.prompt.inside_think;
  if (job.show_text) done.text = std::move(fitted.prompt.text);
  return {};
}

// Does the same for a history.
Status put_history(const ConversationContext& context, const wire::EncodeJob& job,
                   wire::EncodeDone& done) {
  if (!job.room) {
    std::vector<ChatMessage> messages = job.messages;
    put_stand_in_before(job, messages, done);
    ASSIGN_OR_RETURN(done.token_ids, encode_history(context, messages, job.follower));
    return {};
  }
  ASSIGN_OR_RETURN(ShortenedHistory history,
                   encode_shortened_history(context, job.messages, job.next_tokens.value_or(0),
                                            {*job.room, {}, job.summaries}));
  done.token_ids = std::move(history.token_ids);
  if (history.left_out != LeftOut()) done.left_out = history.left_out;
  done.summarised = history.summarised;
  return {};
}

// Checks the grammar before anything is computed for the job.
Status check_grammar(const Model& model, const wire::EncodeJob& job) {
  if (!job.grammar) return {};
  const Result<GrammarVocabulary>& vocabulary = model.grammar_vocabulary();
  if (!vocabulary.ok()) return vocabulary.error();
  auto compiled =
      compile_grammar(job.grammar->kind, job.grammar->schema, "grammar.schema", vocabulary->form);
  return compiled.ok() ? Status() : compiled.error();
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
  context.reasoning_effort = job.reasoning_effort;
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
  const auto note = [&](const Status& status) {
    if (!status.ok()) done.error = status.error();
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
    case wire::EncodeJob::Mode::kHistory: note(put_history(context, job, done)); break;
    case wire::EncodeJob::Mode::kBeginning: {
      std::vector<ChatMessage> messages = job.messages;
      put_stand_in_before(job, messages, done);
      store(encode_beginning(context, messages));
      break;
    }
    case wire::EncodeJob::Mode::kPrompt: note(put_prompt(context, job, done)); break;
  }
  if (done.token_ids.size() > wire::kNumbersMax) {
    done.tokens_left_out = std::ssize(done.token_ids);
    done.token_ids = {};
  }
  return done;
}

wire::PrefillDone run_prefill(Engine& engine, const wire::PrefillJob& job,
                              const Interrupt& wanted) {
  const int64_t start_us = system_clock().monotonic_us();
  const bool resumes = job.resumes != 0 && job.resumes == engine.yielded.job;
  const int64_t earlier_us = resumes ? engine.yielded.compute_us : 0;
  wire::PrefillDone done;
  done.job = job.job;
  if (job.moved) {
    move_rows(engine, job);
    done.compute_us = system_clock().monotonic_us() - start_us;
    return done;
  }
  JobPages pages(engine.arena, engine.model.kv_layout, engine.files, job.pages,
                 {job.index_memory, job.indexed_pages});
  Slice slice = {job.token_ids,      job.position,   pages.addresses(),
                 job.sample ? 1 : 0, pages.absent(), job.attention};
  slice.indexes = pages.indexes();
  const JobStateSlots states(engine.states, job.states);
  states.put_into(slice);
  slice.free_positions = job.free_positions;
  if (job.attention.selected > 0 || job.index_pages) slice.indexed_pages = pages.indexed();
  std::vector<float> hidden(engine.model.config.hidden_size);
  const int64_t selected_before = engine.transformer.selected_tokens();
  const Status computed = forward(engine, job, slice, hidden.data(), wanted);
  done.yielded = !computed.ok() && computed.error().code == ErrorCode::kCancelled;
  CHECK(computed.ok() || pages.failed() || done.yielded);
  if (computed.ok()) {
    done.selected_tokens = engine.transformer.selected_tokens() - selected_before;
    done.indexed_pages = pages.indexed_pages();
  }
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
  done.compute_us = earlier_us + system_clock().monotonic_us() - start_us;
  if (done.yielded) engine.yielded.compute_us = done.compute_us;
  return done;
}

wire::DecodeDone run_decode(Engine& engine, const wire::DecodeJob& job) {
  const int64_t start_us = system_clock().monotonic_us();
  wire::DecodeDone done;
  done.job = job.job;
  std::vector<std::unique_ptr<BurstSequence>> all;
  for (const wire::DecodeSequence& sequence : job.sequences) {
    all.push_back(std::make_unique<BurstSequence>(engine, sequence, job.sequences.size() == 1));
  }
  engine.pool.run(static_cast<int>(all.size()), [&](int i, int) { all[i]->begin(); });
  while (run_pass(engine, all, done.steps < job.steps_max)) ++done.steps;
  for (const auto& sequence : all) {
    const wire::DecodedSequence& result = done.sequences.emplace_back(sequence->finish());
    // The fault is in the model, not in the sequence.
    const bool corrupt = result.error && result.error->code == ErrorCode::kDataCorrupt;
    if (corrupt) done.error = result.error;
  }
  all.clear();
  engine.grammars.shrink();
  done.compute_us = system_clock().monotonic_us() - start_us;
  return done;
}

}  // namespace cascade
