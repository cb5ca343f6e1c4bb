// Chunks as they travel and are stored: plain data, no behaviour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/attention_mode.h"
#include "base/holder.h"
#include "base/on_overflow.h"
#include "base/result.h"

namespace cascade {

enum class ChunkType { kSystemPrompt, kContext, kOutput, kQuery, kSummary };
inline constexpr ChunkType kChunkTypes[] = {ChunkType::kSystemPrompt, ChunkType::kContext,
                                            ChunkType::kOutput, ChunkType::kQuery,
                                            ChunkType::kSummary};

// "SYSTEM_PROMPT", "CONTEXT", "OUTPUT", "QUERY", "SUMMARY".
std::string_view to_string(ChunkType type);
std::optional<ChunkType> chunk_type_from_string(std::string_view name);

// Whether a chunk of this type has a chain of its own, whose K and V are kept for it. Chunks of the
// other types only appear in the prompts of requests.
inline bool has_own_chain(ChunkType type) {
  return type == ChunkType::kOutput || type == ChunkType::kSystemPrompt;
}

// 0 = system prompt, 1 = context, output and summary, 2 = query: the order in which chunks compose.
int cascade_level(ChunkType type);

// What happens to the KV of an output that contains thoughts (design.md, section 1).
enum class ThinkPolicy {
  kReprefill,  // the default, exact: in idle time the answer is prefilled again, without thoughts
  kKeep,       // the sampled tokens, thoughts included, are the history
  kDrop,       // no KV of the output is kept; its text is prefilled when it is used
  kSplice,     // an approximation: the thoughts' KV is taken out of the chain, the answer's stays,
               // with its keys turned to where the answer stands without thoughts
  kMask,       // an approximation: the same, but the answer's positions stay as they were
};

// "reprefill", "keep", "drop", "splice", "mask".
std::string_view to_string(ThinkPolicy policy);
std::optional<ThinkPolicy> think_policy_from_string(std::string_view name);
// What the policy makes of a chain.
Approximation approximation_of(ThinkPolicy policy);

// Whether the KV of a chunk's chain is in the page pool now.
enum class KvState {
  kNone,     // not computed, or evicted: prefilled when the chunk is used
  kPending,  // the idle re-prefill has not run yet
  kReady,    // every token of the chain has its K and V in pages
};

std::string_view to_string(KvState state);  // "none", "pending", "ready"
std::optional<KvState> kv_state_from_string(std::string_view name);

// What a request does when chunks that it refers to, or turns of its conversation, no longer exist.
enum class OnMissing {
  kError,  // the request is refused
  kSkip,   // the request runs without the missing ones, and its answer names them
};

std::string_view to_string(OnMissing choice);  // "error", "skip"
std::optional<OnMissing> on_missing_from_string(std::string_view name);

// A half-open range [begin, end) of sampled tokens that are thoughts, think tokens included.
struct ThinkSpan {
  int32_t begin = 0;
  int32_t end = 0;
  bool closed = false;  // false: the generation ended inside the block
  bool operator==(const ThinkSpan&) const = default;
};

// How an output came to be.
struct GenerationRecord {
  double temperature = 0;
  double top_p = 1;
  int32_t top_k = 0;
  double min_p = 0;
  double repetition_penalty = 1;
  uint64_t seed = 0;
  int32_t max_tokens = 0;
  std::string finish_reason;  // "stop", "length", "cancelled"
  double presence_penalty = 0;
  double frequency_penalty = 0;
  // The number of tokens that had a bias. The biases themselves are not kept: an output can have
  // 1,024 of them, and a list of outputs with all of them would not fit in a message.
  int32_t logit_bias_count = 0;
  // What the output was computed after: with approximations, other K and V than its prompt's.
  Approximation approximation = Approximation::kNone;
  // What its prompt lacked of the conversation, for lack of room; absent: nothing.
  std::optional<LeftOut> left_out = {};
  // The output whose prompt or answer has the newest of the turns that are left out; empty: none is
  // known.
  std::string left_out_from = {};
  // What it had again of that; empty: nothing.
  std::vector<Retrieved> retrieved = {};
  // The summaries that stood in for that; absent: none did. A summary has its own turns here.
  std::optional<Summarised> summarised = {};
  bool operator==(const GenerationRecord&) const = default;
};

// One message of a conversation.
struct ChatMessage {
  std::string role;  // "system", "user", "assistant", "tool"
  std::string content;
  std::string reasoning;  // assistant only: thoughts, without think tokens; may be empty
  // assistant only: `content` is put into the prompt exactly as it is, thoughts included, whatever
  // the template would do to it (policy kKeep).
  bool verbatim = false;
  std::string tool_calls{};  // assistant only: a JSON array as in OpenAI's API, or empty
  // A tool's: the id of the call with this result; may be empty. An assistant's: what the ids of
  // the calls in its content begin with; empty: some ids.
  std::string tool_call_id{};
  std::string name{};  // tool only: the function's name; may be empty
  bool operator==(const ChatMessage&) const = default;
};

// The largest number of parents that are kept: with this many parents each, a list of 1,000 outputs
// still fits in a message.
inline constexpr size_t kParentIdsMax = 256;

struct Chunk {
  std::string id;  // "chunk_" + 32 hex digits, or "output_" + 32 hex digits
  ChunkType type = ChunkType::kContext;
  std::string tenant;
  // SHA-256, hex, of type and text; for outputs also of the turn; for summaries of the type and of
  // what is summarised.
  std::string content_hash;
  std::string text;                // for outputs: the answer, thoughts removed
  std::vector<int32_t> token_ids;  // of `text` alone; for outputs: as sampled, thoughts included
  // Outputs only: the user's message that this output answers, contexts included, as it was in the
  // prompt.
  std::string query_text;
  // Outputs only: what follows the assistant's header when thoughts are kept: the template's
  // generation prefix (e.g. an empty think block) and the sampled text, thoughts included.
  std::string raw_text;
  std::vector<ThinkSpan> think_spans;
  ThinkPolicy think_policy = ThinkPolicy::kReprefill;
  KvState kv_state = KvState::kNone;
  Approximation kv_approximation = Approximation::kNone;  // of the K and V that are held now
  int64_t kv_tokens = 0;                                  // tokens of the chain whose KV is held
  int64_t kv_bytes = 0;       // bytes of pages in memory that hold this chunk's own tokens
  int64_t kv_disk_pages = 0;  // pages on disk that hold this chunk's own tokens
  int64_t kv_disk_bytes = 0;  // the bytes of these pages, approximately
  // The chain whose K and V belong to this chunk: the chain key of its last page, in hexadecimal,
  // and the number of tokens before this chunk's own. Empty: there is no such chain, or it is not
  // known yet.
  std::string kv_key;
  int64_t kv_begin = 0;
  GenerationRecord generation;
  int64_t created_us = 0;    // Unix time
  int64_t last_used_us = 0;  // Unix time
  int64_t hits = 0;          // requests that used this chunk
  // The holders that keep this chunk. The next five fields are computed from all holders: see
  // cache/holders.h. Empty in chunks that were stored before holders existed.
  std::vector<Holder> holders;
  bool pinned = false;
  int64_t expires_us = 0;  // Unix time; 0 = never
  int32_t priority = 0;
  int64_t priority_until_us = 0;  // Unix time; then the type's default applies; 0 = for good
  std::string name;               // the chunk's latest name; may be empty; not unique
  int64_t registrations = 1;      // how often this content was registered
  // An output has the chunks that the request named, in the request's order; a summary has the
  // outputs whose turns it summarises, or the summaries. At most the first kParentIdsMax.
  std::vector<std::string> parent_ids;
  // Outputs only: data that the request gave for its own client; the daemon does not look at it.
  std::string client_data;
  bool published = false;  // every tenant may find it; only its owner changes or deletes it
  bool operator==(const Chunk&) const = default;
};

}  // namespace cascade
