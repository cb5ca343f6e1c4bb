// Every message of the protocol: between clients and the gateway, and between actors.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "wire/chunk.h"

namespace cascade::wire {

// Chosen by the sender of a request, echoed in every reply to it.
using RequestId = std::array<uint8_t, 16>;

// ---- client -> daemon ---------------------------------------------------------------------------

// Answered with Pong. A changed boot_id tells a client that the daemon was restarted.
struct Ping {};

// Answered with StatusReply.
struct StatusRequest {};

// A chunk in a composition: by id, or by text (system prompts and contexts are registered on the
// way; outputs have no text of their own). An output may also be named as context.
struct ChunkRef {
  ChunkType type = ChunkType::kContext;
  std::string id;    // exactly one of id and text is set
  std::string text;
};

struct SamplingParams {
  // Absent: the model's generation_config.json, else greedy.
  std::optional<double> temperature;         // [0, 100]; 0 = greedy
  std::optional<double> top_p;               // (0, 1]
  std::optional<int32_t> top_k;              // [0, 2^21]; 0 = off
  std::optional<double> min_p;               // [0, 1]
  std::optional<double> repetition_penalty;  // (0, 100]
  std::optional<uint64_t> seed;              // absent: drawn by the daemon and reported
};

// Answered with Accepted, then Delta and Progress (if stream), then exactly one of Final or Error.
struct GenerateRequest {
  // Exactly one of these three says what the prompt is.
  std::vector<ChunkRef> chunks;       // system? (context | output)* query?
  std::vector<ChatMessage> messages;  // a conversation; the last is the user's
  std::optional<std::string> prompt;  // raw text, no template

  int32_t max_tokens = 0;  // 0: the daemon's default; in any case no more than the context holds
  SamplingParams sampling;
  std::vector<std::string> stop;  // <= 16 strings of 1..256 bytes
  bool ignore_eos = false;
  std::optional<bool> thinking;  // the template's enable_thinking; absent: its default
  bool retain_output = false;    // also called retain_output_cache
  ThinkPolicy think_policy = ThinkPolicy::kReprefill;
  bool stream = false;
  bool logprobs = false;   // Final carries the log-probability of each sampled token
  int64_t timeout_ms = 0;  // 0: none; counted from acceptance
};

// Ends the generation `target` of the same client. Answered with Ack; the target is answered with
// a Final whose finish_reason is "cancelled". Error not_found if it is not running.
struct CancelRequest {
  RequestId target{};
};

// Registers a chunk; the same type and text again gives the same id. Answered with ChunkReply.
struct ChunkPut {
  ChunkType type = ChunkType::kContext;
  std::string text;
};

// Newest first. Answered with ChunkListReply.
struct ChunkListRequest {
  std::optional<ChunkType> type;
  int32_t limit = 1000;  // [1, 1000]
  std::string after;     // id of the last chunk of the previous page, or empty
};

// Answered with ChunkReply. `id` may be a prefix of at least 8 characters if it names one chunk.
struct ChunkGet {
  std::string id;
};

// Answered with ChunkReply: the chunk as it was.
struct ChunkDelete {
  std::string id;
};

// ---- daemon -> client ---------------------------------------------------------------------------

struct Pong {
  std::string boot_id;
  std::string version;
};

// Sizes in bytes, counts since start.
struct StatusReply {
  std::string version;
  std::string boot_id;
  std::string state;  // "serving" or "stopping"
  int64_t uptime_us = 0;
  std::string model;        // folder name
  std::string model_type;   // "qwen3"
  std::string weight_type;  // "bf16"
  std::string kv_type;      // "bf16"
  std::string isa;          // "avx512"
  int32_t threads = 0;
  int32_t context_tokens_max = 0;
  int64_t weight_bytes = 0;
  int64_t kv_bytes_max = 0;   // budget of the page pool
  int64_t kv_bytes_used = 0;  // pages in use, shared pages once
  int64_t kv_pages_used = 0;
  int64_t kv_bytes_per_token = 0;
  int32_t requests_running = 0;
  int32_t requests_waiting = 0;
  int32_t requests_waiting_max = 0;
  int64_t requests_done = 0;
  int64_t requests_failed = 0;
  int64_t requests_cancelled = 0;
  int64_t tokens_reused = 0;     // prompt tokens whose KV was found
  int64_t tokens_prefilled = 0;  // prompt tokens computed for requests
  int64_t tokens_reprefilled = 0;  // answer tokens computed again in idle time
  int64_t tokens_generated = 0;
  int64_t pages_evicted = 0;
  int32_t chunks_input = 0;
  int32_t chunks_output = 0;
  int32_t reprefills_pending = 0;
  double prefill_tokens_per_s = 0;  // measured, recent
  double decode_tokens_per_s = 0;   // measured, recent, all sequences together
  std::vector<std::string> actors_restarted;  // names, one entry a restart
};

// The request passed admission; sent at once, before any work.
struct Accepted {
  int32_t queue_position = 0;  // requests before it
};

// Prefill has advanced; sent at least every second while a stream is silent.
struct Progress {
  int64_t prompt_tokens = 0;
  int64_t prompt_tokens_done = 0;  // reused or prefilled
};

// More text. Only whole code points.
struct Delta {
  std::string text;
  bool reasoning = false;  // the text is a thought
};

struct Usage {
  int64_t prompt_tokens = 0;
  int64_t reused_tokens = 0;      // of the prompt: KV found
  int64_t prefilled_tokens = 0;   // of the prompt: computed now
  int64_t completion_tokens = 0;  // sampled, thoughts and end token included
  int64_t reasoning_tokens = 0;   // of those: thoughts
};

struct Timings {
  int64_t queue_us = 0;
  int64_t prefill_us = 0;      // wall time from first slice to first token
  int64_t first_token_us = 0;  // from acceptance
  int64_t decode_us = 0;       // wall time from first to last token
  int64_t total_us = 0;
};

struct Final {
  std::string text;           // the answer, thoughts removed
  std::string reasoning;      // the thoughts, think tokens removed
  std::string finish_reason;  // "stop", "length", "cancelled"
  std::vector<int32_t> token_ids;  // as sampled
  std::vector<float> logprobs;     // one a token if asked for, else empty
  Usage usage;
  Timings timings;
  uint64_t seed = 0;
  std::string output_chunk_id;  // set if the output was retained
};

struct ChunkReply {
  Chunk chunk;
};

// Texts are cut to 400 bytes (whole code points) and token ids are left out: ChunkGet has them.
struct ChunkListReply {
  std::vector<Chunk> chunks;
  std::vector<int64_t> token_counts;  // [chunks]: tokens of each chunk's text
  bool more = false;
};

struct Ack {};

// The end of a request that failed. `retry_after_ms` > 0: worth trying again after that time.
struct ErrorReply {
  Error error;
  int64_t retry_after_ms = 0;
};

// ---- between actors -----------------------------------------------------------------------------

// The first message of an actor's incarnation to the scheduler, and of a scheduler to the others.
// Work that was given to an earlier incarnation is lost.
struct ActorHello {
  std::string actor;
  uint64_t incarnation = 0;
};

// Ask the actor to return from run().
struct Stop {};

// scheduler -> prefill: what to tokenize. Answered with EncodeDone.
struct EncodeJob {
  uint64_t job = 0;
  // kPrompt: the conversation with the generation prompt. kHistory: the conversation as later turns
  // will render it, cut where it no longer depends on what follows. kRaw: `raw` as a prompt of its
  // own (with BOS). kText: `raw` as a part of one.
  enum class Mode : uint8_t { kPrompt, kHistory, kRaw, kText } mode = Mode::kPrompt;
  std::vector<ChatMessage> messages;
  std::string raw;
  std::optional<bool> thinking;
  int64_t now_unix_s = 0;  // for strftime_now
};

struct EncodeDone {
  uint64_t job = 0;
  std::optional<Error> error;
  std::vector<int32_t> token_ids;
  // kPrompt: text and ids that the generation prompt adds behind what history would show, e.g. an
  // empty think block; and whether the model starts inside a think block.
  std::string generation_prefix;
  bool inside_think = false;
};

// How to choose a token from logits: everything that the choice depends on.
struct SampleSpec {
  double temperature = 0;
  double top_p = 1;
  int32_t top_k = 0;
  double min_p = 0;
  double repetition_penalty = 1;
  uint64_t seed = 0;
  std::vector<int32_t> history;  // only if repetition_penalty != 1: the tokens so far
};

// scheduler -> prefill: compute K and V of `token_ids` at `position` into pages. Answered with
// PrefillDone. `pages` lists the whole chain: page i holds positions [64 i, 64 i + 64).
struct PrefillJob {
  uint64_t job = 0;
  int64_t position = 0;
  std::vector<int32_t> token_ids;
  std::vector<uint32_t> pages;
  std::optional<SampleSpec> sample;  // set: the last token's logits give the next token
};

struct PrefillDone {
  uint64_t job = 0;
  std::optional<Error> error;
  int64_t compute_us = 0;
  int32_t token = -1;  // if sampled
  float logprob = 0;
};

struct DecodeSequence {
  uint64_t sequence = 0;  // the scheduler's handle, echoed
  int32_t token = 0;      // to feed at `position`
  int64_t position = 0;
  int32_t steps_max = 1;  // room in pages and in max_tokens
  std::vector<uint32_t> pages;
  std::vector<int32_t> end_tokens;  // sampling one of these ends the burst of this sequence
  SampleSpec sample;
};

// scheduler -> decode: up to `steps_max` steps of all sequences together. Answered with DecodeDone.
struct DecodeJob {
  uint64_t job = 0;
  int32_t steps_max = 1;
  std::vector<DecodeSequence> sequences;
};

struct DecodedSequence {
  uint64_t sequence = 0;
  std::vector<int32_t> token_ids;
  std::vector<float> logprobs;
};

struct DecodeDone {
  uint64_t job = 0;
  std::optional<Error> error;
  int64_t compute_us = 0;
  int32_t steps = 0;
  std::vector<DecodedSequence> sequences;
};

// scheduler -> store. StorePut replaces a chunk of the same tenant and id. Both answered with
// StoreAck. StoreLoad is answered with StoreChunks.
struct StorePut {
  uint64_t job = 0;
  Chunk chunk;
};
struct StoreDelete {
  uint64_t job = 0;
  std::string tenant;
  std::string id;
};
struct StoreLoad {
  uint64_t job = 0;
};
struct StoreAck {
  uint64_t job = 0;
  std::optional<Error> error;
};
struct StoreChunks {
  uint64_t job = 0;
  std::vector<Chunk> chunks;
};

// gateway -> scheduler: the client behind the frame's client id is gone.
struct ClientGone {};

// The position in this list is the type number on the wire: only append.
using Message =
    std::variant<Ping, StatusRequest, GenerateRequest, CancelRequest, ChunkPut, ChunkListRequest,
                 ChunkGet, ChunkDelete, Pong, StatusReply, Accepted, Progress, Delta, Final,
                 ChunkReply, ChunkListReply, Ack, ErrorReply, ActorHello, Stop, EncodeJob,
                 EncodeDone, PrefillJob, PrefillDone, DecodeJob, DecodeDone, StorePut, StoreDelete,
                 StoreLoad, StoreAck, StoreChunks, ClientGone>;

// Types 0 .. kClientMessageCount-1 may come from clients; a gateway refuses the others.
inline constexpr size_t kClientMessageCount = 8;

}  // namespace cascade::wire
