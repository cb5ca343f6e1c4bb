// A request from admission to its last message.
#include <algorithm>

#include "actors/scheduler/composition.h"
#include "actors/scheduler/scheduler_core.h"
#include "actors/scheduler/tenant.h"
#include "base/random.h"

namespace cascade {
namespace {

// A conversation of so many messages, and of the text that check_text_bytes() lets through, still
// fits the message in which it goes to be tokenized (wire/frames.h), whatever else that carries.
constexpr size_t kMessagesMax = 65'536;
// Each is looked for in the texts of the others.
constexpr size_t kChunksMax = 4096;

constexpr int64_t kRetryAfterMs = 1000;

// Later requests that may start before one that waits for pages: a few keep the cores busy while
// running requests end; more would let a stream of small requests starve a large one.
constexpr int kOvertakenMax = 16;

int64_t text_bytes(const std::vector<ChatMessage>& messages, const std::string& raw) {
  auto bytes = static_cast<int64_t>(raw.size());
  for (const ChatMessage& message : messages) {
    bytes += static_cast<int64_t>(message.content.size() + message.reasoning.size());
  }
  return bytes;
}

int64_t text_bytes(const Request& request) {
  return text_bytes(request.messages, request.params.prompt.value_or(""));
}

int64_t pages_for(int64_t tokens) {
  return (tokens + kPageTokens - 1) / kPageTokens;
}

Status check_count(const char* field, size_t count, size_t limit) {
  if (count <= limit) return {};
  return invalid_argument(
      field, "has " + std::to_string(count) + " elements; the limit is " + std::to_string(limit));
}

const char* prompt_field(const wire::GenerateRequest& params) {
  if (params.prompt) return "prompt";
  return params.chunks.empty() ? "messages" : "chunks";
}

}  // namespace

Status SchedulerCore::admit(const std::string& client, const wire::RequestId& id,
                            const wire::GenerateRequest& params) const {
  if (stopping_since_us_) return Error{ErrorCode::kUnavailable, "", "the daemon is stopping"};
  if (by_client_.contains({client, id})) {
    return Error{ErrorCode::kConflict, "request_id", "is in use by another request"};
  }
  const auto waiting = static_cast<int>(waiting_.size() + encoding_requests_.size());
  if (waiting >= options_.requests_waiting_max) {
    return resource_exhausted(
        "", "the queue is full: " + std::to_string(waiting) + " requests are waiting");
  }
  if (text_bytes_waiting_ > options_.text_bytes_waiting_max) {
    return resource_exhausted("", "the queue is full: the waiting prompts hold " +
                                      std::to_string(text_bytes_waiting_) + " bytes");
  }
  RETURN_IF_ERROR(check_count("messages", params.messages.size(), kMessagesMax));
  RETURN_IF_ERROR(check_count("chunks", params.chunks.size(), kChunksMax));
  for (size_t i = 0; i < params.messages.size(); ++i) {
    const std::string& role = params.messages[i].role;
    if (role != "system" && role != "user" && role != "assistant" && role != "tool") {
      return invalid_argument("messages[" + std::to_string(i) + "].role",
                              "must be system, user, assistant or tool");
    }
  }
  return {};
}

void SchedulerCore::on(const std::string& client, const wire::RequestId& id,
                       wire::GenerateRequest&& params) {
  if (const Status admitted = admit(client, id, params); !admitted.ok()) {
    const bool later = admitted.error().code == ErrorCode::kResourceExhausted ||
                       admitted.error().code == ErrorCode::kUnavailable;
    reply_error(client, id, admitted.error(), later ? kRetryAfterMs : 0);
    return;
  }
  auto owned = std::make_unique<Request>();
  Request& request = *owned;
  request.handle = next_handle_++;
  request.client = client;
  request.id = id;
  request.params = std::move(params);
  request.accepted_us = request.last_sent_us = clock_.monotonic_us();
  if (const Status prepared = prepare(request); !prepared.ok()) {
    ++counters_.failed;
    reply_error(client, id, prepared.error());
    return;
  }
  reply(client, id, wire::Accepted{static_cast<int32_t>(waiting_.size())});
  by_client_[{client, id}] = request.handle;
  requests_.emplace(request.handle, std::move(owned));
  encode_request(request);
}

// Fills in the conversation; registers chunks that were given as text.
Status SchedulerCore::prepare(Request& request) {
  wire::GenerateRequest& params = request.params;
  if (!params.chunks.empty()) {
    ASSIGN_OR_RETURN(Composition composition,
                     compose(params.chunks, kLocalTenant, registry_, 2 * text_bytes_max()));
    request.messages = std::move(composition.messages);
    RETURN_IF_ERROR(check_text_bytes("chunks", text_bytes(request)));
    use_chunks(composition.chunk_ids);
    for (Chunk& chunk : composition.new_chunks) register_text(std::move(chunk));
  } else {
    request.messages = std::exchange(params.messages, {});
    for (ChatMessage& message : request.messages) {
      message.verbatim = message.verbatim && message.role == "assistant";
    }
  }
  set_sampling(request);
  return check_text_bytes(prompt_field(params), text_bytes(request));
}

void SchedulerCore::set_sampling(Request& request) {
  const GenerationConfig& defaults = model_.generation;
  const wire::SamplingParams& given = request.params.sampling;
  // A request that sets the temperature has chosen how to sample; the model's cut-offs then hold
  // only as far as the request does not name its own.
  wire::SampleSpec& spec = request.sample;
  spec.temperature = given.temperature.value_or(defaults.do_sample ? defaults.temperature : 0);
  spec.top_p = given.top_p.value_or(defaults.do_sample ? defaults.top_p : 1);
  spec.top_k = given.top_k.value_or(defaults.do_sample ? defaults.top_k : 0);
  spec.min_p = given.min_p.value_or(defaults.do_sample ? defaults.min_p : 0);
  spec.repetition_penalty = given.repetition_penalty.value_or(defaults.repetition_penalty);
  spec.seed = given.seed.value_or(system_random());
  if (!request.params.ignore_eos) request.end_tokens = defaults.end_tokens;
}

int64_t SchedulerCore::text_bytes_max() const {
  // Tokens of real text have 3 to 5 bytes; runs of blanks may have a hundred.
  constexpr int64_t kTokenBytesMax = 128;
  // Contexts and a query become one string of the message that goes to the tokenizer.
  return std::min(kTokenBytesMax * model_.config.context_tokens_max,
                  static_cast<int64_t>(wire::kTextBytesMax));
}

// Texts that cannot fit the context are refused before they are tokenized: that takes time.
Status SchedulerCore::check_text_bytes(std::string_view field, int64_t bytes) const {
  if (bytes <= text_bytes_max()) return {};
  return invalid_argument(
      std::string(field),
      "has " + std::to_string(bytes) + " bytes; the limit is " + std::to_string(text_bytes_max()));
}

void SchedulerCore::encode_request(Request& request) {
  wire::EncodeJob job;
  job.job = next_job_++;
  job.now_unix_s = clock_.wall_us() / 1'000'000;
  job.thinking = request.params.thinking;
  if (request.params.prompt) {
    job.mode = wire::EncodeJob::Mode::kRaw;
    job.raw = *request.params.prompt;
  } else {
    job.messages = request.messages;
  }
  encoding_requests_[job.job] = request.handle;
  text_bytes_waiting_ += text_bytes(request);
  send(Actor::kPrefill, std::move(job));
}

void SchedulerCore::on(wire::EncodeDone&& done) {
  if (const auto it = encoding_requests_.find(done.job); it != encoding_requests_.end()) {
    const uint64_t handle = it->second;
    encoding_requests_.erase(it);
    if (Request* request = find_request(handle)) prompt_ready(*request, std::move(done));
  } else if (const auto history = encoding_histories_.find(done.job);
             history != encoding_histories_.end()) {
    const std::string chunk_id = history->second;
    encoding_histories_.erase(history);
    history_ready(chunk_id, std::move(done));
  } else if (const auto put = encoding_puts_.find(done.job); put != encoding_puts_.end()) {
    ChunkPutJob job = std::move(put->second);
    encoding_puts_.erase(put);
    chunk_text_ready(std::move(job), std::move(done));
  }
}

void SchedulerCore::prompt_ready(Request& request, wire::EncodeDone&& done) {
  if (done.error) return fail(request, *done.error);
  const auto tokens = static_cast<int64_t>(done.token_ids.size());
  const int64_t context = model_.config.context_tokens_max;
  if (tokens + 1 > context) {
    return fail(request, invalid_argument(prompt_field(request.params),
                                          "the prompt has " + std::to_string(tokens) +
                                              " tokens; the context holds " +
                                              std::to_string(context) + " with the answer"));
  }
  const int32_t wanted =
      request.params.max_tokens > 0 ? request.params.max_tokens : options_.max_tokens_default;
  request.max_tokens = static_cast<int32_t>(std::min<int64_t>(wanted, context - tokens));
  request.pages_promised = pages_for(tokens + request.max_tokens);
  if (request.pages_promised > static_cast<int64_t>(pool_.page_count())) {
    const auto room = static_cast<int64_t>(pool_.page_count()) * kPageTokens;
    return fail(
        request,
        resource_exhausted("max_tokens",
                           "prompt and answer need " + std::to_string(tokens + request.max_tokens) +
                               " tokens of KV memory; there is room for " + std::to_string(room)));
  }
  request.prompt = std::move(done.token_ids);
  request.generation_prefix = std::move(done.generation_prefix);
  request.inside_think = done.inside_think;
  request.output =
      std::make_unique<OutputStream>(model_.tokenizer, request.inside_think, request.params.stop);
  if (request.sample.repetition_penalty != 1) request.sample.history = request.prompt;
  request.state = RequestState::kWaiting;
  waiting_.push_back(request.handle);
}

// A request for which there are too few pages lets smaller ones behind it start, but not for ever.
void SchedulerCore::start_waiting() {
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (prefilling_.size() + decoding_.size() >=
        static_cast<size_t>(options_.requests_running_max)) {
      return;
    }
    Request& request = *requests_.at(*it);
    // Idle work makes way, once; then requests wait for each other.
    if (start(request) || (pause_idle() && start(request))) {
      for (auto passed = waiting_.begin(); passed != it; ++passed) {
        ++requests_.at(*passed)->overtaken;
      }
      it = waiting_.erase(it);
    } else if (request.overtaken >= kOvertakenMax) {
      return;
    } else {
      ++it;
    }
  }
}

// Takes what is known of the prompt and is promised the rest; false if there are too few pages.
bool SchedulerCore::start(Request& request) {
  // The last token is always computed: its logits are wanted.
  const auto prompt = std::span<const int32_t>(request.prompt).first(request.prompt.size() - 1);
  const int64_t available = available_pages();
  const auto whole_pages = static_cast<int64_t>(prompt.size()) / kPageTokens;
  if (available < request.pages_promised - whole_pages) return false;  // whatever is in pages
  const ChainIndex::Match match = index_.match(prompt);
  const auto found = static_cast<int64_t>(match.pages.size());
  const auto evictable = static_cast<int64_t>(index_.unused_count(match.node));
  if (available - evictable < request.pages_promised - found) return false;
  request.sequence = std::make_unique<ChainSequence>(index_, pool_, arena_);
  request.reused_tokens = request.sequence->reuse(prompt, clock_.wall_us());
  request.state = RequestState::kPrefilling;
  request.prefill_start_us = clock_.monotonic_us();
  text_bytes_waiting_ -= text_bytes(request);
  counters_.tokens_reused += request.reused_tokens;
  prefilling_.push_back(request.handle);
  return true;
}

void SchedulerCore::on(const std::string& client, const wire::RequestId& id,
                       const wire::CancelRequest& cancel) {
  const auto found = by_client_.find({client, cancel.target});
  if (found == by_client_.end()) {
    return reply_error(client, id, not_found("target", "no such request is running"));
  }
  reply(client, id, wire::Ack{});
  end(*requests_.at(found->second), "cancelled");
}

void SchedulerCore::on_client_gone(const std::string& client) {
  std::vector<uint64_t> handles;
  for (const auto& [handle, request] : requests_) {
    if (request->client == client) handles.push_back(handle);
  }
  for (const uint64_t handle : handles) {
    Request& request = *requests_.at(handle);
    request.client_gone = true;
    end(request, "cancelled");
  }
}

// Ends the request now, or when the job that works on it is done.
void SchedulerCore::end(Request& request, const std::string& finish_reason) {
  if (in_flight(request)) {
    request.pending_finish = finish_reason;
  } else {
    finish(request, finish_reason);
  }
}

void SchedulerCore::fail(Request& request, Error error) {
  ++counters_.failed;
  send_to(request, wire::ErrorReply{std::move(error), 0});
  forget(request.handle);
}

void SchedulerCore::finish(Request& request, const std::string& finish_reason) {
  const int64_t now = clock_.monotonic_us();
  wire::Final final;
  final.finish_reason = finish_reason;
  final.seed = request.sample.seed;
  final.usage.prompt_tokens = static_cast<int64_t>(request.prompt.size());
  final.usage.reused_tokens = request.reused_tokens;
  if (request.sequence) {
    const int64_t computed = std::min(request.sequence->committed(), final.usage.prompt_tokens);
    final.usage.prefilled_tokens = std::max<int64_t>(0, computed - request.reused_tokens);
  }
  final.usage.completion_tokens = static_cast<int64_t>(request.sampled.size());
  if (request.output) {
    std::vector<wire::Delta> rest;
    for (OutputStream::Piece& piece : request.output->finish()) {
      rest.push_back({std::move(piece.text), piece.reasoning});
    }
    send_deltas(request, std::move(rest));
    final.text = request.output->answer();
    final.reasoning = request.output->reasoning();
    final.usage.reasoning_tokens = request.output->reasoning_tokens();
  }
  if (request.params.retain_output && !request.sampled.empty() && !request.client_gone) {
    final.output_chunk_id = retain(request, finish_reason);
  }
  final.token_ids = request.sampled;
  if (request.params.logprobs) final.logprobs = request.logprobs;
  const int64_t started = request.prefill_start_us > 0 ? request.prefill_start_us : now;
  const int64_t first = request.first_token_us > 0 ? request.first_token_us : now;
  final.timings = {.queue_us = started - request.accepted_us,
                   .prefill_us = first - started,
                   .first_token_us = first - request.accepted_us,
                   .decode_us = now - first,
                   .total_us = now - request.accepted_us};
  ++(finish_reason == "cancelled" ? counters_.cancelled : counters_.done);
  send_to(request, std::move(final));
  forget(request.handle);
}

void SchedulerCore::forget(uint64_t handle) {
  const auto it = requests_.find(handle);
  const Request& request = *it->second;
  const bool started =
      request.state == RequestState::kPrefilling || request.state == RequestState::kDecoding;
  if (!started) text_bytes_waiting_ -= text_bytes(request);
  std::erase_if(encoding_requests_, [&](const auto& entry) { return entry.second == handle; });
  waiting_.remove(handle);
  prefilling_.remove(handle);
  decoding_.remove(handle);
  by_client_.erase({request.client, request.id});
  if (request.sequence) request.sequence->finish(clock_.wall_us());
  requests_.erase(it);
}

bool SchedulerCore::in_flight(const Request& request) const {
  return in_flight_ &&
         std::ranges::find(in_flight_->requests, request.handle) != in_flight_->requests.end();
}

Request* SchedulerCore::find_request(uint64_t handle) {
  const auto it = requests_.find(handle);
  return it == requests_.end() ? nullptr : it->second.get();
}

}  // namespace cascade
