// The states of recurrent layers after some tokens of chains, on disk.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "persist/page_links.h"
#include "persist/page_table.h"
#include "persist/store.h"

namespace cascade {

// A state in memory, to be stored. Its name is that of a page with these tokens, which are the last
// ones before the state.
struct StateRecord {
  std::string tenant;  // as in PageRun
  Digest model;
  Digest key;
  Digest parent;                       // the key of the page before these tokens, or the root key
  int64_t position = 0;                // of the first of these tokens; a multiple of 64
  std::span<const int32_t> token_ids;  // 1..64
  AttentionMode attention = {};
  std::span<const uint8_t> bytes;
};

// A state is of use only with the K and V before it, and it must be gone when they are. So each one
// has a *cover*: a stored page that has its tokens, alone or with others after them. When the last
// cover of a state is removed, for whatever reason, the state is removed with it.
//
// States are pages of a state directory of their own, in the folder "states" of that of the pages:
// files, checksums, recovery and erasure are those of Store. The folder can be removed while
// nobody uses it: states are computed again.
//
// Changes are readable at once, and durable after commit(), which each commit of the pages calls
// first. One thread. Errors of all functions: as Store.
class ChainStates {
 public:
  // Makes or opens the states of `pages`. States without covers are removed, and so are those
  // beyond the budget. `options` are those of states. `pages` outlives the result, and has no other
  // ChainStates meanwhile.
  static Result<std::unique_ptr<ChainStates>> open(Store& pages, const KvOptions& options);
  // Whether the folder of the states exists, or something else is in its place.
  static bool exists(const Store& pages);

  ~ChainStates();

  // Stores the state, or notes its use if it is stored already. False: it has no cover. Beyond the
  // budget, makes room: removes the states that have been unused for longest, except those at the
  // ends of pinned chains, and commits. Errors: as KvStore::append(), but "max_state_disk" is the
  // field that says that the budget is too small.
  Result<bool> put(const StateRecord& state, int64_t now_us);
  // Whether the state is stored.
  Result<bool> contains(const Digest& key);
  // Reads a state into `to`, and notes the use if that is possible. Errors: kNotFound;
  // kDataCorrupt, after which it is not stored any more; kInvalidArgument if it has another size.
  Status read(const Digest& key, std::span<const int32_t> token_ids, std::span<uint8_t> to,
              int64_t now_us);
  // Reads the page that covers a stored state into `to`, and returns the page's tokens: those of
  // the state come first. `page_bytes` and `parts` as in KvStore::read(). Errors as for read(); if
  // the page is damaged, it is not stored any more.
  Result<std::vector<int32_t>> read_cover(const Digest& key, uint64_t page_bytes,
                                          std::span<const uint32_t> parts, uint8_t* to);
  // All states of a model, as pages.
  Result<std::vector<StoredPage>> of_model(const Digest& model) { return rows_.of_model(model); }

  // Removes the states whose last covers were removed, and commits. After an error nothing is
  // committed. If the process ends before the pages are committed, too, a state may be left without
  // its cover: open() removes it.
  Status commit();
  // Undoes the changes since the last commit.
  Status rollback() { return states_->rollback(); }
  // The states that have been removed since the last call. Each call belongs to the next group of
  // changes: if that is undone, the same states are told again.
  Result<std::vector<Digest>> take_removed();

  // Faults found by open(), and what was done about each.
  const Findings& findings() const { return findings_; }
  // Their files, and what else a state directory has.
  Store& store() { return *states_; }

 private:
  ChainStates(Store& pages, std::unique_ptr<Store> states);

  Status start();
  Status follow_pages();
  Result<std::optional<StoredPage>> cover_of(const KvPageHeader& state);
  Result<KvPageHeader> header_of(const Digest& key);
  Status remove_uncovered(std::span<const Digest> keys);
  Result<bool> make_room(uint64_t bytes);

  Store& pages_;
  const std::unique_ptr<Store> states_;
  PageTable page_rows_;
  PageLinks page_links_;
  PageTable rows_;
  PageLinks links_;
  // States whose covers may not be durable yet: if the commit of the pages fails, such a cover is
  // gone without a note.
  std::vector<Digest> unsettled_;
  Findings findings_;
};

}  // namespace cascade
