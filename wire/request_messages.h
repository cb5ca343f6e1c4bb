// What clients ask for.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/grammar_kind.h"
#include "base/on_overflow.h"
#include "base/text_start.h"
#include "wire/chunk.h"

namespace cascade::wire {

// Chosen by the sender of a request and echoed in every reply to it.
using RequestId = std::array<uint8_t, 16>;

// Answered with Pong. A changed boot_id tells a client that the daemon was restarted.
struct Ping {};

// Answered with StatusReply.
struct StatusRequest {};

// A chunk in a composition, by id or by text. System prompts and contexts that are given by text
// are registered on the way; outputs cannot be given by text. An output may also be named as a
// context.
struct ChunkRef {
  ChunkType type = ChunkType::kContext;
  std::string id;  // exactly one of id and text is set
  std::string text;
};

// Added to the logit of one token before anything else.
struct LogitBias {
  int32_t token = 0;  // of the model's vocabulary
  double bias = 0;    // [-100, 100]
};

struct SamplingParams {
  // Absent: the model's generation_config.json, else greedy.
  std::optional<double> temperature;         // [0, 100]; 0 = greedy
  std::optional<double> top_p;               // [0, 1]; 0: the likeliest
  std::optional<int32_t> top_k;              // [0, 2^21]; 0 = off
  std::optional<double> min_p;               // [0, 1]
  std::optional<double> repetition_penalty;  // (0, 100]
  std::optional<uint64_t> seed;              // absent: drawn by the daemon and reported
  // As in OpenAI's API, counted over the generated tokens only; absent: 0.
  std::optional<double> presence_penalty;   // [-2, 2]; for a token that was generated
  std::optional<double> frequency_penalty;  // [-2, 2]; times how often it was generated
  std::vector<LogitBias> logit_bias;        // <= 1024, each token once
};

// The form that the answer must have, from its first character to its last.
struct Grammar {
  GrammarKind kind = GrammarKind::kJsonObject;
  std::string schema;  // kJsonObject: empty
};

// Answered with Accepted, then Delta and Progress (if stream), then exactly one of Final or Error.
struct GenerateRequest {
  // Exactly one of these four says what the prompt is.
  std::vector<ChunkRef> chunks;       // system? (context | output)* query?
  std::vector<ChatMessage> messages;  // a conversation; the last is the user's
  std::optional<std::string> prompt;  // raw text, no template
  // The prompt as it is, special tokens included; nothing is put before it.
  std::vector<int32_t> prompt_token_ids{};

  // 0: the daemon's default. In any case at most what the context and the KV memory hold.
  int32_t max_tokens = 0;
  SamplingParams sampling;
  std::vector<std::string> stop;  // <= 16 strings of 1..256 bytes
  bool ignore_eos = false;
  std::optional<bool> thinking;  // the template's enable_thinking; absent: its default
  // The template's reasoning_effort, e.g. "low": 1 to 32 characters of a to z, _ and -.
  std::optional<std::string> reasoning_effort;
  bool retain_output = false;               // also called retain_output_cache
  std::optional<ThinkPolicy> think_policy;  // absent: the daemon's (--think-policy)
  bool stream = false;
  bool logprobs = false;   // Final carries the log-probability of each sampled token
  int64_t timeout_ms = 0;  // 0: none; counted from acceptance
  bool reuse = true;       // false: the whole prompt is computed, even if parts are known
  // [0, 20], only with logprobs: how many of the likeliest tokens Final also has for each place.
  int32_t top_logprobs = 0;

  // For the retained output, only with retain_output; meaning and ranges as in ChunkUpdate. If
  // there is no room for a pin, the request fails before anything is computed.
  std::optional<std::string> output_name;
  std::optional<bool> output_pinned;
  std::optional<int64_t> output_ttl_ms;
  std::optional<int32_t> output_priority;
  std::optional<int64_t> output_priority_ms;
  // Kept with the retained output, only with retain_output; <= kClientDataBytesMax. The daemon does
  // not look at it.
  std::string client_data;
  // The priority of the K and V of the prompt's whole pages, and how long they have it, counted
  // from the first token. Both or neither.
  std::optional<int32_t> prompt_priority;     // [0, 100]
  std::optional<int64_t> prompt_priority_ms;  // >= 1
  // The session whose next turn this is; only with chunks. The outputs of its turns so far come
  // before the request's own chunks, but after a system prompt. The output is retained and, unless
  // it is cancelled, becomes the session's next turn. A session begins with its first turn.
  std::string session;  // <= 128 bytes without control characters
  // The last output of the conversation that this request continues. Its turn, and everything that
  // its own prompt was made of, come before what `chunks` or `messages` add. The earlier system
  // prompt is used only if `chunks` or `messages` have none. Not with a session.
  std::string previous_output;
  // The outputs whose turns are in `messages`. They become parents of the output, as chunks do that
  // a request names. Only with messages and retain_output; at most kParentIdsMax.
  std::vector<std::string> parents;
  // What to do if a chunk that the request names, or a turn before it, is gone; absent: error.
  std::optional<OnMissing> on_missing;
  // The tools that the model may call: a JSON array as in OpenAI's API, which is given to the chat
  // template; or empty. Only with messages.
  std::string tools;               // <= 1 MiB
  std::optional<Grammar> grammar;  // not with ignore_eos
  // How many Deltas may be sent before the client allows more with DeltaCredit; absent: any number.
  // Without credit, text is joined until there is some, or until the generation ends.
  std::optional<int32_t> delta_credit;  // [0, 1,000,000]
  // The last of `messages` is the assistant's, and the answer continues it. A retained output has
  // both as its text. Not with a grammar.
  std::optional<bool> continue_final_message{};
  // Which earlier tokens each token attends to: a text that parse_attention() reads
  // (base/attention_mode.h); absent: the daemon's (--attention).
  std::optional<std::string> attention{};
  // With the think policies splice and mask: whether the answer is prefilled in idle time, as with
  // reprefill, and its exact K and V then replace the approximate ones; absent: the daemon's
  // (--heal).
  std::optional<bool> heal{};
  // What to do if the conversation is longer than its room; absent: what the session's last turn
  // did, or error. Only with chunks or messages.
  std::optional<OnOverflow> on_overflow{};
};

// Ends the generation `target` of the same client. Answered with Ack; the target is answered with
// a Final whose finish_reason is "cancelled". Error not_found if it is not running.
struct CancelRequest {
  RequestId target{};
};

// Registers a chunk. The same type and text again gives the same id, and counts in `registrations`.
// Answered with ChunkReply. Exactly one of text and token_ids is given. Token ids register the text
// that they decode to, with that text's own token ids; special tokens, and ids that make no text,
// are refused. The other fields, where given, are also applied to a chunk that already exists, as
// by ChunkUpdate. If one of them is refused, nothing is registered or changed.
struct ChunkPut {
  ChunkType type = ChunkType::kContext;
  std::string text;
  std::vector<int32_t> token_ids{};
  std::optional<std::string> name{};
  std::optional<bool> pinned{};
  std::optional<int64_t> ttl_ms{};
  std::optional<int32_t> priority{};
  std::optional<int64_t> priority_ms{};
};

// Newest first. Answered with ChunkListReply.
struct ChunkListRequest {
  std::optional<ChunkType> type;
  int32_t limit = 1000;  // [1, 1000]
  std::string after;     // id of the last chunk of the previous page, or empty
};

// Finds chunks, newest first. Every word of `query` must be in the name, the text or the query of
// the chunk; different words may be in different ones of these. Answered with ChunkSearchReply.
struct ChunkSearch {
  std::string query;   // words between spaces; case and accents do not matter
  int32_t limit = 20;  // [1, 1000]
};

// Answered with ChunkReply. `id` may be a prefix of at least 8 characters if it names one chunk.
struct ChunkGet {
  std::string id;
};

// Gives up one holder of the tenant's chunk; the chunk ends with its last holder. Without `name`
// and `all`, the retention that ends first is given up. The last retention takes with it the holder
// that stands for requests which included the text. If there are no retentions, that holder is
// given up; if it does not exist either, the only name. A session's turn ends only with its
// session, or with `all`. Answered with ChunkReply: what ended, and the chunk as it is now. Error
// conflict, field "id": the chunk has several names, or nothing but turns of sessions, or is pinned
// and only pins would be left.
struct ChunkDelete {
  std::string id;
  std::string name{};  // not empty: gives up the holder of this name
  // True: gives up all holders of the chunk, including sessions' turns. Not if it is pinned.
  std::optional<bool> all{};
};

// Changes those settings of a chunk that are given: all of them, or none if one is refused.
// Answered with ChunkReply: the chunk as it is now. At least one change must be given.
struct ChunkUpdate {
  std::string id;
  // <= 128 bytes without control characters. A name is a holder of its own, and the other fields
  // change that holder. "": the chunk's names end, and what they held is held without a name.
  std::optional<std::string> name;
  // True: the chunk's pages are not evicted, and no holder's time passes. False: one pin ends. With
  // the last pin, all holders whose time is over end, too; the chunk may then be gone.
  std::optional<bool> pinned;
  std::optional<int64_t> ttl_ms;       // from now, [1, 100 years]; 0: never expires
  std::optional<int32_t> priority;     // [0, 100]; pages of lower priority are evicted first
  std::optional<int64_t> priority_ms;  // only with priority: how long it lasts, then the default
  std::optional<bool> published;       // by tenant "local" only
  bool touch = false;                  // counts as a use
};

// Computes the K and V of a beginning of prompts, and pins it for this connection, until as many
// PrefixRelease have come as PrefixCache and PrefixAttach, or until the connection ends. The same
// beginning again gives the same id. Answered as a generation is, with PrefixReply instead of
// Final. CancelRequest ends it, with an ErrorReply "cancelled". Error resource_exhausted, field
// "prefix", if there is no room for the pin.
struct PrefixCache {
  // Exactly one of the three. If a conversation ends with a context or a message of the user,
  // prompts continue that message after a blank line; a raw prompt is continued directly.
  std::vector<ChunkRef> chunks;  // system? (context | output)*
  std::vector<ChatMessage> messages;
  std::optional<std::string> prompt;
  std::optional<bool> thinking;  // this and the next field: as in GenerateRequest
  std::optional<std::string> reasoning_effort;
  bool stream = false;  // Progress is wanted
  int64_t timeout_ms = 0;
};

// Adds a reference to a prefix of the same tenant. Answered with PrefixReply.
struct PrefixAttach {
  std::string id;
};

// Gives up one reference of this connection. A prefix without references is gone, and its pages
// become ordinary ones. Answered with PrefixReply. Error not_found if this connection has no
// reference.
struct PrefixRelease {
  std::string id;
};

// Lists the sessions of the tenant, the most recently used one first. Answered with
// SessionListReply.
struct SessionListRequest {
  int32_t limit = 1000;  // [1, 1000]
};

// Answered with SessionReply.
struct SessionGet {
  std::string id;
};

// Answered with SessionReply: the session as it was, and what became of its outputs. Error conflict
// while a request makes the session's next turn.
struct SessionDelete {
  std::string id;
  // True: the session gives up the outputs of its turns, and those that nobody else holds are
  // deleted; error conflict if only a pin would be left to hold one of them. False: each turn
  // becomes a retention of its output.
  bool outputs = false;
};

// Asks for the tenant's policies: how long chunks live that are registered without a time to live
// of their own. Answered with PolicyReply.
struct PolicyGet {};

// Sets one policy, for chunks that are registered from now on. Answered with PolicyReply.
struct PolicySet {
  ChunkType type = ChunkType::kContext;
  int64_t ttl_ms = 0;  // [1, 100 years]; 0: they do not expire
};

// Asks what the chunks and their pages take, and what the cache did. Answered with StatsReply.
struct StatsRequest {};

// Verifies everything on disk while the daemon goes on. Answered with FsckReply when that is done.
// By tenant "local" only. Error conflict, field "fsck", while another check or a backup runs. The
// check continues if the client goes away.
struct FsckRequest {
  bool repair = false;    // also forgets what is damaged, which is computed again when needed
  std::string state_dir;  // the daemon's, as the client knows it (another is refused), or empty
};

// Copies what is on disk, except packed weights, to a folder while the daemon goes on. Answered
// with BackupReply when the copy is complete and durable. Otherwise as FsckRequest.
struct BackupRequest {
  std::string directory;  // an absolute path on the daemon's machine: a new or an empty folder
  std::string state_dir;  // as in FsckRequest
};

// Asks for the token ids of a text as they are in a prompt: special tokens in it are not
// recognised. Answered with TokenizeReply.
struct TokenizeRequest {
  std::string text;
  bool beginning = false;  // as a raw prompt begins: with what the tokenizer puts before it (BOS)
};

// Answered with DetokenizeReply. Error invalid_argument for an id outside the vocabulary.
struct DetokenizeRequest {
  std::vector<int32_t> token_ids;
  bool skip_special = false;  // leaves out special tokens
  bool pieces = false;        // also what each token adds to the text, as text
  bool piece_bytes = false;   // also the same in bytes
  TextStart text_start = TextStart::kFirst;
};

// Asks for the prompt that a conversation makes. Answered with ApplyTemplateReply.
struct ApplyTemplateRequest {
  std::vector<ChatMessage> messages;
  std::optional<bool> thinking;  // this and the following fields: as in GenerateRequest
  std::string tools;
  std::optional<bool> continue_final_message{};
  std::optional<std::string> reasoning_effort{};
};

// Lets the generation `target` of the same client send that many more Deltas. Answered with Ack;
// error not_found if the generation has ended.
struct DeltaCredit {
  RequestId target{};
  int32_t deltas = 1;  // [1, 1,000,000]
};

// Asks for the events of the client's tenant after number `after`, which a subscriber has missed.
// Answered with EventsReply.
struct EventsRequest {
  int64_t after = 0;     // >= 0
  std::string boot_id;   // the boot that `after` belongs to; empty: the daemon's current one
  int32_t limit = 1000;  // [1, 1000]
};

// Asks which models the daemon has, and which of them are loaded. Answered with ModelListReply.
struct ModelListRequest {};

// Loads a model of the daemon's folder, unless it is loaded. With `estimate`, only says what that
// would take. Answered with ModelReply when it is done. By tenant "local" only.
struct ModelLoad {
  std::string name;
  bool estimate = false;
};

// Unloads the model, if it is loaded; its chunks stay on disk. Running requests end as when a
// daemon stops. Answered with ModelReply when the model's memory is free. By tenant "local" only.
// Error conflict for the default model, which is always loaded.
struct ModelUnload {
  std::string name;
};

}  // namespace cascade::wire
