// Sequences that are longer than the KV memory: their pages are leased from the store, leave
// memory, and are found again on disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "actors/scheduler/disk/stored_pages.h"
#include "actors/scheduler/jobs.h"
#include "actors/scheduler/outbox.h"
#include "actors/scheduler/request.h"
#include "actors/scheduler/request_table.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/result.h"
#include "cache/chain_index.h"
#include "cache/prefill_time.h"
#include "cache/reader_slices.h"
#include "wire/messages.h"

namespace cascade {

// A *reader* is a request whose sequence may be longer than memory (ChainSequence). It is promised
// a few *working pages*: those that are computed, or wait to be written and leased. If it selects,
// it is also promised memory for the indexes of all its pages. All other memory that it has can be
// spilled whenever somebody needs it. One thread.
class PageSpills {
 public:
  // The request's sequence has adopted pages on disk that hold `tokens`.
  using Adopted = std::function<void(Request& request, int64_t tokens)>;

  struct Memory {
    size_t pages = 0;
    size_t page_bytes = 0;
    int64_t indexes_in_page = 1;  // KvLayout::indexes_in_page()
  };
  // With `keeps_pages` false nothing is on disk. `pool` is the size of the KV memory. `time` says
  // how long computing takes. The references outlive this.
  PageSpills(bool keeps_pages, const Memory& pool, const ReaderSliceLimits& slices,
             const PrefillTime& time, const Clock& clock, Jobs& jobs, Outbox& outbox,
             ChainIndex& index, StoredPages& stored, const RequestTable& requests, Adopted adopted);

  // Whether sequences may be longer than memory: pages are kept on disk, and memory has room for
  // more than working pages.
  bool possible() const { return possible_; }
  // How many pages of memory the indexes of a sequence of `tokens` tokens take; 0 if `mode` does
  // not select.
  int64_t index_pages(const AttentionMode& mode, int64_t tokens) const;
  // The most pages that a reader of `tokens` tokens is promised: its working pages, one to repair a
  // lost page, and those for indexes.
  int64_t promised_pages(const AttentionMode& mode, int64_t tokens) const {
    return working_pages_ + 1 + index_pages(mode, tokens);
  }
  // The most tokens that a reader may have, as far as memory is concerned: indexes take at most a
  // quarter of it, so that pins leave room for working pages.
  int64_t tokens_max(const AttentionMode& mode) const;
  // If the request is a reader that selects, its sequence gets memory for the indexes of its pages,
  // and of pages for `tokens` tokens. False if there is no room now.
  bool reserve_indexes(Request& request, int64_t tokens) const;
  // Returns where the next slice of the reader's prompt ends, if it would end at `planned` for any
  // other request. A slice is as long as it takes to compute while pages of its context are read,
  // but not longer than planned while others decode. Precondition: is_ready(reader).
  int64_t slice_end(const Request& reader, int64_t planned) const;
  // Notes that a job read `bytes` in `us` microseconds.
  void add_read(int64_t bytes, int64_t us) { slices_.add_read(bytes, us); }
  // About how long the tokens [begin, end) of a reader's prompt will wait for the disk, if they
  // read all pages that memory has no room for.
  double wait_us(const Request& reader, int64_t begin, int64_t end) const;
  // Whether a job may compute the next `tokens` tokens of the running request now. Of a reader: it
  // may take the pages for them, and all pages that it has can be read. Without `tokens` it asks
  // for the next slice of a prompt, or for one token of an answer.
  bool is_ready(const Request& request, int64_t tokens) const;
  bool is_ready(const Request& request) const;

  // Leases pages of readers that are on disk and need nothing else to be spilled. Call it when
  // something may have been written.
  void lease_more();
  // Gives up leases that nobody needs. Precondition: no job is under way, since it may read them.
  void release_unused();
  // Does the same for pages that no request uses any more, so that the store may remove them from
  // the disk. False if there are none.
  bool release_idle();
  // How many pages running readers may still take of what they are promised.
  int64_t pages_owed() const;
  // Asks for leases of the pages on disk that continue the reader's sequence, so that it adopts
  // them. False if there are none, or if the sequence does not end with a whole page.
  bool adopt_more(Request& reader);
  void on(wire::PagesLeased&& leased);

  // The reader's page `page`, by its place in the chain, cannot be read: it is removed from the
  // disk, and must be computed again.
  void lose(Request& reader, int32_t page);
  struct Lost {
    Request* reader;
    size_t page;
  };
  // The first lost page of a reader that no job works for and that has room to repair it.
  std::optional<Lost> next_lost(const std::function<bool(const Request&)>& in_flight) const;

  // Readers that wait until pages of theirs are written and leased: those that are not ready,
  // although no job works for them.
  std::vector<Request*> waiting(const std::function<bool(const Request&)>& in_flight) const;
  // Why a waiting reader would wait for ever; nullopt: it would not. `write_error` says why pages
  // cannot be written.
  std::optional<Error> why_stuck(const Request& reader,
                                 const std::optional<Error>& write_error) const;

  // Why pages cannot be leased; nullopt: they can.
  const std::optional<Error>& error() const { return error_; }

 private:
  struct Leasing {
    std::vector<Digest> keys;
    uint64_t adopting = 0;        // the handle of the reader that adopts the pages; 0: none does
    std::vector<int32_t> tokens;  // of these pages, if they are adopted
  };
  // Readers that run.
  std::vector<Request*> readers() const;
  int64_t slice_tokens_max() const;
  int64_t next_tokens(const Request& reader) const;
  void ask(Leasing&& leasing);
  void note_leased(const Leasing& leasing, std::span<const uint32_t> leases);
  void adopt(Request& reader, const Leasing& leasing, std::span<const uint32_t> leases);
  void give_up(std::span<const uint32_t> leases);

  const int64_t pool_pages_;
  const int64_t indexes_in_page_;
  const double page_bytes_;
  const int64_t working_pages_;
  const bool possible_;
  const PrefillTime& time_;
  const Clock& clock_;
  Jobs& jobs_;
  Outbox& outbox_;
  ChainIndex& index_;
  StoredPages& stored_;
  const RequestTable& requests_;
  const Adopted adopted_;
  PendingJobs<Leasing> leasing_;
  ReaderSlices slices_;
  std::optional<Error> error_;
  int64_t lease_after_us_ = 0;  // monotonic time before which nothing is leased
};

}  // namespace cascade
