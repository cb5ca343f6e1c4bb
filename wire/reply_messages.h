// The daemon's answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/event_kind.h"
#include "base/miss.h"
#include "base/result.h"
#include "wire/byte_string.h"
#include "wire/chunk.h"

namespace cascade::wire {

struct Pong {
  std::string boot_id;
  std::string version;
};

// States of recurrent layers, of a model that has such layers. Counts are since the start.
struct StateStats {
  int64_t state_bytes = 0;     // of each
  int64_t states_max = 0;      // that memory has room for (--state-memory)
  int64_t states_used = 0;     // kept ones, those of running requests, and those being read
  int64_t states_kept = 0;     // in memory: prompts can go on from them
  int64_t states_dropped = 0;  // kept ones that left memory to make room
  int64_t on_disk = 0;
  int64_t written = 0;  // to disk
  int64_t loaded = 0;   // from disk
};

// Sizes are in bytes; counts are since the start.
struct StatusReply {
  std::string version;
  std::string boot_id;
  std::string state;  // "serving" or "stopping"
  int64_t uptime_us = 0;
  std::string model;        // folder name
  std::string model_type;   // "qwen3"
  std::string weight_type;  // all types of its weights: "bf16", "q4k and q6k"
  std::string kv_type;      // "bf16"
  // Names the version, the model, and all that its answers depend on besides the request: with the
  // same one, the same prompt and seed give the same answer.
  std::string fingerprint;
  std::string isa;  // "avx512"
  int32_t threads = 0;
  int32_t context_tokens_max = 0;
  int64_t weight_bytes = 0;
  int64_t kv_bytes_max = 0;   // budget of the page pool
  int64_t kv_bytes_used = 0;  // pages in use, shared pages once
  int64_t kv_pages_used = 0;
  int64_t kv_bytes_per_token = 0;
  // What pages on disk take, and what they may take at the present free space of the disk. Unset:
  // nothing is kept there, or the tenant is not "local".
  std::optional<int64_t> kv_disk_bytes = {};
  std::optional<int64_t> kv_disk_bytes_max = {};
  std::optional<StateStats> states = {};  // unset: there are none, or the tenant is not "local"
  std::string attention = {};             // the mode of requests that name none
  // The most tokens that a new prompt and its answer may have in this mode, in memory or, if the
  // mode reads the disk, there. 0: the tenant is not told.
  int64_t sequence_tokens_max = 0;
  int32_t requests_running = 0;
  int32_t requests_waiting = 0;
  int32_t requests_waiting_max = 0;
  int64_t tokens_waiting = 0;  // of prompts that have not started, as far as known
  int64_t tokens_waiting_max = 0;
  int64_t requests_preempted = 0;
  int64_t requests_done = 0;
  int64_t requests_failed = 0;
  int64_t requests_cancelled = 0;
  int64_t tokens_reused = 0;       // prompt tokens whose KV was found
  int64_t tokens_prefilled = 0;    // prompt tokens computed for requests
  int64_t tokens_reprefilled = 0;  // answer tokens computed again in idle time
  int64_t tokens_generated = 0;
  int64_t tokens_selected = 0;  // computed ones that selected pages
  int64_t tokens_drafted = 0;   // guessed with selection, then checked
  int64_t tokens_accepted = 0;  // of these, the right ones
  // Prompt tokens found whose K and V are approximations, and answer tokens whose K and V were
  // moved to where they stand without thoughts.
  int64_t tokens_approximate = 0;
  int64_t tokens_moved = 0;
  int64_t pages_evicted = 0;
  int32_t chunks_input = 0;
  int32_t chunks_output = 0;
  int32_t reprefills_pending = 0;
  double prefill_tokens_per_s = 0;            // measured, recent
  double decode_tokens_per_s = 0;             // measured, recent, all sequences together
  std::vector<std::string> actors_restarted;  // names, one entry for each restart
  std::vector<std::string> warnings;          // what is wrong now, each a sentence
};

// The request passed admission; sent at once, before any work.
struct Accepted {
  int32_t queue_position = 0;  // requests before it
  std::string output_id{};     // the id that a retained output will have; else empty
  std::string fingerprint{};   // as in StatusReply, of the model that answers
};

// How far a request has got. Sent at least every second while a stream is silent.
struct Progress {
  int64_t prompt_tokens = 0;       // 0: not known yet
  int64_t prompt_tokens_done = 0;  // reused or prefilled
  double tokens_per_s = 0;         // of this prompt, so far; 0: nothing was prefilled yet
  int64_t eta_us = 0;              // to the first token, at the present speed; 0: not known
  int32_t queue_position = 0;      // requests before it, while it waits
};

// More text, in whole code points only.
struct Delta {
  std::string text;
  bool reasoning = false;  // the text is a thought
};

struct Usage {
  int64_t prompt_tokens = 0;
  int64_t reused_tokens = 0;      // of the prompt: KV found
  int64_t loaded_tokens = 0;      // reused tokens that were read from disk
  int64_t prefilled_tokens = 0;   // tokens of the prompt that were computed
  Miss miss;                      // why the rest was not found
  int64_t completion_tokens = 0;  // sampled, thoughts and end token included
  int64_t reasoning_tokens = 0;   // tokens of the completion that are thoughts
  // Computed tokens of prompt and completion that selected pages.
  int64_t selected_tokens = 0;
  int64_t drafted_tokens = 0;   // guessed with selection, then checked (attention = verify)
  int64_t accepted_tokens = 0;  // of these, the right ones
  // Reused tokens whose K and V are approximations (Final::approximation).
  int64_t approximate_tokens = 0;
};

struct Timings {
  int64_t queue_us = 0;
  int64_t prefill_us = 0;      // wall time from first slice to first token
  int64_t first_token_us = 0;  // from acceptance
  int64_t decode_us = 0;       // wall time from first to last token
  int64_t total_us = 0;
};

// A chunk that is gone, although a request refers to it or it is a turn of the request's
// conversation.
struct MissingChunk {
  std::string id;
  std::string reason;  // a sentence
};

struct Final {
  std::string text;                // the answer, thoughts removed
  std::string reasoning;           // the thoughts, think tokens removed
  std::string finish_reason;       // "stop", "length", "cancelled"
  std::vector<int32_t> token_ids;  // as sampled
  std::vector<float> logprobs;     // one for each token if asked for, else empty
  Usage usage;
  Timings timings;
  uint64_t seed = 0;
  std::string output_chunk_id;  // set if the output was retained
  bool durable = true;          // whether that output is durable: as in ChunkReply
  ThinkPolicy think_policy = ThinkPolicy::kReprefill;
  // [tokens][n], n = top_logprobs of the request (or the vocabulary's size, if that is smaller):
  // for the place of each sampled token, the most likely tokens, most likely first, and their
  // log-probabilities under the model itself. Empty if not asked for.
  std::vector<int32_t> top_token_ids;
  std::vector<float> top_logprobs;
  // What the request refers to but the prompt lacks (its on_missing is "skip").
  std::vector<MissingChunk> missing;
  std::vector<ThinkSpan> think_spans = {};  // where token_ids are thoughts
  std::string attention = {};               // the mode that was used: such as "dense"
  // What the answer was computed after: kNone if all K and V are exact.
  Approximation approximation = Approximation::kNone;
  // What the prompt lacks because the conversation was longer than its room; absent: nothing.
  std::optional<LeftOut> left_out{};
  // The turns of which parts were brought back, and these parts: the message of the newest question
  // begins with this text.
  std::vector<Retrieved> retrieved{};
  std::string retrieved_text{};
  // The summaries that stand in for what was left out; absent: none do.
  std::optional<Summarised> summarised{};
};

struct ChunkReply {
  Chunk chunk;  // after a change: as it is now, with the holders that stay
  // Whether the change outlives the daemon. False: the store cannot write now (see the status), and
  // tries again later.
  bool durable = true;
  // The holders that ended by a change, as they were; the `count` of a retention says how many
  // ended.
  std::vector<Holder> ended{};
  std::optional<bool> gone{};  // true: nothing holds the chunk any more, and it is deleted
};

struct PrefixReply {
  std::string id;             // "prefix_" and 32 hexadecimal digits
  int64_t tokens = 0;         // its pinned tokens
  int64_t references = 0;     // of all connections of the tenant
  int64_t reused_tokens = 0;  // for a PrefixCache, as in Usage
  int64_t prefilled_tokens = 0;
  Miss miss;
};

// Texts are cut to 400 bytes (whole code points) and token ids are left out: ChunkGet has them.
struct ChunkListReply {
  std::vector<Chunk> chunks;
  std::vector<int64_t> token_counts;  // [chunks]: tokens of each chunk's text
  bool more = false;
};

struct ChunkSearchHit {
  std::string id;
  ChunkType type = ChunkType::kContext;
  std::string name;
  std::string snippet;  // about a dozen words of its text, around what was found if that is in the
                        // text
};

struct ChunkSearchReply {
  std::vector<ChunkSearchHit> hits;
};

// Chunks of one tenant and type.
struct ChunkGroup {
  std::string tenant;
  ChunkType type = ChunkType::kContext;
  int64_t chunks = 0;
  int64_t pinned = 0;
  int64_t hits = 0;
  int64_t registrations = 0;
  int64_t text_bytes = 0;     // texts and token ids, as they count against the tenant's limit
  int64_t kv_bytes = 0;       // pages in memory of the chunks' own tokens, each page once
  int64_t kv_disk_bytes = 0;  // pages on disk of the chunks' own tokens, each page once
};

// The page pool as a whole. Counts since start.
struct CacheStats {
  std::string policy;  // of eviction: "lru", "lfu", "priority", "hybrid", "adaptive"
  int64_t page_bytes = 0;
  int64_t pages_max = 0;  // budget of the pool
  int64_t pages_used = 0;
  int64_t pages_pinned = 0;
  int64_t pages_pin_promised = 0;  // promised to pinned chunks whose K and V do not exist yet
  int64_t pages_pinned_max = 0;    // budget (--max-pinned)
  int64_t pages_held = 0;          // held by retained chunks, pinned ones included
  int64_t pages_held_max = 0;      // budget (--chunk-memory-ratio)
  int64_t page_hits = 0;           // pages that requests found
  int64_t page_misses = 0;         // pages that were computed
  int64_t evicted = 0;             // pages that left to make room
  int64_t removed_dead = 0;        // pages that left from a branch that no request can reach
  int64_t removed_deleted = 0;     // pages that left because their chunk was deleted
  int64_t removed_expired = 0;
  int64_t evicted_early = 0;      // evicted pages that were soon computed again
  int64_t working_set_bytes = 0;  // used within the last 10 minutes
  bool thrashing = false;         // now
  int64_t thrash_alarms = 0;      // how often it began
  double refault_share = 0;       // share of the latest accesses that went to pages evicted shortly
                                  // before
  double recompute_bonus_s = 0;   // seconds added to a page's last use, times its recompute weight
  int64_t chunk_bytes = 0;        // in memory, of all chunks' own tokens, each page once
  int64_t chunk_disk_bytes = 0;   // the same on disk
  int64_t saved_tokens = 0;       // tokens of prompts: found instead of computed
  int64_t saved_us = 0;           // the time that computing them would have taken, as estimated now
  int64_t saved_bytes = 0;        // K and V in shared pages, which were not written anew
};

// K and V on disk, for the model that is served. Counts are since the start.
struct DiskStats {
  int64_t pages = 0;
  int64_t page_bytes = 0;  // of each page, about
  int64_t pages_written = 0;
  int64_t pages_loaded = 0;
  int64_t pages_bad = 0;         // damaged ones: forgotten, and computed again
  int64_t pages_removed = 0;     // with what they belonged to, or to make room
  int64_t load_bytes_per_s = 0;  // measured lately; 0: not yet
};

// A tenant other than "local" sees only its own chunks, and not `cache`, `disk` and `states`.
struct StatsReply {
  std::vector<ChunkGroup> groups;  // by tenant and type
  int64_t chunks_max = 0;          // the limits of one tenant
  int64_t text_bytes_max = 0;
  int64_t pages_of_tenant = 0;  // of the asking tenant
  std::optional<CacheStats> cache;
  std::optional<DiskStats> disk;     // if K and V are kept there
  std::optional<StateStats> states;  // if the model has recurrent layers
};

struct FsckFinding {
  std::string where;  // a file, a table's row, a page
  std::string what;   // one sentence, for people
  bool repaired = false;
};

struct FsckReply {
  std::vector<FsckFinding> findings;  // the first 1000
  int64_t found = 0;                  // the number of all findings
  int64_t left = 0;                   // the number of findings that are not repaired
  int64_t pages = 0;                  // pages of K and V that were verified, besides the database
  int64_t bytes = 0;                  // of these pages
};

struct BackupReply {
  int64_t pages = 0;      // pages of K and V that were copied, besides the database
  int64_t bytes = 0;      // of these pages
  int64_t pages_bad = 0;  // damaged pages, which were left out
};

struct SessionInfo {
  std::string id;
  int64_t created_us = 0;    // Unix time
  int64_t last_used_us = 0;  // Unix time
  int64_t turns = 0;
  std::optional<OnOverflow> on_overflow{};  // of turns that name none; absent: error
  // Turns before this number are left out of its prompts; absent: none are.
  std::optional<int64_t> left_out_turns{};
  std::vector<Retrieved> retrieved{};      // what the newest turn's prompt had again of these
  std::optional<Summarised> summarised{};  // what stood in for them in that prompt
};

struct SessionListReply {
  std::vector<SessionInfo> sessions;
};

// The output of a turn whose session was deleted.
struct SessionOutput {
  std::string id;
  bool gone = false;      // nobody else held the output, and it is deleted
  std::string held_by{};  // otherwise who holds it now, for people; the first few, and how many
                          // others
};

struct SessionReply {
  SessionInfo session;
  std::vector<SessionTurn> turns;
  bool durable = true;                   // as in ChunkReply
  std::vector<SessionOutput> outputs{};  // of a SessionDelete: the outputs of its turns that
                                         // existed
};

struct ExpiryPolicy {
  ChunkType type = ChunkType::kContext;
  int64_t ttl_ms = 0;
};

struct PolicyReply {
  std::vector<ExpiryPolicy> policies;  // of types whose chunks expire
  bool durable = true;                 // as in ChunkReply
};

struct TokenizeReply {
  std::vector<int32_t> token_ids;
};

struct DetokenizeReply {
  std::string text;
  // If asked for, what each token adds to the text. What special tokens add before the text counts
  // as nothing: the text begins with the first other token.
  std::vector<std::string> pieces = {};  // U+FFFD for a part of a character
  std::vector<ByteString> piece_bytes = {};
};

struct ApplyTemplateReply {
  std::string prompt;
  std::vector<int32_t> token_ids;
};

// Something has happened. Published under its kind as topic, to all subscribers, and kept for
// EventsRequest for a while.
struct EventNotice {
  int64_t sequence = 0;  // 1, 2, 3, …: a missing number was lost on the way
  std::string boot_id;   // when it changes, numbers begin anew, and events may be lost
  int64_t time_us = 0;   // Unix time
  EventKind kind = EventKind::kChunkStored;
  std::string id;                 // of the chunk, or of the request (32 hexadecimal digits)
  std::optional<ChunkType> type;  // of the chunk
  int64_t tokens = 0;  // of the chunk's text, of the prompt, or of a finished request's output
  std::string reason;  // of a finished request: finish_reason, or the code of its error
  // That of the chunk's K and V, or of those that a finished request went on from.
  Approximation approximation = Approximation::kNone;
};

struct EventsReply {
  std::string boot_id;
  std::vector<EventNotice> events;  // in order, one number after the other
  int64_t last = 0;                 // the number of the newest event that exists
  // Events after `after` are no longer kept, or `after` is beyond `last` or of another boot:
  // `events` begins with the oldest event that is kept.
  bool gap = false;
};

struct Ack {};

// A model of the daemon. Sizes are estimates in bytes, or 0 if they cannot be told (see `problem`).
struct ModelInfo {
  std::string name;
  std::string state;          // "loaded", "loading", "unloading", "unloaded"
  bool is_default = false;    // always loaded; answers requests that name no other model
  std::string path;           // for tenant "local"; others: empty
  std::string format;         // "folder", "gguf"
  std::string weight_type;    // all types, as in StatusReply; empty: not known (see `problem`)
  int64_t disk_bytes = 0;     // of its files
  int64_t weights_bytes = 0;  // as they are packed in memory
  int64_t kv_bytes = 0;       // the most that its K and V may take
  int64_t other_bytes = 0;    // of tokenizer and activations
  int64_t total_bytes = 0;    // weights_bytes, kv_bytes and other_bytes together
  int64_t requests = 0;       // waiting or running
  int64_t last_used_us = 0;   // Unix time; 0: not since the daemon's start
  std::string problem;        // why it could not be read or loaded; empty: none
};

struct ModelListReply {
  std::vector<ModelInfo> models;  // the default model, then the others by name
  std::string models_dir;         // for tenant "local"; empty: there is none
  int64_t total_bytes = 0;        // of the models that are loaded or being loaded
  int64_t total_bytes_max = 0;    // 0: no limit
};

struct ModelReply {
  ModelInfo model;
};

// How far a daemon that was just started has loaded its model.
struct Loading {
  int64_t done_bytes = 0;   // read so far of the model's files, or of its packed weights
  int64_t total_bytes = 0;  // in all; 0: not known yet
};

// The end of a request that failed. `retry_after_ms` > 0: it is worth trying again after that time.
struct ErrorReply {
  Error error;
  int64_t retry_after_ms = 0;
  // Set if there is no room for this prompt: prompt and answer may have this many tokens together.
  std::optional<int64_t> context_tokens_max{};
  std::optional<Loading> loading = std::nullopt;  // kUnavailable: why the daemon does not serve yet
};

}  // namespace cascade::wire
