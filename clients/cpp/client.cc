// Calls with one answer: connecting, status, chunks, and the names of the earlier Python library.
#include "clients/cpp/client.h"

#include <algorithm>

#include "base/clock.h"
#include "clients/cpp/endpoint.h"
#include "wire/loading.h"

namespace cascade::client {
namespace {

// Bounds of the pause between two Pings to a daemon that is loading its model.
constexpr int64_t kLoadingPauseMsMin = 10;
constexpr int64_t kLoadingPauseMsMax = 1'000;

// The largest number of late answers. No client can have caused more, so whoever sends more is not
// a daemon of ours.
constexpr int kLateAnswersMax = 10'000;

// The chunk in the answer to a change. Daemons that do not send the field `gone` yet show by an
// empty list of holders that the chunk was deleted.
Chunk chunk_of(wire::ChunkReply&& reply, ChunkChange* change) {
  const bool gone = reply.gone.value_or(reply.chunk.holders.empty());
  if (change != nullptr) *change = {std::move(reply.ended), gone};
  return std::move(reply.chunk);
}

}  // namespace

Result<Client> Client::connect(std::string endpoint, const ClientOptions& options) {
  Client client(std::move(endpoint), options);
  RETURN_IF_ERROR(client.ensure_connected());
  return client;
}

// Reads the answers that came too late for their calls, and notices a connection that broke since
// the last call before a request is lost on it. Connects if there is no connection.
Status Client::ensure_connected() {
  for (int late = 0; connection_ != nullptr; ++late) {
    const auto received = connection_->receive(0);
    if (received.ok() && !received->has_value()) return {};
    if (!received.ok() || late == kLateAnswersMax) disconnect(unreachable("broken"));
  }
  ASSIGN_OR_RETURN(connection_, Connection::open(endpoint_, options_));
  return say_hello();
}

Status Client::say_hello() {
  boot_id_.clear();  // a new connection may meet a new daemon
  bool waited = false;
  const Status greeted = say_hello(waited);
  if (waited && options_.on_loading) options_.on_loading(nullptr);
  return greeted;
}

Status Client::say_hello(bool& waited) {
  const int64_t deadline_us = system_clock().monotonic_us() + options_.timeout_ms * 1000;
  for (;;) {
    ASSIGN_OR_RETURN(const wire::Message answer, exchange(wire::Ping{}));
    if (const auto* pong = std::get_if<wire::Pong>(&answer)) return learn(*pong);
    const auto* error = std::get_if<wire::ErrorReply>(&answer);
    if (error == nullptr) {
      return disconnect(unreachable("the program that listens there is not a Cascade daemon"));
    }
    if (!error->loading) return from_daemon(*error);
    waited = true;
    RETURN_IF_ERROR(wait_for_load(*error, deadline_us));
  }
}

// Waits until it is time to ask again. Errors: the reply's, if nobody wants to wait any more; the
// connection's, if it broke. On an error the connection is given up.
Status Client::wait_for_load(const wire::ErrorReply& reply, int64_t deadline_us) {
  int64_t pause_ms = std::clamp(reply.retry_after_ms, kLoadingPauseMsMin, kLoadingPauseMsMax);
  if (options_.on_loading) {
    if (!options_.on_loading(&*reply.loading)) return disconnect(from_daemon(reply));
  } else {
    const int64_t left_ms = (deadline_us - system_clock().monotonic_us()) / 1000;
    if (left_ms <= 0) return disconnect(from_daemon(reply));
    pause_ms = std::min(pause_ms, left_ms + 1);
  }
  // The daemon was asked nothing, so only the end of the connection can end this wait early.
  const auto received = connection_->receive(pause_ms);
  return received.ok() ? Status() : Status(disconnect(received.error()));
}

// Gives the connection up; the error passes through.
Error Client::disconnect(Error error) {
  if (connection_ != nullptr) connection_->abandon();
  connection_.reset();
  return error;
}

Error Client::from_daemon(const wire::ErrorReply& reply) {
  retry_after_ms_ = reply.retry_after_ms;
  return reply.error;
}

Status Client::learn(const wire::Pong& pong) {
  const bool restarted = !boot_id_.empty() && pong.boot_id != boot_id_;
  boot_id_ = pong.boot_id;
  daemon_version_ = pong.version;
  if (!restarted) return {};
  return disconnect(
      unreachable("the daemon was restarted: the request is lost, and chunks may be lost, too"));
}

// Sends a request on the open connection and waits for its one answer. Late answers to earlier
// requests are skipped.
Result<wire::Message> Client::exchange(wire::Message request) {
  retry_after_ms_ = 0;
  const wire::RequestId id = new_request_id();
  const Status sent = connection_->send(id, std::move(request));
  if (!sent.ok()) return disconnect(sent.error());
  const int64_t deadline_us = system_clock().monotonic_us() + options_.timeout_ms * 1000;
  for (;;) {
    const int64_t left_us = deadline_us - system_clock().monotonic_us();
    if (left_us < 0) {
      return disconnect(unreachable("the daemon did not answer within " +
                                    std::to_string(options_.timeout_ms) + " ms"));
    }
    auto received = connection_->receive(left_us / 1000 + 1);
    if (!received.ok()) return disconnect(received.error());
    if (received->has_value() && (*received)->request == id) {
      return std::move((*received)->message);
    }
  }
}

// Like exchange(), but for a request that may take any time: waits as long as the daemon answers
// Pings.
Result<wire::Message> Client::exchange_slowly(wire::Message request) {
  retry_after_ms_ = 0;
  const wire::RequestId id = new_request_id();
  const Status sent = connection_->send(id, std::move(request));
  if (!sent.ok()) return disconnect(sent.error());
  std::optional<wire::RequestId> ping;  // not answered yet
  const auto now_ms = [] { return system_clock().monotonic_us() / 1000; };
  for (int64_t since_ms = now_ms();;) {
    const int64_t left_ms =
        since_ms + (ping ? options_.timeout_ms : options_.silence_ms) - now_ms();
    if (left_ms < 0 && ping) return disconnect(unreachable("the daemon fell silent"));
    if (left_ms < 0) {
      ping = new_request_id();
      since_ms = now_ms();
      const Status asked = connection_->send(*ping, wire::Ping{});
      if (!asked.ok()) return disconnect(asked.error());
      continue;
    }
    auto received = connection_->receive(left_ms + 1);
    if (!received.ok()) return disconnect(received.error());
    if (!received->has_value()) continue;
    wire::Envelope& envelope = **received;
    if (envelope.request == id) return std::move(envelope.message);
    if (!ping || envelope.request != *ping) continue;
    const auto* pong = std::get_if<wire::Pong>(&envelope.message);
    if (pong != nullptr) RETURN_IF_ERROR(learn(*pong));
    ping.reset();
    since_ms = now_ms();
  }
}

template <class Reply>
Result<Reply> Client::as_reply(Result<wire::Message> answer) {
  if (!answer.ok()) return answer.error();
  if (auto* reply = std::get_if<Reply>(&*answer)) {
    if constexpr (requires { reply->durable; }) all_durable_ = all_durable_ && reply->durable;
    return std::move(*reply);
  }
  if (const auto* error = std::get_if<wire::ErrorReply>(&*answer)) return from_daemon(*error);
  return Error{ErrorCode::kInternal, "reply",
               "the daemon answered with a message of type " + std::to_string(answer->index())};
}

template <class Reply>
Result<Reply> Client::call(wire::Message request) {
  // The request may first have to wait until another model is loaded.
  if (!options_.model.empty()) return call_slowly<Reply>(std::move(request));
  RETURN_IF_ERROR(ensure_connected());
  return as_reply<Reply>(exchange(std::move(request)));
}

template <class Reply>
Result<Reply> Client::call_slowly(wire::Message request) {
  RETURN_IF_ERROR(ensure_connected());
  return as_reply<Reply>(exchange_slowly(std::move(request)));
}

Status Client::ping() {
  ASSIGN_OR_RETURN(const wire::Pong pong, call<wire::Pong>(wire::Ping{}));
  return learn(pong);
}

Result<wire::StatusReply> Client::status() {
  return call<wire::StatusReply>(wire::StatusRequest{});
}

Result<Chunk> Client::put_chunk(ChunkType type, std::string text) {
  return put_chunk(wire::ChunkPut{type, std::move(text)});
}

Result<Chunk> Client::put_chunk(wire::ChunkPut put) {
  ASSIGN_OR_RETURN(wire::ChunkReply reply, call<wire::ChunkReply>(std::move(put)));
  return std::move(reply.chunk);
}

Result<Chunk> Client::update_chunk(wire::ChunkUpdate update, ChunkChange* change) {
  ASSIGN_OR_RETURN(wire::ChunkReply reply, call<wire::ChunkReply>(std::move(update)));
  return chunk_of(std::move(reply), change);
}

Result<Chunk> Client::rename_chunk(const std::string& id, std::string name) {
  wire::ChunkUpdate update;
  update.id = id;
  update.name = std::move(name);
  return update_chunk(std::move(update));
}

Result<Chunk> Client::touch_chunk(const std::string& id) {
  wire::ChunkUpdate update;
  update.id = id;
  update.touch = true;
  return update_chunk(std::move(update));
}

Result<Chunk> Client::pin_chunk(const std::string& id) {
  wire::ChunkUpdate update;
  update.id = id;
  update.pinned = true;
  return update_chunk(std::move(update));
}

Result<Chunk> Client::unpin_chunk(const std::string& id, ChunkChange* change) {
  wire::ChunkUpdate update;
  update.id = id;
  update.pinned = false;
  return update_chunk(std::move(update), change);
}

Result<Chunk> Client::set_chunk_ttl(const std::string& id, int64_t ttl_ms) {
  wire::ChunkUpdate update;
  update.id = id;
  update.ttl_ms = ttl_ms;
  return update_chunk(std::move(update));
}

Result<Chunk> Client::set_chunk_priority(const std::string& id, int32_t priority,
                                         std::optional<int64_t> duration_ms) {
  wire::ChunkUpdate update;
  update.id = id;
  update.priority = priority;
  update.priority_ms = duration_ms;
  return update_chunk(std::move(update));
}

Result<wire::ChunkListReply> Client::list_chunks(const wire::ChunkListRequest& request) {
  ASSIGN_OR_RETURN(wire::ChunkListReply reply, call<wire::ChunkListReply>(request));
  if (reply.chunks.size() == reply.token_counts.size()) return reply;
  return Error{ErrorCode::kInternal, "token_counts", "the daemon did not send one for every chunk"};
}

Result<std::vector<ChunkInfo>> Client::list_all_chunks(std::optional<ChunkType> type,
                                                       size_t count_max) {
  std::vector<ChunkInfo> all;
  wire::ChunkListRequest request;
  request.type = type;
  for (bool more = true; more && all.size() < count_max;) {
    ASSIGN_OR_RETURN(wire::ChunkListReply page, list_chunks(request));
    for (size_t i = 0; i < page.chunks.size() && all.size() < count_max; ++i) {
      all.push_back({std::move(page.chunks[i]), page.token_counts[i]});
    }
    more = page.more && !page.chunks.empty();
    if (more) request.after = all.back().chunk.id;
  }
  return all;
}

Result<std::vector<wire::ChunkSearchHit>> Client::search_chunks(std::string query, int32_t limit) {
  ASSIGN_OR_RETURN(wire::ChunkSearchReply reply,
                   call<wire::ChunkSearchReply>(wire::ChunkSearch{std::move(query), limit}));
  return std::move(reply.hits);
}

Result<Chunk> Client::get_chunk(const std::string& id) {
  ASSIGN_OR_RETURN(wire::ChunkReply reply, call<wire::ChunkReply>(wire::ChunkGet{id}));
  return std::move(reply.chunk);
}

Result<Chunk> Client::delete_chunk(const std::string& id, const std::string& name, bool all,
                                   ChunkChange* change) {
  wire::ChunkDelete request = {id, name};
  if (all) request.all = true;
  ASSIGN_OR_RETURN(wire::ChunkReply reply, call<wire::ChunkReply>(std::move(request)));
  return chunk_of(std::move(reply), change);
}

Result<std::vector<wire::SessionInfo>> Client::list_sessions(int32_t limit) {
  ASSIGN_OR_RETURN(wire::SessionListReply reply,
                   call<wire::SessionListReply>(wire::SessionListRequest{limit}));
  return std::move(reply.sessions);
}

Result<wire::SessionReply> Client::get_session(const std::string& id) {
  return call<wire::SessionReply>(wire::SessionGet{id});
}

Result<wire::SessionReply> Client::delete_session(const std::string& id, bool outputs) {
  return call<wire::SessionReply>(wire::SessionDelete{id, outputs});
}

Result<std::vector<wire::ExpiryPolicy>> Client::expiry_policies() {
  ASSIGN_OR_RETURN(wire::PolicyReply reply, call<wire::PolicyReply>(wire::PolicyGet{}));
  return std::move(reply.policies);
}

Result<std::vector<wire::ExpiryPolicy>> Client::set_expiry_policy(ChunkType type, int64_t ttl_ms) {
  ASSIGN_OR_RETURN(wire::PolicyReply reply, call<wire::PolicyReply>(wire::PolicySet{type, ttl_ms}));
  return std::move(reply.policies);
}

Result<std::vector<int32_t>> Client::tokenize(std::string text, bool beginning) {
  ASSIGN_OR_RETURN(wire::TokenizeReply reply,
                   call<wire::TokenizeReply>(wire::TokenizeRequest{std::move(text), beginning}));
  return std::move(reply.token_ids);
}

Result<wire::DetokenizeReply> Client::detokenize(std::vector<int32_t> token_ids, bool skip_special,
                                                 bool pieces) {
  return detokenize(wire::DetokenizeRequest{std::move(token_ids), skip_special, pieces});
}

Result<wire::DetokenizeReply> Client::detokenize(wire::DetokenizeRequest request) {
  return call<wire::DetokenizeReply>(std::move(request));
}

Result<wire::ApplyTemplateReply> Client::apply_template(
    std::vector<ChatMessage> messages, std::optional<bool> thinking, std::string tools,
    std::optional<std::string> reasoning_effort) {
  return call<wire::ApplyTemplateReply>(wire::ApplyTemplateRequest{
      std::move(messages), thinking, std::move(tools), std::nullopt, std::move(reasoning_effort)});
}

Result<wire::EventsReply> Client::events(wire::EventsRequest request) {
  return call<wire::EventsReply>(std::move(request));
}

Result<std::string> Client::register_chunk(const std::string& text, ChunkType type) {
  ASSIGN_OR_RETURN(Chunk chunk, put_chunk(type, text));
  return std::move(chunk.id);
}

Result<Generation> Client::generate_and_retain_output(const std::string& system_prompt,
                                                      const std::string& query,
                                                      GenerateParams params) {
  params.chunks.clear();
  if (!system_prompt.empty()) {
    params.chunks.push_back({ChunkType::kSystemPrompt, "", system_prompt});
  }
  params.chunks.push_back({ChunkType::kQuery, "", query});
  params.retain_output = true;
  return generate(std::move(params));
}

Result<Generation> Client::generate_from_chunks(const std::string& system_chunk_id,
                                                const std::vector<std::string>& context_chunk_ids,
                                                const std::string& query_chunk_id,
                                                GenerateParams params) {
  params.chunks.clear();
  if (!system_chunk_id.empty()) {
    params.chunks.push_back({ChunkType::kSystemPrompt, system_chunk_id, ""});
  }
  for (const std::string& id : context_chunk_ids) params.chunks.push_back(chunk_reference(id));
  params.chunks.push_back({ChunkType::kQuery, query_chunk_id, ""});
  return generate(std::move(params));
}

Result<std::vector<ChunkInfo>> Client::get_retained_sequences() {
  return list_all_chunks(ChunkType::kOutput);
}

Status Client::release_retained_sequence(const std::string& id) {
  const Result<Chunk> deleted = delete_chunk(id);
  return deleted.ok() ? Status() : Status(deleted.error());
}

Result<wire::PrefixReply> Client::attach_prefix(const std::string& id) {
  return call<wire::PrefixReply>(wire::PrefixAttach{id});
}

Result<wire::PrefixReply> Client::release_prefix(const std::string& id) {
  return call<wire::PrefixReply>(wire::PrefixRelease{id});
}

Result<wire::StatsReply> Client::get_chunk_stats() {
  return call<wire::StatsReply>(wire::StatsRequest{});
}

Result<wire::ModelListReply> Client::list_models() {
  return call_slowly<wire::ModelListReply>(wire::ModelListRequest{});
}

Result<wire::ModelInfo> Client::load_model(std::string name) {
  ASSIGN_OR_RETURN(wire::ModelReply reply,
                   call_slowly<wire::ModelReply>(wire::ModelLoad{std::move(name)}));
  return std::move(reply.model);
}

Result<wire::ModelInfo> Client::estimate_model(std::string name) {
  ASSIGN_OR_RETURN(wire::ModelReply reply, call_slowly<wire::ModelReply>(wire::ModelLoad{
                                               std::move(name), /*estimate=*/true}));
  return std::move(reply.model);
}

Result<wire::ModelInfo> Client::unload_model(std::string name) {
  ASSIGN_OR_RETURN(wire::ModelReply reply,
                   call_slowly<wire::ModelReply>(wire::ModelUnload{std::move(name)}));
  return std::move(reply.model);
}

Result<wire::FsckReply> Client::fsck(bool repair, std::string state_dir) {
  return call_slowly<wire::FsckReply>(wire::FsckRequest{repair, std::move(state_dir)});
}

Result<wire::BackupReply> Client::backup(std::string directory, std::string state_dir) {
  return call_slowly<wire::BackupReply>(
      wire::BackupRequest{std::move(directory), std::move(state_dir)});
}

bool is_loading(const Error& error) {
  return error.code == ErrorCode::kUnavailable && error.field == wire::kLoadingField;
}

wire::ChunkRef chunk_reference(const std::string& id, ChunkType otherwise) {
  const bool output = id.rfind("output_", 0) == 0;
  return {output ? ChunkType::kOutput : otherwise, id, ""};
}

}  // namespace cascade::client
