// The C++ client of the Cascade daemon: synchronous calls, streamed generations, chunks.
//
//   auto client = cascade::client::Client::connect(cascade::client::default_endpoint());
//   auto first = client->generate_and_retain_output("You are terse.", "Capital of France?");
//   auto next = client->generate_from_chunks("", {first->output_chunk_id}, query_id);
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "clients/cpp/connection.h"
#include "wire/messages.h"

namespace cascade::client {

// What a running generation tells.
using Event = std::variant<wire::Accepted, wire::Progress, wire::Delta>;
// Returns whether to go on; false cancels the generation. Called on the thread of generate().
using OnEvent = std::function<bool(const Event&)>;
// Text, thoughts, token ids, usage, timings, the id of the retained output.
using Generation = wire::Final;
// Everything of a request but its prompt: `chunks`, `messages` and `prompt` stay empty.
using GenerateParams = wire::GenerateRequest;

// A chunk of a list: its texts are cut to 400 bytes and its token ids left out.
struct ChunkInfo {
  Chunk chunk;
  int64_t tokens = 0;  // of its text
};

struct ChunkStats {
  int32_t chunks_input = 0;
  int32_t chunks_output = 0;
  int64_t kv_bytes_used = 0;
  int64_t kv_bytes_max = 0;
  int64_t kv_pages_used = 0;
  int64_t kv_bytes_per_token = 0;
  int32_t reprefills_pending = 0;
};

// One object, one thread at a time. Not copyable; movable.
//
// Errors of all calls: those that the daemon answered with, and unreachable() (endpoint.h) if it
// was not reached, did not answer within options.timeout_ms, was restarted, or the connection
// broke. The next call connects again.
class Client {
 public:
  // Connects and exchanges a Ping, within options.timeout_ms.
  // Also kInvalidArgument for an endpoint that is none.
  static Result<Client> connect(std::string endpoint, const ClientOptions& options = {});

  const std::string& endpoint() const { return endpoint_; }
  // As the daemon said in its last Pong.
  const std::string& boot_id() const { return boot_id_; }
  const std::string& daemon_version() const { return daemon_version_; }
  // What the daemon asked for in its last error: milliseconds until a new try is worth it, or 0.
  int64_t retry_after_ms() const { return retry_after_ms_; }

  Status ping();
  Result<wire::StatusReply> status();

  // Blocks until the generation ends. `request.stream` does not matter: events come if `on_event`
  // is there. Cancelled by `on_event` or by *cancel (looked at every 0.1 s and after a signal;
  // a signal handler may set it), the generation ends with finish_reason "cancelled" and the text
  // so far.
  Result<Generation> generate(wire::GenerateRequest request, const OnEvent& on_event = {},
                              const std::atomic<bool>* cancel = nullptr);

  Result<Chunk> put_chunk(ChunkType type, std::string text);
  // One page, newest first.
  Result<wire::ChunkListReply> list_chunks(const wire::ChunkListRequest& request = {});
  // All pages, newest first, up to `count_max` chunks.
  Result<std::vector<ChunkInfo>> list_all_chunks(std::optional<ChunkType> type,
                                                 size_t count_max = 100'000);
  // `id` may be a prefix of at least 8 characters.
  Result<Chunk> get_chunk(const std::string& id);
  // The chunk as it was. `id` is whole.
  Result<Chunk> delete_chunk(const std::string& id);

  // The names of the earlier Python library, for the same things.

  // The id of the chunk.
  Result<std::string> register_chunk(const std::string& text, ChunkType type);
  // Generates an answer to `query` and keeps it as an output chunk. No system prompt if empty.
  Result<Generation> generate_and_retain_output(const std::string& system_prompt,
                                                const std::string& query,
                                                GenerateParams params = {});
  // Composes chunks by id: no system prompt if `system_chunk_id` is empty; `context_chunk_ids` are
  // contexts and outputs in order.
  Result<Generation> generate_from_chunks(const std::string& system_chunk_id,
                                          const std::vector<std::string>& context_chunk_ids,
                                          const std::string& query_chunk_id,
                                          GenerateParams params = {});
  // The output chunks, newest first.
  Result<std::vector<ChunkInfo>> get_retained_sequences();
  // Deletes an output chunk.
  Status release_retained_sequence(const std::string& id);
  Result<ChunkStats> get_chunk_stats();

 private:
  struct Running;

  Client(std::string endpoint, const ClientOptions& options)
      : endpoint_(std::move(endpoint)), options_(options) {}

  Status ensure_connected();
  Status say_hello();
  Error disconnect(Error error);
  Error from_daemon(const wire::ErrorReply& reply);
  Status learn(const wire::Pong& pong);
  Result<wire::Message> exchange(wire::Message request);
  template <class Reply>
  Result<Reply> call(wire::Message request);

  Result<Generation> follow(Running& running);
  Status keep_watch(Running& running);
  Status handle(Running& running, const wire::Envelope& envelope);
  void handle_event(Running& running, const Event& event);

  std::string endpoint_;
  ClientOptions options_;
  std::unique_ptr<Connection> connection_;  // null: not connected
  std::string boot_id_;
  std::string daemon_version_;
  int64_t retry_after_ms_ = 0;
};

// A reference to a chunk by id: an output if the id says so, else of type `otherwise`.
wire::ChunkRef chunk_reference(const std::string& id, ChunkType otherwise = ChunkType::kContext);

}  // namespace cascade::client
