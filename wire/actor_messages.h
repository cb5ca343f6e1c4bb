// What actors tell each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/attention_mode.h"
#include "base/draft_record.h"
#include "base/result.h"
#include "wire/chunk.h"
#include "wire/reply_messages.h"
#include "wire/request_messages.h"

namespace cascade::wire {

// Each incarnation of an actor sends this first: an actor to the scheduler, and the scheduler to
// the others. Work that was given to an earlier incarnation is lost.
struct ActorHello {
  std::string actor;
  uint64_t incarnation = 0;
};

// Ask the actor to return from run().
struct Stop {};

// What was left out of a prompt, and how many tokens of it may be brought back.
struct Retrieval {
  std::vector<EarlierTurn> turns;  // oldest first
  int64_t tokens_max = 0;
};

// scheduler -> prefill: what to tokenize. Answered with EncodeDone.
struct EncodeJob {
  uint64_t job = 0;
  // kPrompt: the conversation with the generation prompt. kHistory: the conversation as later turns
  // will render it, cut where it no longer depends on what follows. kBeginning: the conversation,
  // whose last message (the user's) continues after a blank line. kRaw: `raw` as a prompt of its
  // own (with BOS), or `token_ids` as they are. kText: `raw` as a part of a prompt.
  enum class Mode : uint8_t { kPrompt, kHistory, kBeginning, kRaw, kText } mode = Mode::kPrompt;
  std::string tools;       // as in GenerateRequest
  bool show_text = false;  // kPrompt: the text is wanted, too
  std::vector<ChatMessage> messages;
  std::string follower = "user";  // kHistory: the role of the message that will follow
  std::string raw;
  std::vector<int32_t> token_ids{};
  bool goes_on = false;  // kPrompt: the answer continues the last message, the assistant's
  std::optional<bool> thinking;
  std::optional<std::string> reasoning_effort;  // as in GenerateRequest
  int64_t now_unix_s = 0;                       // for strftime_now
  std::optional<Grammar> grammar;               // kPrompt, kRaw: it is only checked
  // The most tokens that the prompt, or the next prompt after this history, may have. If it would
  // have more, its oldest turns are left out. Absent: nothing is left out.
  std::optional<int64_t> room{};
  std::optional<LeftOut> preferred{};    // kPrompt: left out, if the rest fits then
  std::optional<int64_t> next_tokens{};  // kHistory: what the next prompt will add
  // kPrompt, without `room`: the parts that answer the newest question best are put before it.
  std::optional<Retrieval> retrieval{};
  // kPrompt, kHistory: texts that stand in for what is left out, each for more than the one before
  // it. The first may stand in for what the messages lack already: its cut leaves out nothing. If
  // `room` makes turns be left out, the first of these cuts is taken after which the rest fits.
  std::vector<StandIn> summaries{};
};

struct EncodeDone {
  uint64_t job = 0;
  std::optional<Error> error;
  std::vector<int32_t> token_ids;
  int64_t tokens_left_out = 0;  // the number of ids, if a message cannot hold them: none are sent
  // kPrompt: the text that the generation prompt adds after what the history would show, e.g. an
  // empty think block; and whether the model starts inside a think block.
  std::string generation_prefix;
  bool inside_think = false;
  std::string text;                   // show_text: the prompt before it was tokenized
  std::optional<LeftOut> left_out{};  // with `room`: absent if nothing was left out
  // With `retrieval`: what was brought back, and the text that was put before the question.
  std::vector<Retrieved> retrieved{};
  std::string retrieved_text{};
  std::optional<LeftOut> summarised{};  // the cut of the one of `summaries` that is in the prompt
};

// The form that an answer must have, and how much of the answer exists already.
struct Constraint {
  Grammar grammar;
  bool inside_think = false;    // the prompt ended within thoughts
  bool may_think = false;       // the answer may begin with thoughts
  bool goes_on = false;         // the answer continues a text that the prompt ends with
  std::vector<int32_t> tokens;  // sampled so far
};

// How to choose a token from logits: everything that the choice depends on.
struct SampleSpec {
  double temperature = 0;
  double top_p = 1;
  int32_t top_k = 0;
  double min_p = 0;
  double repetition_penalty = 1;
  uint64_t seed = 0;
  // The tokens so far that penalties look at. Empty without a penalty; the prompt's tokens are
  // included only if repetition_penalty != 1.
  std::vector<int32_t> history;
  int32_t history_prompt_tokens = 0;  // how many of these, at the front, belong to the prompt
  double presence_penalty = 0;
  double frequency_penalty = 0;
  std::vector<int32_t> bias_tokens;
  std::vector<float> biases;  // [bias_tokens]
  int32_t top_logprobs = 0;
  std::optional<Constraint> constraint;
};

// Where the recurrent states of a sequence are during a job. States are in slots of their own
// memory, which is numbered like that of pages.
struct JobStates {
  std::optional<uint32_t> from;  // the state before the job's tokens; unset: there is none yet
  uint32_t to = 0;               // where the state after them is written; may be `from`
  // States in between, or at the end, that are to be kept: each after so many of the job's tokens,
  // in ascending order, in these slots.
  std::vector<int32_t> kept_after = {};
  std::vector<uint32_t> kept = {};  // [kept_after]
};

// In the pages of a job: a page that is not in memory. The other bits are the number of its lease.
inline constexpr uint32_t kLeasedPage = uint32_t{1} << 31;
inline constexpr uint32_t kUnseenPage = ~uint32_t{0};

// K and V of a job's tokens that are not computed but copied from elsewhere.
struct MovedRows {
  std::vector<uint32_t> pages;  // of the arena: the whole chain that they are copied from
  int64_t begin = 0;            // the place of the first of them in that chain
  // By how many positions their keys are turned: forwards, or backwards if it is negative.
  int64_t turn = 0;
};

// scheduler -> prefill: compute K and V of `token_ids` at `position` into pages. Answered with
// PrefillDone. `pages` lists the whole chain: page i holds positions [64 i, 64 i + 64).
struct PrefillJob {
  uint64_t job = 0;
  int64_t position = 0;
  std::vector<int32_t> token_ids;
  // Pages of the arena; with kLeasedPage, leases; kUnseenPage where no token of the job sees it.
  std::vector<uint32_t> pages;
  std::optional<SampleSpec> sample;  // set: the last token's logits give the next token
  AttentionMode attention = {};
  bool index_pages = false;  // also if `attention` does not select: later drafts will
  // Pages of the arena that hold the indexes of the chain's pages, KvLayout::indexes_in_page()
  // each, and how many of these indexes are there. Empty: each index follows K and V of its page.
  std::vector<uint32_t> index_memory = {};
  int64_t indexed_pages = 0;
  std::optional<JobStates> states = {};  // if the model has recurrent layers
  int64_t free_positions = 0;            // as in Slice
  // Set: nothing is computed, and of the other fields only job, position, token_ids and pages
  // count.
  std::optional<MovedRows> moved = {};
  // Nobody waits for the job: it ends undone soon after another message to the actor has come.
  bool yields = false;
  // The latest job with the same tokens and pages, which yielded: this one goes on where it ended.
  // 0: none.
  uint64_t resumes = 0;
};

struct PrefillDone {
  uint64_t job = 0;
  std::optional<Error> error;
  int64_t compute_us = 0;  // with those of the jobs that this one resumes
  int32_t token = -1;      // the sampled token, if any
  float logprob = 0;
  std::vector<int32_t> top_token_ids;  // as in Final, for this token
  std::vector<float> top_logprobs;
  // A leased page, by its place in the chain, that could not be read and must be computed again.
  // The job was not done.
  std::optional<int32_t> lost_page = {};
  // What was read of leased pages. The time of the reads, and the part of it in which nothing was
  // computed.
  int64_t read_bytes = 0;
  int64_t read_us = 0;
  int64_t read_wait_us = 0;
  int64_t selected_tokens = 0;  // those that selected pages
  int64_t indexed_pages = 0;    // how many of the first pages have an index now, as far as known
  bool yielded = false;         // to another message (PrefillJob::yields): the job was not done
};

struct DecodeSequence {
  uint64_t sequence = 0;  // the scheduler's handle, echoed
  int32_t token = 0;      // the token to feed at `position`
  int64_t position = 0;
  int32_t steps_max = 1;  // no more than pages and max_tokens have room for
  std::vector<uint32_t> pages;
  std::vector<int32_t> end_tokens;  // sampling one of these ends the burst of this sequence
  SampleSpec sample;
  AttentionMode attention = {};
  AttentionMode drafts = {};  // as AttentionChoice::drafts
  DraftRecord draft_record = {};
  std::vector<uint32_t> index_memory = {};  // as in PrefillJob
  int64_t indexed_pages = 0;
  std::optional<JobStates> states = {};  // as in PrefillJob; a burst keeps none in between
  int64_t free_positions = 0;            // as in Slice
};

// scheduler -> decode: up to `steps_max` steps of all sequences together, and more until drafts
// that were begun are checked. Answered with DecodeDone, whose `steps` count the steps of drafts,
// too.
struct DecodeJob {
  uint64_t job = 0;
  int32_t steps_max = 1;
  std::vector<DecodeSequence> sequences;
};

struct DecodedSequence {
  uint64_t sequence = 0;
  std::vector<int32_t> token_ids;
  std::vector<float> logprobs;
  std::vector<int32_t> top_token_ids;  // as in Final, for all these tokens
  std::vector<float> top_logprobs;
  std::optional<Error> error;  // of this sequence alone
  // As in PrefillDone. The burst of this sequence ended before the token that needs the page.
  std::optional<int32_t> lost_page = {};
  int64_t selected_tokens = 0;  // as in PrefillDone
  // The drafts that were checked, and those of them that were right; the record with them.
  int64_t drafted_tokens = 0;
  int64_t accepted_tokens = 0;
  DraftRecord draft_record = {};
  int64_t indexed_pages = 0;  // as in PrefillDone
};

struct DecodeDone {
  uint64_t job = 0;
  std::optional<Error> error;
  int64_t compute_us = 0;
  int32_t steps = 0;
  std::vector<DecodedSequence> sequences;
};

// gateway -> scheduler: the client that the frame's client id names has left.
struct ClientGone {};

}  // namespace cascade::wire
