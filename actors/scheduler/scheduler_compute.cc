// One job at a time: slices of prompts, bursts of decode steps, idle work.
#include <algorithm>

#include "actors/scheduler/answer_limits.h"
#include "actors/scheduler/burst_result.h"
#include "actors/scheduler/compute_jobs.h"
#include "actors/scheduler/scheduler_core.h"
#include "cache/attention_pages.h"
#include "model/draft_pace.h"

namespace cascade {
namespace {

// The sequences of one decode job take at most half of a message, unless there is only one. With
// penalties each sequence carries the tokens of its prompt.
constexpr size_t kDecodeBytesMax = wire::kMessageBytesMax / 2;

// Returns about how many bytes the request's sequence takes in a decode job.
size_t decode_bytes(const Request& request) {
  constexpr size_t kOtherBytes = 1024;
  const wire::SampleSpec& sample = request.sample;
  size_t numbers = request.sequence->pages().size() + request.sequence->indexes().pages.size() +
                   request.end_tokens.size() + sample.history.size() +
                   2 * sample.bias_tokens.size();
  size_t bytes = kOtherBytes;
  if (sample.constraint) {
    numbers += sample.constraint->tokens.size();
    bytes += sample.constraint->grammar.schema.size();
  }
  return bytes + numbers * sizeof(int32_t);
}

// Returns the time until the request's first token, if nothing else comes. That is the time to
// prefill the request's own prompt and those that come first. If the request waits, these are all
// running prompts and those before it in the queue; if it runs, they are the running prompts that
// are shorter.
double us_before_answer(const Request& request, const RequestTable& requests,
                        const PrefillTime& time, const PageSpills& spills) {
  const auto done = [](const Request& other) {
    const int64_t committed = other.sequence ? other.sequence->committed() : 0;
    const bool more_is_known = other.loading || !other.sequence;
    return more_is_known ? std::max(committed, other.known_tokens) : committed;
  };
  const auto size = [](const Request& other) { return static_cast<int64_t>(other.chain().size()); };
  const auto left = [&](const Request& other) { return size(other) - done(other); };
  const auto us = [&](const Request& other) {
    const double waits = other.reader ? spills.wait_us(other, done(other), size(other)) : 0;
    return time.us(done(other), size(other), other.attention) + waits;
  };
  const bool waits = request.state == RequestState::kWaiting;
  double total_us = us(request);
  for (const uint64_t handle : requests.prefilling()) {
    const Request& other = requests.at(handle);
    if (&other != &request && (waits || left(other) < left(request))) total_us += us(other);
  }
  for (const uint64_t handle : requests.waiting()) {
    if (!waits || handle == request.handle) break;
    total_us += us(requests.at(handle));
  }
  return total_us;
}

}  // namespace

void SchedulerCore::plan() {
  compute_.states.sweep();
  if (compute_.busy()) return write_pages();
  disk_.spills.release_unused();
  bool released = false;  // pages on disk that the store may remove now
  for (Request* reader : disk_.spills.waiting([this](const Request& r) { return in_flight(r); })) {
    const auto write_error = disk_.writer.error_since(reader->prefill_start_us);
    const auto error = disk_.spills.why_stuck(*reader, write_error);
    if (error) {
      const bool is_full =
          reader->written_behind && write_error && write_error->field == "max_disk";
      if (is_full && disk_.writer.is_writing()) continue;  // this write may succeed
      if (is_full && disk_.spills.release_idle()) released = true;
      if (!is_full || !released) {
        fail(*reader, *error);
        continue;
      }
    }
    // Pages that are missing on disk are written again.
    if (disk_.writer.is_writing()) continue;
    reader->written_tokens = 0;
    write_prompt_behind(*reader);
  }
  if (dispatch_removal()) return write_pages();
  start_waiting();
  refuse_starved();
  if (dispatch_repair()) return write_pages();
  Request* prompt = next_prompt();
  PlanInput input;
  input.decoding =
      static_cast<int>(std::ranges::count_if(requests_.decoding(), [&](uint64_t handle) {
        return disk_.spills.is_ready(requests_.at(handle));
      }));
  input.prompt_budget_us = compute_.prompt_budget.us();
  input.bursts_since_prompt = compute_.prompt_budget.bursts();
  input.last_was_decode = compute_.last_was_decode;
  input.contended = shares_.contended();
  if (prompt != nullptr) {
    input.prompt = {prompt->sequence->committed(), static_cast<int64_t>(prompt->chain().size())};
    input.prompt_is_owed = is_owed(*prompt);
  } else if (requests_.empty() && may_reprefill() && idle_.start()) {
    // A request that is tokenized would only make a slice yield, so there is none.
    const Reprefill& idle = idle_.first();
    input.idle_prompt = {idle.sequence->committed(), static_cast<int64_t>(idle.chain.size())};
  }
  const Plan next = plan_next(input, compute_.speed, options_.planner);
  switch (next.kind) {
    case Plan::Kind::kNothing: break;
    case Plan::Kind::kPrefill:
      dispatch_prefill(*prompt, prompt->reader ? disk_.spills.slice_end(*prompt, next.slice_end)
                                               : next.slice_end);
      break;
    case Plan::Kind::kDecode: dispatch_decode(next.decode_steps); break;
    case Plan::Kind::kIdlePrefill: dispatch_idle(next.slice_end); break;
  }
  if (next.kind == Plan::Kind::kPrefill) compute_.last_prompt = prompt->handle;
  compute_.last_was_decode = next.kind == Plan::Kind::kDecode;
  write_pages();
}

// Prompts that are wholly in pages end here; they need no slice of their own. Returns the next
// prompt with something to compute, or nullptr.
Request* SchedulerCore::next_prompt() {
  while (true) {
    for (const uint64_t handle :
         std::vector(requests_.prefilling().begin(), requests_.prefilling().end())) {
      Request& request = requests_.at(handle);
      if (request.prompt_done()) end_prompt(request);
    }
    Request* next = next_to_prefill();
    if (next == nullptr) return nullptr;
    catch_up(*next);
    // After catching up, a reader may have too many pages that are not on disk yet. Then another
    // prompt is computed first.
    if (!next->prompt_done() && disk_.spills.is_ready(*next)) return next;
  }
}

// The prompt's whole chain is in pages, and no token was sampled from its end.
void SchedulerCore::end_prompt(Request& request) {
  if (request.prefix) return finish_prefix(request);
  requests_.decode(request);  // its next token was sampled before the preemption
}

void SchedulerCore::dispatch_prefill(Request& request, int64_t slice_end) {
  CHECK(slice_end > request.sequence->committed());
  // The pages were promised, but they may have been pinned a moment ago.
  if (!request.sequence->reserve(slice_end) || !disk_.spills.reserve_indexes(request, slice_end)) {
    if (!request.reader) preempt(request);
    return;
  }
  const int64_t position = request.sequence->committed();
  const auto states =
      request.recurrent->next_job(slice_end, kept_points(request.plan, position, slice_end));
  if (!states) return preempt(request);  // other sequences use the memory for states
  if (request.reader) request.sequence->refresh();
  const std::vector<int32_t>& chain = request.chain();
  wire::PrefillJob job;
  job.job = jobs_.next();
  job.position = position;
  job.token_ids.assign(chain.begin() + job.position, chain.begin() + slice_end);
  put_pages(*request.sequence, job);
  put_states(*states, job);
  job.attention = request.attention.exact();
  job.index_pages = selects(request.drafts, std::ssize(chain) + request.max_tokens);
  const bool whole = slice_end == static_cast<int64_t>(chain.size());
  if (whole && request.resumed.empty() && !request.prefix) job.sample = request.sample;
  const int64_t depth = depth_of(job, model_.config.layers);
  compute_.slices.put(job.job, {{request.handle}, false, job.token_ids, depth});
  outbox_.send(Actor::kPrefill, std::move(job));
}

void SchedulerCore::dispatch_idle(int64_t slice_end) {
  wire::PrefillJob job = idle_.slice(slice_end);
  const int64_t depth = depth_of(job, model_.config.layers);
  compute_.slices.put(job.job, {{}, true, job.token_ids, depth, {}, job.moved.has_value()});
  outbox_.send(Actor::kPrefill, std::move(job));
}

// Takes thoughts out of a chain. That takes little time, and the next turn of the conversation may
// be on its way, so it comes before all other work. False if there is none to do.
bool SchedulerCore::dispatch_removal() {
  if (!may_reprefill() || !idle_.start_removal([this] { return available_pages(); })) return false;
  dispatch_idle(idle_.first().sequence->committed() + options_.planner.slice_tokens_max);
  return true;
}

void SchedulerCore::dispatch_decode(int steps) {
  wire::DecodeJob job;
  job.job = jobs_.next();
  job.steps_max = steps;
  InFlight burst = {{}, false, {}, 0};
  const size_t batch = std::min<size_t>(requests_.decoding().size(), options_.planner.batch_max);
  size_t bytes = 0;
  // Drafts and their check are one burst. Sequences beside them go on meanwhile.
  const bool drafts = std::ranges::any_of(requests_.decoding(), [this](uint64_t handle) {
    return !requests_.at(handle).drafts.is_dense();
  });
  const int room = drafts ? std::max(steps, kDraftsMax + 1) : steps;
  // Readers have bursts of their own, so that others do not wait for the disk. So do readers that
  // select, since nothing can be read ahead beside them.
  const auto kind_of = [](const Request& of) {
    return std::pair(of.reader, of.reader && of.attention.selected > 0);
  };
  std::optional<std::pair<bool, bool>> kind;
  for (const uint64_t handle : RequestTable::Handles(requests_.decoding())) {
    Request& request = requests_.at(handle);
    if (!disk_.spills.is_ready(request) || kind.value_or(kind_of(request)) != kind_of(request)) {
      continue;
    }
    // Requests that do not fit into a batch, or into a message, get their turn next time.
    bytes += decode_bytes(request);
    const bool full = job.sequences.size() == batch || bytes > kDecodeBytesMax;
    if (!job.sequences.empty() && full) break;
    const int64_t position = request.sequence->committed();
    const auto left = request.max_tokens - static_cast<int32_t>(request.sampled.size());
    const int wanted = request.reader ? steps : room;
    const int32_t most = disk_.spills.is_ready(request, std::min(wanted, left)) ? wanted : 1;
    const int64_t end = position + std::min(most, left);
    if (!request.sequence->reserve(end) || !disk_.spills.reserve_indexes(request, end)) {
      if (!request.reader) preempt(request);  // its pages were pinned a moment ago
      continue;
    }
    const auto states = request.recurrent->next_job(end);
    if (!states) {
      preempt(request);  // other sequences use the memory for states
      continue;
    }
    kind = kind_of(request);
    requests_.take_decode_turn(request);
    wire::DecodeSequence sequence;
    sequence.sequence = request.handle;
    sequence.token = request.sampled.back();
    sequence.position = position;
    sequence.steps_max = std::min(most, left);
    sequence.end_tokens = request.end_tokens;
    sequence.sample = request.sample;
    sequence.attention = request.attention.exact();
    sequence.drafts = request.drafts;
    sequence.draft_record = request.draft_record;
    put_states(*states, sequence);
    burst.requests.push_back(request.handle);
    job.sequences.push_back(std::move(sequence));
  }
  if (job.sequences.empty()) return;
  // Only now: a later sequence of the batch may have had pages of an earlier one spilled.
  for (size_t i = 0; i < burst.requests.size(); ++i) {
    Request& request = requests_.at(burst.requests[i]);
    if (request.reader) request.sequence->refresh();
    put_pages(*request.sequence, job.sequences[i]);
  }
  compute_.bursts.put(job.job, std::move(burst));
  outbox_.send(Actor::kDecode, std::move(job));
}

// The K and V of `tokens`, the next ones of the prompt, are in pages. False if the request ends
// here.
bool SchedulerCore::prompt_advanced(Request& request, std::span<const int32_t> tokens) {
  advance_chain(*request.sequence, *request.recurrent, tokens, clock_.wall_us());
  const auto count = static_cast<int64_t>(tokens.size());
  if (request.resumed.empty()) request.prefilled_tokens += count;
  counters_.tokens_prefilled += count;
  shares_.charge(request.client.tenant, static_cast<double>(tokens.size()));
  if (end_if_pending(request)) return false;
  write_prompt_behind(request);
  if (request.params.stream) send_progress(request);
  return true;
}

// The whole pages of the prompt have a priority for a while, so they are also written.
void SchedulerCore::keep_leased(const Request& request) {
  keep_.uses.note(request);
  const size_t whole = request.prompt.size() / kPageTokens * kPageTokens;
  disk_.writer.write_behind(tenants_.id(request.client.tenant, request.attention),
                            std::span(request.prompt).first(whole));
  keep_.holds.trim();
}

// Returns how many tokens of a waiting prompt will not be computed, because they are in pages or
// worth loading from disk.
int64_t SchedulerCore::known_tokens(const Request& request) {
  const TenantId tenant = tenants_.id(request.client.tenant, request.attention);
  if (const auto plan = disk_.restores.plan(tenant, request.reusable())) return plan->state.tokens;
  const std::span<const int32_t> wanted = compute_.states.reusable(tenant, request.reusable());
  const ChainIndex::Match found = index_.match(tenant, wanted, request.where());
  const DiskIndex::Match stored = disk_.loader.worth_loading(tenant, wanted, found);
  if (stored.tokens == 0) return found.tokens();
  return static_cast<int64_t>(found.pages.size()) * kPageTokens + stored.tokens;
}

void SchedulerCore::send_progress(Request& request) {
  const int64_t now = clock_.monotonic_us();
  wire::Progress progress;
  progress.prompt_tokens = static_cast<int64_t>(request.prompt.size());
  if (request.state == RequestState::kWaiting) {
    const auto place = std::ranges::find(requests_.waiting(), request.handle);
    progress.queue_position =
        static_cast<int32_t>(std::distance(requests_.waiting().begin(), place));
    request.known_tokens = known_tokens(request);
  }
  const int64_t committed = request.sequence ? request.sequence->committed() : 0;
  progress.prompt_tokens_done = std::min(committed, progress.prompt_tokens);
  const int64_t computed = progress.prompt_tokens_done - request.reused_tokens;
  if (computed > 0 && now > request.prefill_start_us) {
    const double us = static_cast<double>(now - request.prefill_start_us);
    progress.tokens_per_s = static_cast<double>(computed) / us * 1e6;
  }
  progress.eta_us = static_cast<int64_t>(
      us_before_answer(request, requests_, compute_.speed.prefill_time(), disk_.spills));
  request.last_sent_us = now;
  outbox_.reply(request, progress);
}

void SchedulerCore::on(wire::PrefillDone&& done) {
  const std::optional<InFlight> answered = compute_.slices.take(done.job);
  if (!answered) return;  // from before the actor's restart
  const InFlight& job = *answered;
  if (done.yielded) {
    CHECK(job.idle);
    return idle_.ended(job.tokens, SliceEnd::kYielded);
  }
  const auto tokens = static_cast<int64_t>(job.tokens.size());
  if (!done.error && !done.lost_page) {
    if (done.read_bytes > 0 || job.repair) {
      compute_.speed.add_long_prefill(tokens, done.compute_us - done.read_wait_us, job.position);
      disk_.spills.add_read(done.read_bytes, done.read_us);
    } else if (!job.moved && !(job.idle && tokens == 1)) {  // a token of a draft is no slice
      compute_.speed.add_prefill(tokens, done.compute_us, job.position);
    }
  }
  if (job.repair) done.selected_tokens = 0;  // they were counted when the page was new
  counters_.tokens_selected += done.selected_tokens;
  if (job.idle) {
    return idle_.ended(job.tokens, done.error ? SliceEnd::kFailed : SliceEnd::kComputed,
                       done.token);
  }
  if (!requests_.decoding().empty()) compute_.prompt_budget.prefilled(done.compute_us);
  Request& request = requests_.at(job.requests.front());
  request.computing_us += done.compute_us;
  request.selected_tokens += done.selected_tokens;
  request.sequence->note_indexed(done.indexed_pages);
  if (job.repair) return page_repaired(request, *job.repair, done);
  if (done.error) return fail(request, *done.error);
  if (done.lost_page) {
    disk_.spills.lose(request, *done.lost_page);
    (void)end_if_pending(request);
    return;
  }
  if (!prompt_advanced(request, job.tokens)) return;
  if (!request.prompt_done()) return;
  if (request.prefix || !request.resumed.empty()) return end_prompt(request);
  if (keep_.holds.lease(request)) keep_leased(request);
  requests_.decode(request);
  request.first_token_us = clock_.monotonic_us();
  request.top_token_ids = std::move(done.top_token_ids);
  request.top_logprobs = std::move(done.top_logprobs);
  std::vector<wire::Delta> deltas;
  const bool ended = take_token(request, done.token, done.logprob, deltas);
  send_deltas(request, std::move(deltas));
  if (ended) finish(request, request.pending_finish);
}

void SchedulerCore::on(wire::DecodeDone&& done) {
  const std::optional<InFlight> answered = compute_.bursts.take(done.job);
  if (!answered) return;
  if (done.error) {
    for (const uint64_t handle : answered->requests) fail(requests_.at(handle), *done.error);
    return;
  }
  int64_t tokens = 0;
  for (const auto& result : done.sequences) tokens += int64_t(result.token_ids.size());
  const bool read = requests_.at(answered->requests.front()).reader;
  const bool drafted = std::ranges::any_of(
      done.sequences, [](const auto& result) { return result.drafted_tokens > 0; });
  // The steps of drafts are shorter than those that the planner plans.
  if (!read) compute_.speed.add_decode(drafted ? 0 : done.steps, tokens, done.compute_us);
  compute_.prompt_budget.decoded(done.compute_us);
  for (const wire::DecodedSequence& result : done.sequences) {
    Request& request = requests_.at(result.sequence);
    take_counts(result, request, counters_);
    request.sequence->note_indexed(result.indexed_pages);
    if (result.error) {
      fail(request, *result.error);
      continue;
    }
    if (result.lost_page) disk_.spills.lose(request, *result.lost_page);
    if (result.token_ids.empty()) {
      (void)end_if_pending(request);
      continue;
    }
    // Every token of the burst except the last was fed, so its K and V are in pages.
    std::vector<int32_t> fed = {request.sampled.back()};
    fed.insert(fed.end(), result.token_ids.begin(), result.token_ids.end() - 1);
    const int64_t position = request.sequence->committed();
    advance_chain(*request.sequence, *request.recurrent, fed, clock_.wall_us());
    if (passes_waypoint(position, request.sequence->committed())) {
      request.recurrent->keep(StateTable::Worth::kWaypoint);
    }
    const double cost = static_cast<double>(fed.size()) * sampled_token_cost(compute_.speed);
    shares_.charge(request.client.tenant, cost);
    if (request.pending_error) {
      fail(request, *request.pending_error);
      continue;
    }
    if (request.reader) write_prompt_behind(request);
    std::vector<wire::Delta> deltas;
    bool ended = false;
    for (size_t i = 0; i < result.token_ids.size() && !ended; ++i) {
      take_top_logprobs(result, i, request);
      ended = take_token(request, result.token_ids[i], result.logprobs[i], deltas);
    }
    send_deltas(request, std::move(deltas));
    if (!request.pending_finish.empty()) finish(request, request.pending_finish);
  }
}

// Adds a sampled token. True if it ends the generation; pending_finish then says why.
bool SchedulerCore::take_token(Request& request, int32_t token, float logprob,
                               std::vector<wire::Delta>& deltas) {
  request.sampled.push_back(token);
  request.logprobs.push_back(logprob);
  ++counters_.tokens_generated;
  if (request.penalised()) request.sample.history.push_back(token);
  if (request.sample.constraint) request.sample.constraint->tokens.push_back(token);
  if (std::ranges::find(request.end_tokens, token) != request.end_tokens.end()) {
    request.pending_finish = "stop";
    return true;
  }
  for (OutputStream::Piece& piece : request.output->push(token)) {
    deltas.push_back({std::move(piece.text), piece.reasoning});
  }
  if (request.output->stopped()) {
    request.pending_finish = "stop";
  } else if (static_cast<int32_t>(request.sampled.size()) >= request.max_tokens ||
             is_full(request)) {
    request.pending_finish = "length";
  }
  return !request.pending_finish.empty();
}

// Joins neighbouring deltas of one kind into one message. Deltas for which the client has no credit
// are joined with what follows. With `last` all are sent: they are few, and Final comes after them.
void SchedulerCore::send_deltas(Request& request, std::vector<wire::Delta>&& deltas, bool last) {
  if (!request.params.stream) return;
  std::vector<wire::Delta>& held = request.held_deltas;
  for (wire::Delta& delta : deltas) {
    if (!held.empty() && held.back().reasoning == delta.reasoning) {
      held.back().text += delta.text;
    } else {
      held.push_back(std::move(delta));
    }
  }
  std::optional<int32_t>& credit = request.params.delta_credit;
  size_t sent = 0;
  for (; sent < held.size() && (last || !credit || *credit > 0); ++sent) {
    if (credit && *credit > 0) --*credit;
    request.last_sent_us = clock_.monotonic_us();
    outbox_.reply(request, std::move(held[sent]));
  }
  held.erase(held.begin(), held.begin() + static_cast<ptrdiff_t>(sent));
}

// The actor was restarted: its jobs are not given to it again.

void SchedulerCore::lost(std::map<uint64_t, InFlight>&& jobs) {
  for (const auto& [number, job] : jobs) {
    for (const uint64_t handle : job.requests) {
      Request& request = requests_.at(handle);
      if (job.repair) request.sequence->give_back(job.repair->memory);
      fail(request, lost_work());
    }
    if (job.idle) idle_.ended({}, SliceEnd::kFailed);
  }
}

void SchedulerCore::lost(std::map<uint64_t, EncodingRequest>&& jobs) {
  for (const auto& [number, job] : jobs) {
    if (Request* request = requests_.find(job.handle)) fail(*request, lost_work());
  }
}

void SchedulerCore::lost(std::map<uint64_t, ChunkPutJob>&& jobs) {
  for (const auto& [number, put] : jobs) {
    if (put.client) outbox_.reply_error(*put.client, put.id, lost_work());
  }
}

}  // namespace cascade
