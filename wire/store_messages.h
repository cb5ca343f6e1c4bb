// The messages between the scheduler and the store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/attention_mode.h"
#include "base/result.h"
#include "wire/chunk.h"
#include "wire/reply_messages.h"
#include "wire/request_messages.h"

namespace cascade::wire {

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
  // Recurrent states that are stored, each named like a page that ends with it.
  std::vector<StoredPage> states = {};
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

// scheduler -> store: which of these chunks have words of `question`? Answered with StoreRanked.
struct StoreRank {
  uint64_t job = 0;
  std::string tenant;
  std::string question;
  std::vector<std::string> ids;
  int32_t limit = 0;
};
struct StoreRanked {
  uint64_t job = 0;
  std::optional<Error> error;
  std::vector<std::string> ids;  // the best first, at most `limit`
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

// scheduler -> store: write the state of recurrent layers in this slot, which is that after
// `token_ids`, if a page with these tokens is stored. The slot stays as it is until the answer,
// StateStored, which comes when the state is durable or given up.
struct StoreState {
  uint64_t job = 0;
  std::string tenant;
  AttentionMode attention = {};
  std::string model;
  std::string key;     // of a page with these tokens
  std::string parent;  // the key of the page before them, or the model's root key
  int64_t position = 0;
  std::vector<int32_t> token_ids;  // 1..64
  uint32_t slot = 0;
};
struct StateStored {
  uint64_t job = 0;
  bool stored = false;  // false without an error: no page with these tokens is stored
  std::optional<Error> error;
};
// scheduler -> store: read the state `key` into this slot and, if `page` is set, a page that has
// its tokens into that page of the arena. Nobody else uses that memory until the answer,
// StateLoaded.
struct LoadState {
  uint64_t job = 0;
  std::string key;
  std::vector<int32_t> token_ids;
  uint32_t slot = 0;
  std::optional<uint32_t> page;
};
struct StateLoaded {
  uint64_t job = 0;
  std::optional<Error> error;
  std::vector<int32_t> page_token_ids;  // all tokens of the page: those of the state come first
  int64_t load_us = 0;
};
// store -> scheduler: these states are not stored any more.
struct StatesForgotten {
  std::vector<std::string> keys;
};

// store -> scheduler: these pages were damaged, and are not stored any more.
struct PagesForgotten {
  std::vector<std::string> keys;
  bool deleted = false;  // the pages were removed with a chunk, and leave memory, too
};

}  // namespace cascade::wire
