// A generation on its way through the scheduler.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "actors/scheduler/client.h"
#include "actors/scheduler/thought_runs.h"
#include "base/attention_mode.h"
#include "base/draft_record.h"
#include "base/on_overflow.h"
#include "cache/chain_sequence.h"
#include "cache/chunk_uses.h"
#include "cache/kept_points.h"
#include "cache/running_state.h"
#include "model/output_stream.h"
#include "wire/messages.h"

namespace cascade {

enum class RequestState {
  kEncoding,    // the prefill actor tokenizes the prompt
  kWaiting,     // for a place among the running ones, and for pages
  kPrefilling,  // slices of the prompt are computed
  kDecoding,    // tokens are sampled
};

struct TokenSpan {
  int64_t begin, end;
};

// A chunk's text in a prompt.
struct TextUse {
  ChunkUses::ChunkName chunk;
  TokenSpan where;
  bool is_output = false;     // the pages of its question, before it, are forgotten with it
  bool is_retrieved = false;  // it was brought back: no history will have it
};

// The turns that a prompt lacks.
struct EarlierTurns {
  std::vector<std::string> outputs;  // of the session, and those that the request left out itself
  std::string from;                  // as GenerationRecord::left_out_from
  std::vector<EarlierTurn> texts;    // what no output stands for, oldest first
  TokenSpan where = {0, 0};          // where the prompt has what was brought back
};

// Summaries that may stand in for the oldest messages of a request.
struct SummaryChoice {
  StandIn text;  // its cut is that of the request's messages
  Summarised summarised;
};

struct Request {
  uint64_t handle = 0;  // names it in jobs
  Client client;
  wire::RequestId id{};
  wire::GenerateRequest params;
  std::string output_id;       // of the chunk that its output becomes, if it is to be retained
  bool session_taken = false;  // the request makes the next turn of params.session
  bool prefix = false;         // a PrefixCache: ends with its prompt, without an answer
  ThinkPolicy think_policy = ThinkPolicy::kReprefill;
  // Its approximation is chosen when the request first starts: the policy allows it, and an
  // approximate chain is known further than an exact one.
  AttentionMode attention;
  AttentionMode drafts;  // as AttentionChoice::drafts
  DraftRecord draft_record;
  RequestState state = RequestState::kEncoding;
  OnOverflow on_overflow = OnOverflow::kError;

  std::vector<ChatMessage> messages;                    // empty for a raw prompt
  std::vector<std::string> parent_ids;                  // of the chunks that it was composed from
  std::vector<wire::MissingChunk> missing;              // chunks that were to be in it but are gone
  std::vector<std::pair<std::string, size_t>> answers;  // as in Composition
  // The numbers of the session's turns that came before the request. `answers`, with those that
  // were removed from its front, begins with theirs.
  std::vector<int64_t> session_turns;
  size_t answers_left_out = 0;  // that were removed from the front of `answers`
  // The most tokens that its prompt may have; 0: no turns may be left out.
  int64_t prompt_room = 0;
  LeftOut left_out;  // of the conversation
  // If it retrieves: the most tokens that may be brought back, besides prompt_room.
  int64_t retrieved_max = 0;
  EarlierTurns earlier;
  std::optional<wire::Retrieval> retrieval;  // set once it was decided what to choose from
  std::vector<Retrieved> retrieved;          // as in Final
  std::string retrieved_text;                // as in Final
  // The summaries that stand in for what was left out before its messages. Once its prompt is
  // tokenized, they stand in for all of left_out.
  std::optional<Summarised> summarised;
  std::vector<SummaryChoice> summaries;  // in ascending order of their cuts
  std::string begun;                     // the assistant's text that the answer goes on with
  bool begun_verbatim = false;           // as in ChatMessage
  std::vector<int32_t> prompt;
  std::vector<TextUse> texts;  // the chunks' texts in the prompt
  std::string generation_prefix;
  // How much of the prompt a later one of the same conversation begins with, as far as is known.
  // Set if the model has recurrent layers.
  int64_t history_tokens = 0;
  bool inside_think = false;
  int32_t max_tokens = 0;
  std::optional<int64_t> room_tokens;  // set if the prompt is too long: the room that there is
  wire::SampleSpec sample;
  std::vector<int32_t> end_tokens;

  // The tokens that a preempted request had fed. All of them are to be found or computed again.
  std::vector<int32_t> resumed;
  // In kPrefilling and kDecoding.
  std::unique_ptr<ChainSequence> sequence;
  std::unique_ptr<RunningState> recurrent;
  ChainPlan plan;  // where states are to be kept
  // How much of its tenant's parts the request takes while it waits.
  struct Counted {
    int64_t places = 0;
    int64_t tokens = 0;
    int64_t text_bytes = 0;
  } counted;
  bool reader = false;  // its sequence may be longer than memory (disk/page_spills.h)
  // The most pages that the whole generation may take; of a reader, PageSpills::promised_pages().
  int64_t pages_promised = 0;
  int64_t pin_promised = 0;        // of these, for the pin of its output
  int overtaken = 0;               // later requests that started while this one waited for pages
  int64_t known_tokens = 0;        // in pages or worth loading when it was admitted
  int64_t reused_tokens = 0;       // of the prompt
  int64_t loaded_tokens = 0;       // of these, from disk
  int64_t approximate_tokens = 0;  // of the reused ones: their K and V are approximations
  int restores = 0;                // how often its beginning was to be brought back from disk
  int64_t written_tokens = 0;      // of the sequence: given to be written to disk
  bool written_behind = true;      // false: a chunk whose text it has was removed
  bool loading = false;          // the store reads into the sequence's pages, or leases some to it
  int64_t prefilled_tokens = 0;  // of the prompt
  int64_t selected_tokens = 0;   // as in wire::Usage, like the next two
  int64_t drafted_tokens = 0;
  int64_t accepted_tokens = 0;
  int64_t computing_us = 0;      // that the prompt's slices took
  Miss miss;                     // why a part of the prompt was not found
  std::vector<int32_t> sampled;  // the last of them is not committed yet
  std::vector<float> logprobs;
  std::vector<int32_t> top_token_ids;  // as in Final
  std::vector<float> top_logprobs;
  std::unique_ptr<OutputStream> output;

  // Set if the request is to end when the job that works on it ends.
  std::string pending_finish;  // finish_reason, or
  std::optional<Error> pending_error;
  bool client_gone = false;
  bool dead_end = false;  // nobody will ever go on from what was sampled

  std::vector<wire::Delta> held_deltas;  // waiting for params.delta_credit, which counts down
  bool had_delta_credit = false;         // else its text comes with Final only
  int64_t accepted_us = 0;
  int64_t prefill_start_us = 0;
  int64_t first_token_us = 0;
  int64_t last_sent_us = 0;

  // The tokens that must be in pages before tokens are sampled.
  const std::vector<int32_t>& chain() const { return resumed.empty() ? prompt : resumed; }
  // The part of the chain that may be found instead of being computed. The last token of a prompt
  // is always computed, because its logits are wanted, except for a prefix or when tokens had been
  // sampled before.
  std::span<const int32_t> reusable() const {
    const std::span<const int32_t> all = chain();
    if (!resumed.empty()) return all;
    if (!params.reuse) return {};
    return prefix ? all : all.first(all.size() - 1);
  }
  // The tokens that are in the sequence's pages, or on disk and on their way into the sequence.
  std::span<const int32_t> in_pages() const {
    if (loading) return chain();
    return sequence->tokens();
  }
  // Whether a reader's pages on disk count as found.
  ChainIndex::Where where() const {
    return reader ? ChainIndex::Where::kAnywhere : ChainIndex::Where::kMemory;
  }
  ChainIndex::Use use() const {
    return reader ? ChainIndex::Use::kReader : ChainIndex::Use::kMemory;
  }
  // The most tokens that prompt and answer can have.
  int64_t tokens_max() const { return std::ssize(prompt) + max_tokens; }
  bool prompt_done() const { return sequence->tokens().size() == chain().size(); }
  // The number of the first turn that the session does not leave out if the first `count` answers
  // of its conversation are left out. Turns that were missing are not left out.
  int64_t session_begin(size_t count) const {
    const size_t turns = std::min(count, session_turns.size());
    return turns == 0 ? 0 : session_turns[turns - 1] + 1;
  }
  // Whether a later prompt may repeat all that was computed. It does not repeat the last tokens of
  // a burst that went further than the answer (whose own last token is not computed), nor an answer
  // that is a dead end.
  bool may_be_repeated() const {
    const int64_t answered = sequence->committed() - std::ssize(prompt);
    return answered <= 0 || (!dead_end && answered < std::ssize(sampled));
  }
  bool running() const {
    return state == RequestState::kPrefilling || state == RequestState::kDecoding;
  }

  // As in GenerationRecord.
  std::string told_left_out_from() const {
    return left_out == LeftOut() ? std::string() : earlier.from;
  }
  // As in GenerationRecord and wire::Final.
  std::optional<Summarised> told_summarised() const {
    return left_out == LeftOut() ? std::nullopt : summarised;
  }
  std::optional<LeftOut> told_left_out() const {
    return left_out == LeftOut() ? std::nullopt : std::optional(left_out);
  }
  // Whether sampling looks at the tokens so far.
  bool penalised() const {
    return sample.repetition_penalty != 1 || sample.presence_penalty != 0 ||
           sample.frequency_penalty != 0;
  }

  int64_t deadline_us() const {
    return params.timeout_ms > 0 ? accepted_us + params.timeout_ms * 1000 : INT64_MAX;
  }
};

// How the K and V of a chain are made from those of the sampled one (AttentionMode::approximation).
struct ThoughtRemoval {
  AttentionMode sampled;               // the mode of the sampled chain
  std::vector<TokenRun> runs;          // of the chain; what comes before them is known
  std::vector<int32_t> history;        // the exact chain: it begins with the approximate one
  ChainIndex::Node* source = nullptr;  // of the sampled chain, acquired while a job reads its pages
};

// The history of a session without its oldest turns, computed before there is no room for the
// whole.
struct ShorterHistory {
  std::string session;
  // For each number of turns left out, the number of the session's first turn that stays.
  std::vector<int64_t> begins;
  LeftOut left_out;                         // of the conversation of the output's request
  int64_t answer_tokens = 0;                // at the end of the history, at most
  std::vector<std::string> summaries = {};  // that may stand in for what is left out
};

// A summary that the model writes after the chain, which asks for it.
struct SummaryDraft {
  Chunk chunk;             // what it becomes; it has no text yet
  int64_t tokens_max = 0;  // without thoughts
  int64_t thought_tokens_max = 0;
  std::vector<int32_t> end_tokens = {};
  std::optional<std::pair<int32_t, int32_t>> think = {};  // the tokens that begin and end thoughts
  std::vector<int32_t> sampled = {};                      // so far, without an end token
  int64_t thought_tokens = 0;                             // of these
  bool thinks = false;                                    // the next token is a thought
  bool ended = false;                                     // by an end token
  bool inside_think = false;                              // the prompt ended within thoughts
};

// The K and V of a retained output's chain, computed when there is nothing else to do.
struct Reprefill {
  std::string tenant;
  std::string chunk_id;
  AttentionMode attention = {};
  std::vector<int32_t> chain;
  // The chain as it was sampled. Where it differs from `chain` (thoughts, an empty think block of
  // the generation prompt), the rest of the sampled chain is a branch that no later turn reaches.
  std::vector<int32_t> sampled_chain;
  size_t prompt_tokens = 0;        // of sampled_chain
  bool for_all = false;            // of a published chunk, in pages that every tenant finds
  std::optional<Digest> text_end;  // of a TextPin: its key in TextPins::of()
  bool restored = false;           // its beginning was to be brought back from disk
  // Set if `attention` is an approximation: nothing is computed, K and V are moved.
  std::optional<ThoughtRemoval> removal;
  bool heals = false;  // an approximate chain is to be replaced by the exact one in idle time
  std::optional<int32_t> think_end = {};  // as in SampledChain
  // Set if this is not the output's own chain: nothing is held when it is computed.
  std::optional<ShorterHistory> shorter = {};
  // Set if a summary is written after the chain, which grows with it.
  std::optional<SummaryDraft> draft = {};
  // Once started.
  std::unique_ptr<ChainSequence> sequence;
  std::unique_ptr<RunningState> recurrent;
};

}  // namespace cascade
