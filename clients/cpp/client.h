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

// An event of a running generation.
using Event = std::variant<wire::Accepted, wire::Progress, wire::Delta>;
// Returns whether to continue; false cancels the generation. Called on the thread of generate().
using OnEvent = std::function<bool(const Event&)>;
// Like OnEvent, for a batch: `index` is the request's place in the batch; false cancels only that
// generation.
using OnBatchEvent = std::function<bool(size_t index, const Event&)>;
// Text, thoughts, token ids, usage, timings, the id of the retained output.
using Generation = wire::Final;
// The whole request except its prompt: `chunks`, `messages` and `prompt` stay empty.
using GenerateParams = wire::GenerateRequest;

// The largest number of requests of one generate_batch(). The daemon's queue (64 by default) is far
// smaller, and ZeroMQ holds 1,000 messages for a daemon that is slow to read.
inline constexpr size_t kBatchRequestsMax = 256;

// A chunk of a list: its texts are cut to 400 bytes and its token ids left out.
struct ChunkInfo {
  Chunk chunk;
  int64_t tokens = 0;  // tokens of the chunk's text
};

// How a change affected the holders of a chunk; the chunk itself does not say this.
struct ChunkChange {
  std::vector<Holder> ended{};  // the holders that ended; in a retention, `count` says how many
  bool gone = false;            // nothing holds the chunk any more, and it is deleted
};

// One object, one thread at a time. Not copyable; movable.
//
// Errors of all calls: the daemon's own; and unreachable() (endpoint.h) if the daemon was not
// reached, did not answer within options.timeout_ms or was restarted, or if the connection broke.
// The next call connects again. If the daemon is still loading its model when the wait for it
// (options.on_loading) is over, the error is is_loading().
class Client {
 public:
  // Connects and exchanges a Ping, within options.timeout_ms. Further error: kInvalidArgument if
  // `endpoint` is not an endpoint.
  static Result<Client> connect(std::string endpoint, const ClientOptions& options = {});

  const std::string& endpoint() const { return endpoint_; }
  const ClientOptions& options() const { return options_; }
  // From the daemon's last Pong.
  const std::string& boot_id() const { return boot_id_; }
  const std::string& daemon_version() const { return daemon_version_; }
  // The pause that the daemon asked for in its last error (in a batch: the longest pause):
  // milliseconds until another try is worthwhile, or 0.
  int64_t retry_after_ms() const { return retry_after_ms_; }

  // Whether all changes that this client made so far will outlive the daemon. False while the
  // daemon's disk accepts no writes: the daemon holds the changes in memory and tries again (its
  // status says so).
  bool all_durable() const { return all_durable_; }

  Status ping();
  Result<wire::StatusReply> status();

  // Blocks until the generation ends. `request.stream` is ignored: events come if `on_event` is
  // set. If `on_event` or *cancel cancels it, the generation ends with finish_reason "cancelled"
  // and the text so far. *cancel is looked at every 0.1 s and after a signal; a signal handler may
  // set it. If `on_event` is slow, the daemon joins the text of several Deltas. A
  // `request.delta_credit` limits the number of Deltas of the whole generation instead.
  Result<Generation> generate(wire::GenerateRequest request, const OnEvent& on_event = {},
                              const std::atomic<bool>* cancel = nullptr);

  // Runs all requests at once on this connection, and blocks until the last generation ends.
  // results[i] belongs to requests[i]: each request has its own generation or error. If the daemon
  // refuses a request for now (its queue is full), the result is that error, and retry_after_ms()
  // is > 0; nothing is tried again. If the connection is lost, every generation that has not ended
  // gets that error. Events and *cancel are as in generate(); *cancel cancels all running
  // generations. If there are more than kBatchRequestsMax requests, each result is kInvalidArgument
  // (field "requests"), and none is sent.
  std::vector<Result<Generation>> generate_batch(std::vector<wire::GenerateRequest> requests,
                                                 const OnBatchEvent& on_event = {},
                                                 const std::atomic<bool>* cancel = nullptr);

  Result<Chunk> put_chunk(ChunkType type, std::string text);
  // Registers a chunk by text or token ids, with a name, a pin and everything else that a ChunkPut
  // can say.
  Result<Chunk> put_chunk(wire::ChunkPut put);
  // One page of the list, newest first.
  Result<wire::ChunkListReply> list_chunks(const wire::ChunkListRequest& request = {});
  // All pages of the list, newest first, up to `count_max` chunks.
  Result<std::vector<ChunkInfo>> list_all_chunks(std::optional<ChunkType> type,
                                                 size_t count_max = 100'000);
  // The chunks whose name, text or query contains all words of `query`, newest first, at most
  // `limit` (1 to 1000). Case and accents do not matter.
  Result<std::vector<wire::ChunkSearchHit>> search_chunks(std::string query, int32_t limit = 20);
  // `id` may be a prefix of at least 8 characters.
  Result<Chunk> get_chunk(const std::string& id);
  // Gives up one holder of the chunk: the one with the name `name`; without a name, the one that
  // wire::ChunkDelete says; with `all`, all holders. Returns the chunk as it is afterwards; a chunk
  // without holders is deleted. `id` must be complete. If `change` is not nullptr, here and below,
  // it receives what the call did.
  Result<Chunk> delete_chunk(const std::string& id, const std::string& name = {}, bool all = false,
                             ChunkChange* change = nullptr);

  // Makes all of the given changes, or none. Returns the chunk as it is afterwards. Each of the
  // calls below makes one of these changes:
  Result<Chunk> update_chunk(wire::ChunkUpdate update, ChunkChange* change = nullptr);
  Result<Chunk> rename_chunk(const std::string& id, std::string name);  // "": no name
  // Counts as a use.
  Result<Chunk> touch_chunk(const std::string& id);
  // Error resource_exhausted, field "pinned", if the pin needs more than the daemon's --max-pinned
  // leaves.
  Result<Chunk> pin_chunk(const std::string& id);
  // With the last pin, the holders whose time is over end too; the chunk may then be deleted.
  Result<Chunk> unpin_chunk(const std::string& id, ChunkChange* change = nullptr);
  Result<Chunk> set_chunk_ttl(const std::string& id, int64_t ttl_ms);  // 0: never expires
  // `priority` is 0 to 100. It holds for `duration_ms`, or permanently if that is absent.
  Result<Chunk> set_chunk_priority(const std::string& id, int32_t priority,
                                   std::optional<int64_t> duration_ms = std::nullopt);

  // Sessions are named conversations; generations with `session` set create them. The most recently
  // used session comes first.
  Result<std::vector<wire::SessionInfo>> list_sessions(int32_t limit = 1000);
  Result<wire::SessionReply> get_session(const std::string& id);
  // Returns the session as it was. With `outputs`, also deletes the outputs of its turns that
  // nobody else holds. The reply's `outputs` say what became of each.
  Result<wire::SessionReply> delete_session(const std::string& id, bool outputs = false);

  // The time to live, by type, of chunks that are registered without their own. Types that are not
  // named do not expire; a time of 0 also means that they do not. A new policy does not change
  // existing chunks.
  Result<std::vector<wire::ExpiryPolicy>> expiry_policies();
  Result<std::vector<wire::ExpiryPolicy>> set_expiry_policy(ChunkType type, int64_t ttl_ms);

  // The events of this tenant's chunks and requests; EventStream (event_stream.h) follows them.
  Result<wire::EventsReply> events(wire::EventsRequest request = {});

  // A prefix is a common beginning of later prompts: its K and V are computed ahead and kept for
  // this connection; see wire::PrefixCache. Blocks until they are computed; *cancel is as in
  // generate().
  Result<wire::PrefixReply> cache_prefix(wire::PrefixCache prefix,
                                         const std::atomic<bool>* cancel = nullptr);
  Result<wire::PrefixReply> attach_prefix(const std::string& id);
  Result<wire::PrefixReply> release_prefix(const std::string& id);

  // The token ids of a text inside a prompt: special tokens in the text are not recognised. With
  // `beginning`, the ids begin as a raw prompt does (BOS).
  Result<std::vector<int32_t>> tokenize(std::string text, bool beginning = false);
  // The text of the ids, without special tokens if `skip_special`. With `pieces`, also what each id
  // adds to the text.
  Result<wire::DetokenizeReply> detokenize(std::vector<int32_t> token_ids,
                                           bool skip_special = false, bool pieces = false);
  Result<wire::DetokenizeReply> detokenize(wire::DetokenizeRequest request);
  // The prompt that a conversation makes, as text and as ids. The other arguments are as in
  // GenerateRequest.
  Result<wire::ApplyTemplateReply> apply_template(
      std::vector<ChatMessage> messages, std::optional<bool> thinking = std::nullopt,
      std::string tools = {}, std::optional<std::string> reasoning_effort = std::nullopt);

  // The calls below have the names of the earlier Python library and do the same things.

  // Returns the id of the chunk.
  Result<std::string> register_chunk(const std::string& text, ChunkType type);
  // Generates an answer to `query` and keeps it as an output chunk. An empty `system_prompt` means
  // none.
  Result<Generation> generate_and_retain_output(const std::string& system_prompt,
                                                const std::string& query,
                                                GenerateParams params = {});
  // Composes a prompt of chunks by their ids. An empty `system_chunk_id` means no system prompt;
  // `context_chunk_ids` are contexts and outputs in order.
  Result<Generation> generate_from_chunks(const std::string& system_chunk_id,
                                          const std::vector<std::string>& context_chunk_ids,
                                          const std::string& query_chunk_id,
                                          GenerateParams params = {});
  // The output chunks, newest first.
  Result<std::vector<ChunkInfo>> get_retained_sequences();
  // Gives up one retention of an output chunk. The chunk is deleted if nobody else holds it.
  Status release_retained_sequence(const std::string& id);
  // The space that chunks and pages take in memory and on disk, and what the cache did.
  Result<wire::StatsReply> get_chunk_stats();

  // The daemon's models. All models but the default one are in its models directory. A request that
  // names a model (ClientOptions::model) also loads it.
  Result<wire::ModelListReply> list_models();
  // Blocks until the model is loaded. Only for tenant "local".
  Result<wire::ModelInfo> load_model(std::string name);
  // Says what loading the model would take, and loads nothing. Only for tenant "local".
  Result<wire::ModelInfo> estimate_model(std::string name);
  // Blocks until the model's memory is free; its chunks stay on disk. Only for tenant "local".
  // Error kConflict for the default model.
  Result<wire::ModelInfo> unload_model(std::string name);

  // fsck() verifies everything that the daemon has on disk, and repairs it if `repair`. backup()
  // copies it to `directory`, an absolute path that does not exist yet or is empty. Meanwhile the
  // daemon goes on serving, and the work continues even if this client ends. Both block until the
  // work is done, and return an error if the daemon falls silent. A `state_dir` that is not the
  // daemon's is refused (kConflict); an empty one matches any.
  Result<wire::FsckReply> fsck(bool repair, std::string state_dir = {});
  Result<wire::BackupReply> backup(std::string directory, std::string state_dir = {});

 private:
  struct Running;  // one generation or prefix
  struct Batch;    // the generations or prefixes that are followed together

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

// Whether the daemon's answer was that it is loading its model and does not serve yet.
bool is_loading(const Error& error);

// A reference to a chunk by id: an output if the id says so, else of type `otherwise`.
wire::ChunkRef chunk_reference(const std::string& id, ChunkType otherwise = ChunkType::kContext);

}  // namespace cascade::client
