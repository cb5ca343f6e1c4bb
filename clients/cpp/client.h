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
#include <optional>
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
// The same of a batch: `index` is the request's place in it; false cancels that one generation.
using OnBatchEvent = std::function<bool(size_t index, const Event&)>;
// Text, thoughts, token ids, usage, timings, the id of the retained output.
using Generation = wire::Final;
// Everything of a request but its prompt: `chunks`, `messages` and `prompt` stay empty.
using GenerateParams = wire::GenerateRequest;

// Requests of one generate_batch(): more would not fit the daemon's queue (64 by default) by far,
// and ZeroMQ holds 1,000 messages for a daemon that is slow to read.
inline constexpr size_t kBatchRequestsMax = 256;

// A chunk of a list: its texts are cut to 400 bytes and its token ids left out.
struct ChunkInfo {
  Chunk chunk;
  int64_t tokens = 0;  // of its text
};

// What a change did to who holds a chunk, beside what the chunk says of it.
struct ChunkChange {
  std::vector<Holder> ended{};  // holders that ended by it; `count` of a retention: how many
  bool gone = false;            // nothing holds the chunk any more, and it is deleted
};

// One object, one thread at a time. Not copyable; movable.
//
// Errors of all calls: those that the daemon answered with, and unreachable() (endpoint.h) if it
// was not reached, did not answer within options.timeout_ms, was restarted, or the connection
// broke. The next call connects again. Of a daemon that loads its model still when the patience for
// that is over (options.on_loading): is_loading().
class Client {
 public:
  // Connects and exchanges a Ping, within options.timeout_ms.
  // Also kInvalidArgument for an endpoint that is none.
  static Result<Client> connect(std::string endpoint, const ClientOptions& options = {});

  const std::string& endpoint() const { return endpoint_; }
  const ClientOptions& options() const { return options_; }
  // As the daemon said in its last Pong.
  const std::string& boot_id() const { return boot_id_; }
  const std::string& daemon_version() const { return daemon_version_; }
  // What the daemon asked for in its last error (of a batch: at most): milliseconds until a new try
  // is worth it, or 0.
  int64_t retry_after_ms() const { return retry_after_ms_; }

  // Whether all that this client changed so far outlives the daemon. False while its disk takes no
  // writes: it holds the changes in memory and tries again (its status says so).
  bool all_durable() const { return all_durable_; }

  Status ping();
  Result<wire::StatusReply> status();

  // Blocks until the generation ends. `request.stream` does not matter: events come if `on_event`
  // is there. Cancelled by `on_event` or by *cancel (looked at every 0.1 s and after a signal;
  // a signal handler may set it), the generation ends with finish_reason "cancelled" and the text
  // so far. Where `on_event` is slow the daemon joins text, unless `request.delta_credit` says how
  // many Deltas may come at all.
  Result<Generation> generate(wire::GenerateRequest request, const OnEvent& on_event = {},
                              const std::atomic<bool>* cancel = nullptr);

  // All requests in flight at once on this connection; blocks until the last generation ends.
  // results[i] is that of requests[i]: each has its own generation or error. One that the daemon
  // refuses for now (its queue is full) has that error, and retry_after_ms() is > 0; nothing is
  // tried again. If the connection is lost, every generation that has not ended has that error.
  // Events and *cancel are as for generate(); *cancel ends all that run.
  // More than kBatchRequestsMax: kInvalidArgument (field "requests") for each, and none is sent.
  std::vector<Result<Generation>> generate_batch(std::vector<wire::GenerateRequest> requests,
                                                 const OnBatchEvent& on_event = {},
                                                 const std::atomic<bool>* cancel = nullptr);

  Result<Chunk> put_chunk(ChunkType type, std::string text);
  // By text or token ids, with a name, a pin, …: all that a ChunkPut can say.
  Result<Chunk> put_chunk(wire::ChunkPut put);
  // One page, newest first.
  Result<wire::ChunkListReply> list_chunks(const wire::ChunkListRequest& request = {});
  // All pages, newest first, up to `count_max` chunks.
  Result<std::vector<ChunkInfo>> list_all_chunks(std::optional<ChunkType> type,
                                                 size_t count_max = 100'000);
  // Chunks in whose name, text or query all words of `query` stand, newest first, at most `limit`
  // (1 to 1000). Case and accents do not matter.
  Result<std::vector<wire::ChunkSearchHit>> search_chunks(std::string query, int32_t limit = 20);
  // `id` may be a prefix of at least 8 characters.
  Result<Chunk> get_chunk(const std::string& id);
  // Gives up a holder of the chunk: the one that `name` names, or all, or as wire::ChunkDelete
  // says. The chunk as it is then; it is gone if it has no holders. `id` is whole.
  // `change`, here and below, if it is not nullptr: what the call did.
  Result<Chunk> delete_chunk(const std::string& id, const std::string& name = {}, bool all = false,
                             ChunkChange* change = nullptr);

  // All that is given, or nothing; the chunk as it is now. These are its parts:
  Result<Chunk> update_chunk(wire::ChunkUpdate update, ChunkChange* change = nullptr);
  Result<Chunk> rename_chunk(const std::string& id, std::string name);  // "": no name
  // Counts as a use.
  Result<Chunk> touch_chunk(const std::string& id);
  // Error resource_exhausted, field "pinned", beyond what the daemon's --max-pinned leaves.
  Result<Chunk> pin_chunk(const std::string& id);
  // With the last pin ends what is over; the chunk may be gone then.
  Result<Chunk> unpin_chunk(const std::string& id, ChunkChange* change = nullptr);
  Result<Chunk> set_chunk_ttl(const std::string& id, int64_t ttl_ms);  // 0: never expires
  // 0 to 100; absent `duration_ms`: for good, else for so long.
  Result<Chunk> set_chunk_priority(const std::string& id, int32_t priority,
                                   std::optional<int64_t> duration_ms = std::nullopt);

  // Sessions: conversations by name, made by generations with `session` set; the one that was used
  // last first.
  Result<std::vector<wire::SessionInfo>> list_sessions(int32_t limit = 1000);
  Result<wire::SessionReply> get_session(const std::string& id);
  // The session as it was. With `outputs`, its turns' outputs are deleted as well, as far as nobody
  // else holds them. The reply's `outputs` say what became of each.
  Result<wire::SessionReply> delete_session(const std::string& id, bool outputs = false);

  // How long chunks live, by type, that are registered without a time to live of their own; types
  // that are not named do not expire. 0: they do not expire from now on. Chunks that are there keep
  // what they have.
  Result<std::vector<wire::ExpiryPolicy>> expiry_policies();
  Result<std::vector<wire::ExpiryPolicy>> set_expiry_policy(ChunkType type, int64_t ttl_ms);

  // What happened to this tenant's chunks and requests; EventStream (event_stream.h) follows it.
  Result<wire::EventsReply> events(wire::EventsRequest request = {});

  // Prefixes: the K and V of what prompts will begin with, computed ahead and kept for this
  // connection; see wire::PrefixCache. Blocks as long as that takes; *cancel as in generate().
  Result<wire::PrefixReply> cache_prefix(wire::PrefixCache prefix,
                                         const std::atomic<bool>* cancel = nullptr);
  Result<wire::PrefixReply> attach_prefix(const std::string& id);
  Result<wire::PrefixReply> release_prefix(const std::string& id);

  // The ids of a text as it stands in a prompt: special tokens in it are not recognised. With
  // `beginning`, as a raw prompt begins (BOS).
  Result<std::vector<int32_t>> tokenize(std::string text, bool beginning = false);
  // The text of ids, without special tokens if `skip_special`; with `pieces` what each adds to it
  // as well.
  Result<wire::DetokenizeReply> detokenize(std::vector<int32_t> token_ids,
                                           bool skip_special = false, bool pieces = false);
  Result<wire::DetokenizeReply> detokenize(wire::DetokenizeRequest request);
  // The prompt that a conversation makes, as text and ids. `tools` as in GenerateRequest.
  Result<wire::ApplyTemplateReply> apply_template(std::vector<ChatMessage> messages,
                                                  std::optional<bool> thinking = std::nullopt,
                                                  std::string tools = {});

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
  // Gives up a retention of an output chunk, which is gone if nobody else holds it.
  Status release_retained_sequence(const std::string& id);
  // What chunks and pages take, and what the cache did.
  Result<wire::StatsReply> get_chunk_stats();

  // The daemon's models. Those beside the default one are in its models directory; a request that
  // names one (ClientOptions::model) has it loaded, too.
  Result<wire::ModelListReply> list_models();
  // Blocks until it is loaded. By tenant "local" only.
  Result<wire::ModelInfo> load_model(std::string name);
  // What loading it would take; nothing is loaded. By tenant "local" only.
  Result<wire::ModelInfo> estimate_model(std::string name);
  // Blocks until its memory is free; its chunks stay on disk. By tenant "local" only. Error
  // kConflict for the default model.
  Result<wire::ModelInfo> unload_model(std::string name);

  // Verifies all that the daemon has on disk, and repairs it if `repair`; copies it to `directory`,
  // an absolute path that is not there yet or empty. The daemon goes on meanwhile, and so does the
  // work if this client ends. Blocks as long as it takes; an error if the daemon falls silent. A
  // `state_dir` that is not the daemon's is refused (kConflict); empty: whichever it is.
  Result<wire::FsckReply> fsck(bool repair, std::string state_dir = {});
  Result<wire::BackupReply> backup(std::string directory, std::string state_dir = {});

 private:
  struct Running;  // one generation or prefix
  struct Batch;    // those that are followed together

  Client(std::string endpoint, const ClientOptions& options)
      : endpoint_(std::move(endpoint)), options_(options) {}

  Status ensure_connected();
  Status say_hello();
  Status say_hello(bool& waited);
  Status wait_for_load(const wire::ErrorReply& reply, int64_t deadline_us);
  Error disconnect(Error error);
  Error from_daemon(const wire::ErrorReply& reply);
  Status learn(const wire::Pong& pong);
  Result<wire::Message> exchange(wire::Message request);
  Result<wire::Message> exchange_slowly(wire::Message request);
  template <class Reply>
  Result<Reply> call(wire::Message request);
  template <class Reply>
  Result<Reply> call_slowly(wire::Message request);
  template <class Reply>
  Result<Reply> as_reply(Result<wire::Message> answer);

  std::vector<Result<wire::Message>> run_all(std::vector<wire::Message>&& requests,
                                             const OnBatchEvent& on_event,
                                             const std::atomic<bool>* cancel);
  Status run(Batch& batch, std::vector<wire::Message>&& requests);
  Status follow(Batch& batch);
  Status keep_watch(Batch& batch);
  Status watch_over(const Batch& batch, Running& running, int64_t now_ms);
  Status handle(Batch& batch, wire::Envelope&& envelope);
  Status grant(Running& running);

  std::string endpoint_;
  ClientOptions options_;
  std::unique_ptr<Connection> connection_;  // null: not connected
  std::string boot_id_;
  std::string daemon_version_;
  int64_t retry_after_ms_ = 0;
  bool all_durable_ = true;
};

// Whether the daemon said so: it loads its model, and does not serve yet.
bool is_loading(const Error& error);

// A reference to a chunk by id: an output if the id says so, else of type `otherwise`.
wire::ChunkRef chunk_reference(const std::string& id, ChunkType otherwise = ChunkType::kContext);

}  // namespace cascade::client
