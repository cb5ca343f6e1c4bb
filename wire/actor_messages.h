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
  std::string text;  // show_text: the prompt before it was tokenized
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
};

struct PrefillDone {
  uint64_t job = 0;
  std::optional<Error> error;
  int64_t compute_us = 0;
  int32_t token = -1;  // the sampled token, if any
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

// scheduler -> store. StorePut replaces a chunk of the same tenant and id. StorePut and StoreDelete
// are answered with StoreAck, once they are durable, in the order in which they came. StoreLoad is
// answered with one StoreChunks or several.
struct StorePut {
  uint64_t job = 0;
  Chunk chunk;
};
struct StoreDelete {
  uint64_t job = 0;
  std::string tenant;
  std::string id;
};
// Notes a use of a chunk; everything else stays as it is stored. Answered with StoreAck.
struct StoreTouch {
  uint64_t job = 0;
  std::string tenant;
  std::string id;
  int64_t hits = 0;
  int64_t registrations = 0;
  int64_t last_used_us = 0;
};
struct StoreLoad {
  uint64_t job = 0;
  std::string model;  // the root key of the model's chains
};
struct StoreAck {
  uint64_t job = 0;
  std::optional<Error> error;
};
struct StoreChunks {
  uint64_t job = 0;
  std::vector<Chunk> chunks;
  bool more = false;  // further StoreChunks follow
};

// scheduler -> store: changes of sessions and policies, handled like StorePut and StoreDelete. A
// policy with an empty value is removed.
struct StoreSession {
  uint64_t job = 0;
  Session session;
};
struct StoreSessionDelete {
  uint64_t job = 0;
  std::string tenant;
  std::string id;
};
struct StorePolicy {
  uint64_t job = 0;
  std::string tenant;
  std::string key;
  std::string value;
};
// scheduler -> store: the chain of an output. The chain stays known as long as the output exists.
// If its K and V are `pending` (not on disk yet), they are computed after a restart. Without
// tokens, the stored chain stays as it is and is no longer pending. Answered as StorePut.
struct StoreChain {
  uint64_t job = 0;
  std::string model;  // root key
  std::string tenant;
  std::string id;
  std::vector<int32_t> token_ids;
  int64_t begin = 0;  // tokens before the output's own
  bool pending = false;
  AttentionMode attention = {};
};
// store -> scheduler: a chain of the model that StoreLoad asked for, if it is pending or belongs to
// a pinned output. Follows StoreChunks.
struct PendingChain {
  uint64_t job = 0;
  std::string tenant;
  std::string id;
  std::vector<int32_t> token_ids;
  int64_t begin = 0;
  AttentionMode attention = {};
};
// store -> scheduler: the stored sessions and policies, in one message or several. Follows
// StoreChunks.
struct StoredPolicy {
  std::string tenant;
  std::string key;
  std::string value;
};
struct StoredSettings {
  uint64_t job = 0;
  std::vector<Session> sessions;
  std::vector<StoredPolicy> policies;
};

// In all that follows, keys of chains are hexadecimal (base/hash.h).

// A page of a chain: its place in memory, and its key, which names it on disk.
struct ChainPage {
  std::string key;
  std::vector<int32_t> token_ids;  // 1..64; fewer than 64 only at the end of a chain
  uint32_t page = 0;               // of the arena
};

// Says that a page contains text of a chunk. If the text ends in the page, whatever continues from
// the page is of no use without the chunk.
struct PageUse {
  std::string key;
  int32_t position = 0;  // of the page's first token
  std::string tenant;    // the chunk's owner; the page may have another one
  std::string chunk_id;
  int32_t ends = 0;  // as in ChunkUses::Use
};
// A list of PageUse, kept field by field, so that one message has room for everything that a
// scheduler notes (SchedulerOptions::page_uses_max). The list is as long as its shortest field.
struct PageUses {
  std::vector<std::string> keys;
  std::vector<int32_t> positions;
  std::vector<std::string> tenants;
  std::vector<std::string> chunk_ids;
  std::vector<int32_t> ends;

  void add(PageUse use);
  size_t size() const;
  PageUse at(size_t i) const;
};

// The page and those before it in its chain are kept for a chunk or, without a chunk, for a prefix.
struct PageOwner {
  std::string key;
  std::string tenant;
  std::string chunk_id;
};

// scheduler -> store: note these uses and owners, as far as the pages are stored. No answer.
struct StoreUses {
  PageUses uses;
  std::vector<PageOwner> owners;
};

// scheduler -> store: write these pages, which follow each other in a chain. Their memory stays as
// it is until the answer, StorePagesDone, which comes when they are durable or given up.
struct StorePages {
  uint64_t job = 0;
  std::string tenant;
  AttentionMode attention = {};  // of the chain
  std::string model;
  std::string parent;    // the key of the page before the first, or the model's root key
  int64_t position = 0;  // of the first page's first token
  std::vector<ChainPage> pages;
  PageUses uses;  // of these pages
  std::vector<PageOwner> owners;
};
struct StorePagesDone {
  uint64_t job = 0;
  std::optional<Error> error;
  std::vector<std::string> removed;  // pages that are not stored any more, to make room or for good
};

// scheduler -> store: read these pages into memory. Nobody else uses that memory until the answer,
// LoadPagesDone.
struct LoadPages {
  uint64_t job = 0;
  std::vector<ChainPage> pages;
};
struct LoadPagesDone {
  uint64_t job = 0;
  int64_t good = 0;            // how many pages from the first on were read and verified
  std::optional<Error> error;  // why the next page was not read
  int64_t load_us = 0;
};

// In the pages of a job: a page that is not in memory. The other bits are the number of its lease.
inline constexpr uint32_t kLeasedPage = uint32_t{1} << 31;
inline constexpr uint32_t kUnseenPage = ~uint32_t{0};

// scheduler -> store: lease these pages, so that jobs can read them part by part. Answered with
// PagesLeased.
struct LeasePages {
  uint64_t job = 0;
  std::vector<std::string> keys;
};
struct PagesLeased {
  static constexpr uint32_t kNone = UINT32_MAX;  // the page is damaged, or not stored
  uint64_t job = 0;
  std::vector<uint32_t> leases;  // one for each key
  std::optional<Error> error;    // if set, no page was leased
};
// scheduler -> store: these leases are not needed any more. No answer.
struct ReleaseLeases {
  std::vector<uint32_t> leases;
};

// scheduler -> store: forget these pages. Answered with StoreAck.
struct RemovePages {
  uint64_t job = 0;
  std::vector<std::string> keys;
};

// store -> scheduler: which pages of the model are stored, parents first. Follows StoreChunks.
struct StoredPage {
  std::string key;
  std::string parent;
  int32_t tokens = 0;
};
// A tenant that has pages on disk which were computed in this mode.
struct ChainOwner {
  std::string tenant;
  AttentionMode attention = {};
};
struct StoredPages {
  uint64_t job = 0;
  std::vector<StoredPage> pages;
  PageUses uses;
  // For each whole first page of a dense chain that other models have stored: the digest of its
  // tenant and tokens.
  std::vector<std::string> other_models;
  bool more = false;                          // further messages follow
  std::vector<ChainOwner> chain_owners = {};  // in the last message: of all pages but public ones
};
// scheduler -> store: these pages will be wanted soon. No answer.
struct PrefetchPages {
  std::vector<std::string> keys;
};

// scheduler -> store: read the tokens of a chunk's chain, as StoreChain gave them, or else of the
// pages that end with `key` (which may be empty). Answered with StoredChain, which is empty if the
// store has neither.
struct ReadChain {
  uint64_t job = 0;
  std::string model;  // root key
  std::string tenant;
  std::string id;
  std::string key;
};
struct StoredChain {
  uint64_t job = 0;
  std::vector<int32_t> token_ids;
  int64_t begin = -1;  // as in StoreChain; -1: not known
  std::string tenant;  // of the last page, if that was read; empty: public, or not known
  AttentionMode attention = {};
};

// scheduler -> store. Answered with StoreFound.
struct StoreSearch {
  uint64_t job = 0;
  std::string tenant;
  std::string query;
  int32_t limit = 0;
};
struct FoundChunk {
  std::string id;
  std::string snippet;
};
struct StoreFound {
  uint64_t job = 0;
  std::optional<Error> error;
  std::vector<FoundChunk> found;
};

// scheduler -> store: verify everything, a part at a time. Answered with StoreChecked. Pages that a
// repair forgets come in PagesForgotten messages.
struct StoreCheck {
  uint64_t job = 0;
  FsckRequest request;
};
struct StoreChecked {
  uint64_t job = 0;
  std::optional<Error> error;
  FsckReply reply;  // without an error
};

// scheduler -> store: copy everything, a part at a time. Answered with StoreBackedUp.
struct StoreBackup {
  uint64_t job = 0;
  BackupRequest request;
};
struct StoreBackedUp {
  uint64_t job = 0;
  std::optional<Error> error;
  BackupReply reply;  // without an error
};

// store -> scheduler: these pages were damaged, and are not stored any more.
struct PagesForgotten {
  std::vector<std::string> keys;
  bool deleted = false;  // the pages were removed with a chunk, and leave memory, too
};

// gateway -> scheduler: the client that the frame's client id names has left.
struct ClientGone {};

}  // namespace cascade::wire
