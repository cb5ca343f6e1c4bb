// One job at a time: slices of prompts, bursts of decode steps, idle work.
#include <algorithm>

#include "actors/scheduler/scheduler_core.h"

namespace cascade {

// Pages that a new request could be promised.
int64_t SchedulerCore::available_pages() const {
  auto available = static_cast<int64_t>(pool_.free_count() + index_.evictable_count());
  for (const auto* running : {&prefilling_, &decoding_}) {
    for (const uint64_t handle : *running) {
      const Request& request = *requests_.at(handle);
      available -= request.pages_promised - static_cast<int64_t>(request.sequence->pages().size());
    }
  }
  return available;
}

void SchedulerCore::plan() {
  if (in_flight_) return;
  start_waiting();
  PlanInput input;
  input.decoding = static_cast<int>(decoding_.size());
  input.last_was_decode = last_was_decode_;
  if (!prefilling_.empty()) {
    const Request& request = *requests_.at(prefilling_.front());
    input.prompt = {request.sequence->committed(), static_cast<int64_t>(request.prompt.size())};
  } else if (decoding_.empty() && waiting_.empty() && !stopping_since_us_ && start_idle()) {
    const Reprefill& idle = reprefills_.front();
    input.idle_prompt = {idle.sequence->committed(), static_cast<int64_t>(idle.chain.size())};
  }
  const Plan next = plan_next(input, speed_, options_.planner);
  switch (next.kind) {
    case Plan::Kind::kNothing: break;
    case Plan::Kind::kPrefill:
      dispatch_prefill(*requests_.at(prefilling_.front()), next.slice_end);
      break;
    case Plan::Kind::kDecode: dispatch_decode(next.decode_steps); break;
    case Plan::Kind::kIdlePrefill: dispatch_idle(next.slice_end); break;
  }
  last_was_decode_ = next.kind == Plan::Kind::kDecode;
}

void SchedulerCore::dispatch_prefill(Request& request, int64_t slice_end) {
  // Promised at the start: running out here is a bug.
  CHECK(request.sequence->reserve(slice_end));
  wire::PrefillJob job;
  job.job = next_job_++;
  job.position = request.sequence->committed();
  job.token_ids.assign(request.prompt.begin() + job.position, request.prompt.begin() + slice_end);
  job.pages = request.sequence->pages();
  if (slice_end == static_cast<int64_t>(request.prompt.size())) job.sample = request.sample;
  in_flight_ = InFlight{job.job, {request.handle}, false, job.token_ids};
  send(Actor::kPrefill, std::move(job));
}

void SchedulerCore::dispatch_idle(int64_t slice_end) {
  Reprefill& idle = reprefills_.front();
  CHECK(idle.sequence->reserve(slice_end));
  wire::PrefillJob job;
  job.job = next_job_++;
  job.position = idle.sequence->committed();
  job.token_ids.assign(idle.chain.begin() + job.position, idle.chain.begin() + slice_end);
  job.pages = idle.sequence->pages();
  in_flight_ = InFlight{job.job, {}, true, job.token_ids};
  send(Actor::kPrefill, std::move(job));
}

void SchedulerCore::dispatch_decode(int steps) {
  wire::DecodeJob job;
  job.job = next_job_++;
  job.steps_max = steps;
  in_flight_ = InFlight{job.job, {}, false, {}};
  const size_t batch = std::min<size_t>(decoding_.size(), options_.planner.batch_max);
  for (size_t i = 0; i < batch; ++i) {
    // Those beyond a batch get their turn next time.
    const uint64_t handle = decoding_.front();
    decoding_.splice(decoding_.end(), decoding_, decoding_.begin());
    Request& request = *requests_.at(handle);
    wire::DecodeSequence sequence;
    sequence.sequence = handle;
    sequence.token = request.sampled.back();
    sequence.position = request.sequence->committed();
    const auto left = request.max_tokens - static_cast<int32_t>(request.sampled.size());
    sequence.steps_max = std::min(steps, left);
    CHECK(request.sequence->reserve(sequence.position + sequence.steps_max));
    sequence.pages = request.sequence->pages();
    sequence.end_tokens = request.end_tokens;
    sequence.sample = request.sample;
    in_flight_->requests.push_back(handle);
    job.sequences.push_back(std::move(sequence));
  }
  send(Actor::kDecode, std::move(job));
}

void SchedulerCore::on(wire::PrefillDone&& done) {
  if (!in_flight_ || in_flight_->job != done.job) return;  // of an earlier life
  const InFlight job = *std::exchange(in_flight_, std::nullopt);
  if (!done.error) speed_.add_prefill(static_cast<int64_t>(job.tokens.size()), done.compute_us);
  if (job.idle) return on_idle_done(job, done);
  Request& request = *requests_.at(job.requests.front());
  if (done.error) return fail(request, *done.error);
  request.sequence->commit(job.tokens, clock_.wall_us());
  counters_.tokens_prefilled += static_cast<int64_t>(job.tokens.size());
  if (request.pending_error) return fail(request, *request.pending_error);
  if (!request.pending_finish.empty()) return finish(request, request.pending_finish);
  if (done.token < 0) {
    if (request.params.stream) {
      request.last_sent_us = clock_.monotonic_us();
      send_to(request, wire::Progress{static_cast<int64_t>(request.prompt.size()),
                                      request.sequence->committed()});
    }
    return;
  }
  prefilling_.pop_front();
  request.state = RequestState::kDecoding;
  request.first_token_us = clock_.monotonic_us();
  decoding_.push_back(request.handle);
  std::vector<wire::Delta> deltas;
  const bool ended = take_token(request, done.token, done.logprob, deltas);
  send_deltas(request, std::move(deltas));
  if (ended) finish(request, request.pending_finish);
}

void SchedulerCore::on(wire::DecodeDone&& done) {
  if (!in_flight_ || in_flight_->job != done.job) return;
  const InFlight job = *std::exchange(in_flight_, std::nullopt);
  if (done.error) {
    for (const uint64_t handle : job.requests) fail(*requests_.at(handle), *done.error);
    return;
  }
  int64_t tokens = 0;
  for (const auto& result : done.sequences) tokens += int64_t(result.token_ids.size());
  speed_.add_decode(done.steps, tokens, done.compute_us);
  for (const wire::DecodedSequence& result : done.sequences) {
    Request& request = *requests_.at(result.sequence);
    if (result.token_ids.empty()) continue;
    // Every token but the last of the burst was fed, so its K and V are in pages.
    std::vector<int32_t> fed = {request.sampled.back()};
    fed.insert(fed.end(), result.token_ids.begin(), result.token_ids.end() - 1);
    request.sequence->commit(fed, clock_.wall_us());
    if (request.pending_error) {
      fail(request, *request.pending_error);
      continue;
    }
    std::vector<wire::Delta> deltas;
    bool ended = false;
    for (size_t i = 0; i < result.token_ids.size() && !ended; ++i) {
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
  if (request.sample.repetition_penalty != 1) request.sample.history.push_back(token);
  if (std::ranges::find(request.end_tokens, token) != request.end_tokens.end()) {
    request.pending_finish = "stop";
    return true;
  }
  for (OutputStream::Piece& piece : request.output->push(token)) {
    deltas.push_back({std::move(piece.text), piece.reasoning});
  }
  if (request.output->stopped()) {
    request.pending_finish = "stop";
  } else if (static_cast<int32_t>(request.sampled.size()) >= request.max_tokens) {
    request.pending_finish = "length";
  }
  return !request.pending_finish.empty();
}

// Neighbours of one kind go as one message.
void SchedulerCore::send_deltas(Request& request, std::vector<wire::Delta>&& deltas) {
  if (!request.params.stream) return;
  for (size_t i = 0; i < deltas.size();) {
    wire::Delta whole = std::move(deltas[i]);
    for (++i; i < deltas.size() && deltas[i].reasoning == whole.reasoning; ++i) {
      whole.text += deltas[i].text;
    }
    request.last_sent_us = clock_.monotonic_us();
    send_to(request, std::move(whole));
  }
}

// The actor was restarted: what it was given is lost, and is not given to it again.
void SchedulerCore::fail_in_flight(Actor actor) {
  const Error lost = {ErrorCode::kInternal, "",
                      "the actor that worked on this request failed and was restarted"};
  // While a decode job is out, last_was_decode_ says whose it is.
  if (in_flight_ && (actor == Actor::kDecode) == last_was_decode_) {
    const InFlight job = *std::exchange(in_flight_, std::nullopt);
    for (const uint64_t handle : job.requests) fail(*requests_.at(handle), lost);
    if (job.idle) finish_idle(/*complete=*/false);
  }
  if (actor != Actor::kPrefill) return;
  for (const auto& [job, handle] : std::exchange(encoding_requests_, {})) {
    if (Request* request = find_request(handle)) fail(*request, lost);
  }
  for (const auto& [job, put] : std::exchange(encoding_puts_, {})) {
    reply_error(put.client, put.id, lost);
  }
  encoding_histories_.clear();
  histories_.clear();
}

}  // namespace cascade
