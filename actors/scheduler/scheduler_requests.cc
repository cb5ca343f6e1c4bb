// A request from admission to its last message.
#include <algorithm>
#include <memory>

#include "actors/scheduler/answer_limits.h"
#include "actors/scheduler/disk/conversation_room.h"
#include "actors/scheduler/earlier_turns.h"
#include "actors/scheduler/overflow.h"
#include "actors/scheduler/prompt_size.h"
#include "actors/scheduler/request_chain.h"
#include "actors/scheduler/sample_spec.h"
#include "actors/scheduler/scheduler_core.h"
#include "actors/scheduler/think_policy.h"
#include "base/random.h"
#include "model/grammar/compile.h"
#include "model/harmony.h"
#include "wire/conversation_rules.h"
#include "wire/request_rules.h"

namespace cascade {
namespace {

// The largest number of messages. With this many, and with the text that check_text_bytes() lets
// through, a conversation still fits into the message that takes it to the tokenizer
// (wire/frames.h), whatever else that message carries.
constexpr size_t kMessagesMax = 65'536;
// The largest number of chunks: each is looked for in the texts of the others.
constexpr size_t kChunksMax = 4096;
// Earlier turns that come back have at most this part of the prompt's room. Each turn prefills them
// anew, while the history before them is found.
constexpr int64_t kRetrievedDivisor = 8;

Status check_count(const char* field, size_t count, size_t limit) {
  if (count <= limit) return {};
  return invalid_argument(
      field, "has " + std::to_string(count) + " elements; the limit is " + std::to_string(limit));
}

Status check_logit_bias(const std::vector<wire::LogitBias>& biases, int32_t vocab_size) {
  for (const wire::LogitBias& entry : biases) {
    if (entry.token >= 0 && entry.token < vocab_size) continue;
    return invalid_argument(
        "sampling.logit_bias[" + std::to_string(entry.token) + "]",
        "the token is not in the vocabulary; the limit is " + std::to_string(vocab_size - 1));
  }
  return {};
}

// What changes the calls in an answer; nullopt if they need no change, or there cannot be any.
std::optional<CallTranslator> call_translator(const Model& model,
                                              const wire::GenerateRequest& params) {
  const CallForm form = model.templates.call_form();
  if (form == CallForm::kJson || HarmonyTokens::of(model.tokenizer)) return std::nullopt;
  const bool has_parts = params.grammar && params.grammar->kind == GrammarKind::kParts;
  const std::string demanded = has_parts ? tools_of_parts(params.grammar->schema) : "";
  if (params.tools.empty() && demanded.empty()) return std::nullopt;
  ToolTypes types(params.tools);
  types.add(demanded);  // a demanded call is written by the schema that demands it
  return CallTranslator(call_marks(form, model.tokenizer), std::move(types));
}

// Checks the ids that a client gave in place of a text.
Status check_token_ids(const std::vector<int32_t>& ids, int32_t vocab_size) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && ids[i] < vocab_size) continue;
    return invalid_argument("prompt_token_ids[" + std::to_string(i) + "]",
                            "is " + std::to_string(ids[i]) +
                                ", which is not in the vocabulary; the limit is " +
                                std::to_string(vocab_size - 1));
  }
  return {};
}

wire::Usage usage_of(const Request& request) {
  return {.prompt_tokens = static_cast<int64_t>(request.prompt.size()),
          .reused_tokens = request.reused_tokens,
          .loaded_tokens = request.loaded_tokens,
          .prefilled_tokens = request.prefilled_tokens,
          .miss = request.miss,
          .completion_tokens = static_cast<int64_t>(request.sampled.size()),
          .reasoning_tokens = request.output ? request.output->reasoning_tokens() : 0,
          .selected_tokens = request.selected_tokens,
          .drafted_tokens = request.drafted_tokens,
          .accepted_tokens = request.accepted_tokens,
          .approximate_tokens = request.approximate_tokens};
}

}  // namespace

Status SchedulerCore::admit(const Client& client, const wire::RequestId& id,
                            const wire::GenerateRequest& params) const {
  if (stopping_since_us_) return Error{ErrorCode::kUnavailable, "", "the daemon is stopping"};
  if (requests_.find(client, id) != nullptr || admission_.is_being_refused(client, id)) {
    return Error{ErrorCode::kConflict, "request_id", "is the id of another running request"};
  }
  RETURN_IF_ERROR(admission_.find_place(client.tenant, params));
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

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       wire::GenerateRequest&& params) {
  accept(client, id, std::move(params), /*prefix=*/false);
}

void SchedulerCore::accept(const Client& client, const wire::RequestId& id,
                           wire::GenerateRequest&& params, bool prefix) {
  if (const Status admitted = admit(client, id, params); !admitted.ok()) {
    return admission_.refuse(client, id, admitted.error());
  }
  auto owned = std::make_unique<Request>();
  Request& request = *owned;
  request.handle = requests_.next_handle();
  request.client = client;
  request.id = id;
  request.params = std::move(params);
  request.prefix = prefix;
  request.had_delta_credit = request.params.delta_credit != 0;
  request.accepted_us = request.last_sent_us = clock_.monotonic_us();
  if (const Status prepared = prepare(request); !prepared.ok()) {
    doors_.sessions.leave(request);
    ++counters_.failed;
    outbox_.reply(client, id, wire::ErrorReply{prepared.error(), 0, request.room_tokens});
    return;
  }
  if (request.params.retain_output) request.output_id = random_id("output", options_.random);
  outbox_.reply(client, id,
                wire::Accepted{static_cast<int32_t>(requests_.waiting().size()), request.output_id,
                               doors_.status.fingerprint()});
  requests_.add(std::move(owned));
  encode_request(request);
}

// Fills in the conversation; registers chunks that were given as text.
Status SchedulerCore::prepare(Request& request) {
  wire::GenerateRequest& params = request.params;
  AttentionChoice attention = options_.attention;
  if (params.attention) {
    ASSIGN_OR_RETURN(attention, parse_attention(*params.attention));
  }
  if (params.attention && !attention.drafts.is_dense() && compute_.states.is_needed()) {
    return unsupported("attention",
                       "\"verify\" does not work with models that have recurrent layers, whose "
                       "state cannot go back to before a wrong draft; \"dense\" gives the same "
                       "answer");
  }
  request.attention = attention.mode;
  request.drafts = attention.drafts;
  RETURN_IF_ERROR(check_logit_bias(params.sampling.logit_bias, model_.config.vocab_size));
  if (!params.chunks.empty()) {
    RETURN_IF_ERROR(compose_chunks(request));
  } else if (!params.prompt_token_ids.empty()) {
    RETURN_IF_ERROR(take_token_ids(request));
  } else if (!params.prompt) {
    RETURN_IF_ERROR(take_messages(request));
  }
  if (params.continue_final_message.value_or(false)) {
    request.begun = std::move(request.messages.back().content);
    request.begun_verbatim = request.messages.back().verbatim;
    request.messages.pop_back();
    RETURN_IF_ERROR(check_begun(request.begun));
  }
  RETURN_IF_ERROR(
      take_think_policy(options_.think_policy, model_, compute_.states.is_needed(), request));
  request.sample = sample_spec(params, model_.generation, options_.random);
  if (!params.ignore_eos) request.end_tokens = model_.generation.end_tokens;
  return check_text_bytes(model_.config, request);
}

// Takes a prompt that is tokenized already. A retained output keeps the prompt's text.
Status SchedulerCore::take_token_ids(Request& request) {
  wire::GenerateRequest& params = request.params;
  RETURN_IF_ERROR(check_token_ids(params.prompt_token_ids, model_.config.vocab_size));
  const auto tokens = static_cast<int64_t>(params.prompt_token_ids.size());
  const int64_t context = model_.config.context_tokens_max;
  if (tokens + 1 > context) return too_many_tokens(request, tokens, context);
  if (params.retain_output) {
    ASSIGN_OR_RETURN(params.prompt, kept_prompt(model_.tokenizer, params.prompt_token_ids));
  }
  return {};
}

void SchedulerCore::encode_request(Request& request) {
  wire::EncodeJob job;
  job.job = jobs_.next();
  job.now_unix_s = clock_.wall_us() / 1'000'000;
  job.thinking = request.params.thinking;
  job.reasoning_effort = request.params.reasoning_effort;
  job.tools = request.params.tools;
  job.grammar = request.params.grammar;
  if (request.params.prompt || !request.params.prompt_token_ids.empty()) {
    job.mode = wire::EncodeJob::Mode::kRaw;
    job.token_ids = request.params.prompt_token_ids;
    if (job.token_ids.empty()) job.raw = *request.params.prompt;
  } else {
    job.messages = request.messages;
    job.retrieval = request.retrieval;
    job.goes_on = request.params.continue_final_message.value_or(false);
    if (job.goes_on) {
      job.messages.push_back({.role = "assistant",
                              .content = request.begun,
                              .reasoning = {},
                              .verbatim = request.begun_verbatim});
    }
    LeftOut ahead;  // what idle time has left out of the session
    if (leaves_out(request.on_overflow) && !job.retrieval) {
      request.prompt_room = conversation_room(
          {index_, tenants_, disk_.room, disk_.spills, registry_,
           static_cast<int64_t>(pool_.page_count()), model_.config.context_tokens_max,
           options_.planner.slice_tokens_max, options_.max_tokens_default},
          request);
      if (request.on_overflow == OnOverflow::kRetrieve) {
        request.retrieved_max = request.prompt_room / kRetrievedDivisor;
        request.prompt_room -= request.retrieved_max;
      }
      job.room = request.prompt_room;
      const std::optional<int64_t> planned = doors_.sessions.planned(request);
      if (planned) ahead = cut_before(request, *planned);
      if (planned && is_mostly_computed(request, idle_.queue())) job.preferred = ahead;
    }
    keep_.summaries.choose(request, ahead);
    if (loses_summary(request.summaries, ahead)) job.preferred = std::nullopt;
    for (const SummaryChoice& choice : request.summaries) job.summaries.push_back(choice.text);
    if (request.prefix) {
      job.mode = request.messages.back().role == "user" ? wire::EncodeJob::Mode::kBeginning
                                                        : wire::EncodeJob::Mode::kHistory;
    }
  }
  encoding_.requests.put(job.job, {request.handle});
  const int64_t bytes = prompt_bytes(request);
  admission_.count(request, {1, bytes / kBytesPerToken, bytes});
  outbox_.send(Actor::kPrefill, std::move(job));
}

void SchedulerCore::on(wire::EncodeDone&& done) {
  if (const auto encoded = encoding_.requests.take(done.job)) {
    if (Request* request = requests_.find(encoded->handle)) prompt_ready(*request, std::move(done));
    return;
  }
  if (done.tokens_left_out > 0) {
    done.error =
        invalid_argument("", "the text has " + std::to_string(done.tokens_left_out) +
                                 " tokens; the limit is " + std::to_string(wire::kNumbersMax));
  }
  if (auto history = idle_.take_tokenized(done.job)) {
    if (history->draft) return keep_.summaries.tokenized(*std::move(history), std::move(done));
    if (history->shorter) doors_.sessions.plan(*history, done);
    keep_.reprefills.tokenized(*std::move(history), std::move(done));
  } else if (auto put = encoding_.puts.take(done.job)) {
    chunk_text_ready(*std::move(put), std::move(done));
  } else {
    text_door_.on(done);
  }
}

void SchedulerCore::prompt_ready(Request& request, wire::EncodeDone&& done) {
  if (done.error) return fail(request, *done.error);
  if (done.left_out) take_left_out(*done.left_out, registry_, request);
  take_summarised(done.summarised, request);
  if (encoding_.retrievals.begin(request, done)) return;
  take_retrieved(done, request);
  if (request.prompt_room > 0) keep_.pins.heal_from(request);
  const int64_t tokens = std::ssize(done.token_ids) + done.tokens_left_out;
  const int64_t context = model_.config.context_tokens_max;
  if (tokens + 1 > context) {
    return fail(request, too_many_tokens(request, tokens, context));
  }
  request.prompt = std::move(done.token_ids);
  request.generation_prefix = std::move(done.generation_prefix);
  if (request.summarised) use_chunks(request.client.tenant, request.summarised->chunk_ids);
  request.texts = keep_.uses.find(request.client.tenant, texts_of(request), request.prompt);
  add_retrieved(registry_, request);
  if (compute_.states.is_needed()) {
    request.history_tokens = history_tokens(model_.tokenizer, request);
    if (!request.retrieved.empty()) request.history_tokens = request.earlier.where.begin;
  }
  if (request.prefix) return prefix_ready(request);
  const auto memory = static_cast<int64_t>(pool_.page_count()) * kPageTokens;
  if (tokens + 1 > memory && request.attention.window > 0) {
    const int64_t pages = working_pages(tenants_.widest(request.attention), tokens + 1,
                                        options_.planner.slice_tokens_max);
    if (pages > static_cast<int64_t>(pool_.page_count())) {
      return fail(request, window_too_long(request, pages * kPageTokens, memory));
    }
  } else if (tokens + 1 > memory) {
    const std::optional<int64_t> disk = disk_.room.tokens_for(request);
    if (tokens + 1 > std::max(memory, disk.value_or(0))) {
      const int64_t indexed = disk_.spills.tokens_max(request.attention);
      return fail(request, too_many_to_hold(request, tokens, memory, disk, indexed));
    }
  }
  request.max_tokens = answer_tokens(request);
  if (const Status fits = check_top_logprobs(request.params.top_logprobs, request.max_tokens);
      !fits.ok()) {
    return fail(request, fits.error());
  }
  if (const Status room = promise_pages(request, tokens + request.max_tokens); !room.ok()) {
    return fail(request, room.error());
  }
  request.inside_think = done.inside_think;
  if (request.sample.constraint) request.sample.constraint->inside_think = done.inside_think;
  const auto harmony = harmony_reader(model_.tokenizer, request.prompt);
  request.output = std::make_unique<OutputStream>(
      model_.tokenizer, harmony ? harmony->part() == HarmonyPart::kThoughts : request.inside_think,
      request.params.stop, wire::goes_on_with_text(request.params),
      call_translator(model_, request.params), harmony);
  if (request.sample.repetition_penalty != 1) {
    request.sample.history = request.prompt;
    request.sample.history_prompt_tokens = static_cast<int32_t>(tokens);
  }
  wait(request);
}

void SchedulerCore::wait(Request& request) {
  const auto owner = tenants_.add(request.client.tenant, request.attention);
  if (!owner.ok()) return fail(request, owner.error());
  shares_.ask(request.client.tenant);
  admission_.count(request,
                   {1, static_cast<int64_t>(request.prompt.size()), request.counted.text_bytes});
  request.known_tokens = known_tokens(request);
  requests_.wait(request);
}

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       const wire::CancelRequest& cancel) {
  Request* target = requests_.find(client, cancel.target);
  if (target == nullptr) {
    return outbox_.reply_error(client, id, not_found("target", "no such request is running"));
  }
  outbox_.reply(client, id, wire::Ack{});
  end(*target, "cancelled");
}

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       const wire::DeltaCredit& credit) {
  Request* target = requests_.find(client, credit.target);
  if (target == nullptr) {
    return outbox_.reply_error(client, id, not_found("target", "no such request is running"));
  }
  Request& request = *target;
  outbox_.reply(client, id, wire::Ack{});
  if (!request.params.delta_credit) return;  // the request needs no credit
  request.had_delta_credit = true;
  const int64_t total = int64_t{*request.params.delta_credit} + credit.deltas;
  request.params.delta_credit =
      static_cast<int32_t>(std::min<int64_t>(total, wire::kDeltaCreditMax));
  send_deltas(request, {});
}

void SchedulerCore::on_client_gone(const Client& client) {
  doors_.prefixes.release_all(client);
  admission_.client_gone(client);
  std::vector<uint64_t> handles;
  for (const auto& [handle, request] : requests_.all()) {
    if (request->client == client) handles.push_back(handle);
  }
  for (const uint64_t handle : handles) {
    Request& request = requests_.at(handle);
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
  outbox_.tell_of(request, EventKind::kRequestFinished, std::string(to_string(error.code)));
  send_deltas(request, {}, /*last=*/true);
  outbox_.reply(request, wire::ErrorReply{std::move(error), 0, request.room_tokens});
  close(request.handle);
}

void SchedulerCore::finish(Request& request, const std::string& finish_reason) {
  if (request.prefix) {
    ++counters_.cancelled;
    outbox_.tell_of(request, EventKind::kRequestFinished, finish_reason);
    outbox_.reply(request,
                  wire::ErrorReply{{ErrorCode::kCancelled, "", "the request was cancelled"}, 0});
    return close(request.handle);
  }
  const int64_t now = clock_.monotonic_us();
  wire::Final final;
  final.finish_reason = finish_reason;
  final.seed = request.sample.seed;
  final.attention = to_string(AttentionChoice{request.attention.exact(), request.drafts});
  final.approximation = request.attention.approximation;
  final.left_out = request.told_left_out();
  final.retrieved = request.retrieved;
  final.retrieved_text = std::move(request.retrieved_text);
  final.summarised = request.told_summarised();
  if (request.output) {
    std::vector<wire::Delta> rest;
    for (OutputStream::Piece& piece : request.output->finish(finish_reason == "stop")) {
      rest.push_back({std::move(piece.text), piece.reasoning});
    }
    if (request.had_delta_credit) send_deltas(request, std::move(rest), /*last=*/true);
    final.text = request.output->answer();
    final.reasoning = request.output->reasoning();
    final.think_spans = request.output->think_spans();
  }
  final.usage = usage_of(request);
  if (request.params.retain_output && !request.sampled.empty() && !request.client_gone) {
    final.output_chunk_id = retain(request, finish_reason);
    // A cancelled answer does not become a turn: its client did not want it.
    const bool is_turn = !final.output_chunk_id.empty() && finish_reason != "cancelled";
    if (is_turn) doors_.sessions.add_turn(request, final.output_chunk_id);
    final.think_policy = request.think_policy;
  } else if (finish_reason == "cancelled" && request.output) {
    // A conversation may go on from half an answer, but not from half a thought.
    request.dead_end = request.client_gone || request.output->answer().empty();
  }
  final.missing = std::move(request.missing);
  final.token_ids = request.sampled;
  if (request.params.logprobs) final.logprobs = request.logprobs;
  final.top_token_ids = std::move(request.top_token_ids);
  final.top_logprobs = std::move(request.top_logprobs);
  const int64_t started = request.prefill_start_us > 0 ? request.prefill_start_us : now;
  const int64_t first = request.first_token_us > 0 ? request.first_token_us : now;
  final.timings = {.queue_us = started - request.accepted_us,
                   .prefill_us = first - started,
                   .first_token_us = first - request.accepted_us,
                   .decode_us = now - first,
                   .total_us = now - request.accepted_us};
  ++(finish_reason == "cancelled" ? counters_.cancelled : counters_.done);
  const std::vector<StoredName> names = {
      {request.client.tenant, final.output_chunk_id},
      {request.client.tenant, request.params.session, StoredKind::kSession}};
  // When the request is answered, the uses of its chunks are durable, too.
  if (final.output_chunk_id.empty() && request.parent_ids.empty()) {
    outbox_.reply(request, std::move(final));
  } else {
    metadata_.reply(request.client, request.id, names, std::move(final));
  }
  outbox_.tell_of(request, EventKind::kRequestFinished, finish_reason);
  close(request.handle);
}

void SchedulerCore::close(uint64_t handle) {
  Request& request = requests_.at(handle);
  if (request.running()) compute_.speed.add_end(clock_.monotonic_us());
  counters_.tokens_approximate += request.approximate_tokens;
  admission_.count(request, {});
  doors_.sessions.leave(request);
  encoding_.requests.erase_if([&](const EncodingRequest& job) { return job.handle == handle; });
  requests_.leave(request);
  if (request.sequence) {
    if (request.may_be_repeated()) request.recurrent->keep(StateTable::Worth::kEnd);
    finish_chain(*request.sequence, *request.recurrent, clock_.wall_us());
  }
  keep_.uses.note(request);
  keep_.lifecycle.request_ended(request);
  if (request.sequence && request.reader && !request.params.reuse) {
    keep_.lifecycle.forget({tenants_.id(request.client.tenant, request.attention),
                            request.sequence->tokens(), 0, Removal::kDead, ForgetScope::kUnshared});
  } else if (request.sequence && request.dead_end) {
    keep_.lifecycle.forget({tenants_.id(request.client.tenant, request.attention),
                            request.sequence->tokens(), std::ssize(request.prompt), Removal::kDead,
                            ForgetScope::kUnreachable});
  }
  requests_.remove(handle);
}

bool SchedulerCore::in_flight(const Request& request) const {
  if (request.loading) return true;
  const InFlight* job = compute_.slices.empty() ? compute_.bursts.front() : compute_.slices.front();
  return job != nullptr && std::ranges::find(job->requests, request.handle) != job->requests.end();
}

}  // namespace cascade
