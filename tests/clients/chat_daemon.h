// A fake daemon that keeps chunks and answers turns, for tests of the chat and of cascadectl.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "clients/cpp/endpoint.h"
#include "tests/clients/fake_daemon.h"

namespace cascade::client::testing {

class ChatDaemon {
 public:
  explicit ChatDaemon(const std::string& endpoint)
      : daemon_(endpoint, [this](const wire::Envelope& envelope, const FakeDaemon::Reply& reply) {
          const std::lock_guard lock(mutex_);
          std::visit([&](const auto& message) { handle(message, envelope.request, reply); },
                     envelope.message);
        }) {}

  // The compositions of the generations so far: "SYSTEM_PROMPT:text OUTPUT:#id QUERY:text", or
  // "system:text user:text".
  std::vector<std::string> compositions() const {
    const std::lock_guard lock(mutex_);
    return compositions_;
  }
  std::vector<wire::GenerateRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  size_t chunk_count() const {
    const std::lock_guard lock(mutex_);
    return chunks_.size();
  }
  std::vector<Chunk> chunks() const {
    const std::lock_guard lock(mutex_);
    return chunks_;
  }
  // The times to live that were set for chunks after they were made: "output_1aaa… 0".
  std::vector<std::string> times_to_live() const {
    const std::lock_guard lock(mutex_);
    return times_to_live_;
  }
  // Outputs expire after `ttl_ms` by default.
  void set_policy(int64_t ttl_ms) {
    const std::lock_guard lock(mutex_);
    policy_ttl_ms_ = ttl_ms;
  }
  // Somebody else also keeps the output `id`.
  void register_again(const std::string& id) {
    const std::lock_guard lock(mutex_);
    ++find(id)->registrations;
  }
  // A name also holds the output `id`: the output stays when its retention is given up.
  void give_name(const std::string& id, const std::string& name) {
    const std::lock_guard lock(mutex_);
    find(id)->holders = {{.kind = HolderKind::kName, .label = name}};
  }
  // Makes the daemon like one that was started again: it has no chunks.
  void lose_chunks() {
    const std::lock_guard lock(mutex_);
    chunks_.clear();
  }
  // Like FakeDaemon::set_loading().
  void set_loading(std::vector<wire::Loading> loading) { daemon_.set_loading(std::move(loading)); }
  // "output_" and 32 digits.
  static std::string output_id(int number) {
    const std::string digits = std::to_string(number);
    return "output_" + digits + std::string(32 - digits.size(), 'a');
  }

 private:
  using Reply = FakeDaemon::Reply;
  using Id = wire::RequestId;

  template <class M>
  void handle(const M&, const Id&, const Reply& reply) {
    reply(wire::ErrorReply{unsupported("type", "the fake daemon cannot do that"), 0});
  }
  void handle(const wire::StatusRequest&, const Id&, const Reply& reply) {
    wire::StatusReply status;
    status.state = "serving";
    status.model = "demo\x1b[2J";
    status.weight_type = "int8";
    status.weight_bytes = int64_t{3} << 20;
    status.context_tokens_max = 2048;
    status.kv_bytes_used = 4096;
    status.kv_bytes_max = int64_t{256} << 20;
    reply(status);
  }
  void handle(const wire::ChunkListRequest& request, const Id&, const Reply& reply) {
    wire::ChunkListReply page;
    for (auto chunk = chunks_.rbegin(); chunk != chunks_.rend(); ++chunk) {
      if (request.type.has_value() && chunk->type != *request.type) continue;
      page.chunks.push_back(*chunk);
      page.token_counts.push_back(static_cast<int64_t>(chunk->text.size()));
    }
    reply(page);
  }
  void handle(const wire::ChunkGet& request, const Id&, const Reply& reply) {
    const auto chunk = find(request.id);
    if (chunk == chunks_.end()) return reply(missing());
    reply(wire::ChunkReply{*chunk});
  }
  void handle(const wire::ChunkDelete& request, const Id&, const Reply& reply) {
    const auto chunk = find(request.id);
    if (chunk == chunks_.end()) return reply(missing());
    const wire::ChunkReply answer{.chunk = *chunk, .ended = {{.label = {}}}};
    if (chunk->holders.empty()) chunks_.erase(chunk);
    reply(answer);
  }
  void handle(const wire::ChunkUpdate& request, const Id&, const Reply& reply) {
    const auto chunk = find(request.id);
    if (chunk == chunks_.end()) return reply(missing());
    times_to_live_.push_back(chunk->id + " " + std::to_string(request.ttl_ms.value_or(-1)));
    reply(wire::ChunkReply{*chunk});
  }
  void handle(const wire::PolicyGet&, const Id&, const Reply& reply) {
    wire::PolicyReply policies;
    if (policy_ttl_ms_ > 0) policies.policies = {{ChunkType::kOutput, policy_ttl_ms_}};
    reply(policies);
  }
  void handle(const wire::SessionGet& request, const Id&, const Reply& reply) {
    const auto turns = sessions_.find(request.id);
    if (turns == sessions_.end()) {
      return reply(wire::ErrorReply{not_found("id", "no such session"), 0});
    }
    wire::SessionReply session;
    session.session.id = request.id;
    for (const std::string& output : turns->second) {
      session.turns.push_back({session.session.turns++, output});
    }
    reply(session);
  }
  void handle(const wire::GenerateRequest& request, const Id& id, const Reply& reply) {
    requests_.push_back(request);
    compositions_.push_back(shown(request));
    for (size_t i = 0; i < request.chunks.size(); ++i) {
      const std::string& chunk = request.chunks[i].id;
      if (chunk.empty() || find(chunk) != chunks_.end()) continue;
      const std::string field = "chunks[" + std::to_string(i) + "].id";
      return reply(wire::ErrorReply{not_found(field, "no chunk \"" + chunk + '"'), 0});
    }
    const std::string query = query_of(request);
    reply(wire::Accepted{});
    if (query == "fail") {
      return reply(wire::ErrorReply{resource_exhausted("queue", "is full"), 100});
    }
    if (query == "lost") {
      // This is what a client sees when the connection breaks.
      return reply(wire::ErrorReply{unreachable("the daemon is gone"), 0});
    }
    if (query == "hang") {
      running_ = id;
      return reply(wire::Delta{"still ", false});
    }
    if (request.thinking.value_or(true)) reply(wire::Delta{"hm\n", true});
    reply(wire::Delta{"Answer to ", false});
    reply(wire::Delta{query, false});
    // An answer has three tokens.
    const bool cut = request.max_tokens > 0 && request.max_tokens <= 3;
    reply(finished(request, "Answer to " + query, cut || query == "endless" ? "length" : "stop"));
  }
  void handle(const wire::CancelRequest& request, const Id&, const Reply& reply) {
    reply(wire::Ack{});
    wire::Final final;
    final.text = "still ";
    final.finish_reason = "cancelled";
    if (request.target == running_) reply.to(running_, final);
  }

  wire::Final finished(const wire::GenerateRequest& request, const std::string& text,
                       const std::string& reason) {
    wire::Final final;
    final.text = text;
    final.finish_reason = reason;
    final.token_ids = {1, 2, 3};
    if (request.logprobs) final.logprobs = {-1, -1, -1};
    final.usage = {10, 7, 0, 3, {MissReason::kNew, 7}, 3, 1};
    if (!request.retain_output && request.session.empty()) return final;
    Chunk chunk;
    chunk.id = output_id(++outputs_);
    chunk.type = ChunkType::kOutput;
    chunk.text = text;
    chunk.query_text = query_of(request);
    chunk.kv_bytes = 2048;
    chunks_.push_back(chunk);
    if (!request.session.empty()) sessions_[request.session].push_back(chunk.id);
    final.output_chunk_id = chunk.id;
    return final;
  }
  std::vector<Chunk>::iterator find(const std::string& id) {
    return std::find_if(chunks_.begin(), chunks_.end(),
                        [&](const Chunk& chunk) { return chunk.id.rfind(id, 0) == 0; });
  }
  static wire::ErrorReply missing() { return {not_found("id", "no such chunk"), 0}; }
  static std::string query_of(const wire::GenerateRequest& request) {
    if (!request.chunks.empty()) return request.chunks.back().text;
    return request.messages.empty() ? *request.prompt : request.messages.back().content;
  }
  static std::string shown(const wire::GenerateRequest& request) {
    std::string text = request.prompt.value_or("");
    for (const wire::ChunkRef& chunk : request.chunks) {
      if (!text.empty()) text += " ";
      text += std::string(to_string(chunk.type)) + ":";
      text += chunk.id.empty() ? chunk.text : "#" + chunk.id;
    }
    for (const ChatMessage& message : request.messages) {
      if (!text.empty()) text += " ";
      text += message.role + ":" + message.content;
    }
    return text;
  }

  mutable std::mutex mutex_;
  std::vector<Chunk> chunks_;
  std::vector<std::string> compositions_;
  std::vector<wire::GenerateRequest> requests_;
  std::map<std::string, std::vector<std::string>> sessions_;  // name: outputs of its turns
  std::vector<std::string> times_to_live_;
  int64_t policy_ttl_ms_ = 0;
  wire::RequestId running_{};
  int outputs_ = 0;
  FakeDaemon daemon_;  // declared last: its thread uses the members above
};

}  // namespace cascade::client::testing
