// Writes pages to disk, after the work that has computed them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "actors/scheduler/disk/stored_pages.h"
#include "actors/scheduler/jobs.h"
#include "actors/scheduler/outbox.h"
#include "actors/scheduler/store_work.h"
#include "actors/scheduler/tenants.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/result.h"
#include "cache/chain_index.h"
#include "wire/messages.h"

namespace cascade {

// One thread. Chains whose attention has a window are not written. The others wait in a queue. The
// writer sends the store those pages of the first chain that are in memory and not on disk, one
// message at a time. A chain without such pages leaves the queue.
class PageWriter {
 public:
  // chains_ended, failed and ended may call write_behind() and drop_if(); the others may not.
  struct Callbacks {
    // Whether a client waits for the chunk's pages: its chains are written before all others.
    std::function<bool(const StoredName& chunk)> is_awaited;
    // Returns which chunks' texts are in the page. The store keeps that with the page.
    std::function<std::vector<wire::PageUse>(const NamedPage&)> uses_of;
    // All pages of the chains that end with this page are on disk.
    std::function<void(const Digest& end)> written;
    // At least one chain has left the queue.
    std::function<void()> chains_ended;
    // The pages of the chunk cannot be written. nullopt: no pages can be written.
    std::function<void(const Error&, const std::optional<StoredName>& chunk)> failed;
    // The store has answered for these pages, or was restarted and never will.
    std::function<void(const Writing&)> ended;
  };

  // With `keeps_pages` false nothing is written. The references outlive this.
  PageWriter(bool keeps_pages, const Clock& clock, Jobs& jobs, Outbox& outbox, ChainIndex& index,
             const Tenants& tenants, StoredPages& stored, Callbacks callbacks);

  // Puts the chain into the queue, unless it is there, or the queue is full and no client waits for
  // the chunk. `of_text`: as in Writeback.
  void write_behind(TenantId owner, std::span<const int32_t> chain,
                    std::optional<StoredName> chunk = {}, bool of_text = false);
  // Puts the chain of a running request before all others, also if the queue is full: the request
  // waits for its pages. The chain takes the place of its own beginning.
  void write_growing(TenantId owner, std::span<const int32_t> chain);
  // Sends the next pages, unless pages are under way or the disk failed a moment ago. They stay in
  // memory until the store has answered; for this the index locks no more pages that could be
  // evicted than `pages_max()`.
  void write_pages(const std::function<int64_t()>& pages_max);
  // Takes the chains that `drops` is true for out of the queue.
  void drop_if(const std::function<bool(const Writeback&)>& drops);
  // Looks for the next pages at once, also after a failure.
  void retry_now() { write_after_us_ = 0; }

  // Notes that pages which are being written now are to be forgotten once they are written: those
  // of `owner` that have tokens of `chain` after the first `keep`. ended() gets the note. kPublic
  // stands for pages of any owner, since a tenant's chain may begin with public ones.
  void end_when_written(TenantId owner, std::span<const int32_t> chain, int64_t keep, Removal why);
  // True if pages are being written. Then ended() names the chunk, since its removal waits for
  // them.
  bool wait_for_writing(const StoredName& erased);

  void on(const wire::StorePagesDone& done);

  // Returns the pages of the chain that the index has, also absent ones, with their names on disk.
  // A last page that has more tokens than the chain is named by the chain's tokens only.
  std::vector<NamedPage> pages_of(TenantId owner, std::span<const int32_t> chain) const;
  bool is_writing() const { return !writing_.empty(); }
  // Nothing waits and nothing is under way.
  bool is_idle() const { return writebacks_.empty() && writing_.empty(); }
  // Why pages cannot be written; nullopt: they can.
  const std::optional<Error>& error() const { return error_; }
  // The same, if pages could not be written at or after `since_us`, in monotonic time.
  std::optional<Error> error_since(int64_t since_us) const {
    return error_us_ >= since_us ? error_ : std::nullopt;
  }

 private:
  bool put_growing_first();
  void send(const Writeback& writeback, const std::vector<NamedPage>& run, ChainIndex::Use use);
  void note_failure(const Writing& writing, const Error& error);
  void end(const Writing& writing);

  const bool keeps_pages_;
  const Clock& clock_;
  Jobs& jobs_;
  Outbox& outbox_;
  ChainIndex& index_;
  const Tenants& tenants_;
  StoredPages& stored_;
  const Callbacks callbacks_;
  std::deque<Writeback> writebacks_;
  size_t writeback_tokens_ = 0;  // tokens of all chains in the queue
  PendingJobs<Writing> writing_;
  std::optional<Error> error_;
  int64_t error_us_ = 0;        // monotonic time at which it was last noted
  int64_t write_after_us_ = 0;  // monotonic time before which nothing is written
};

}  // namespace cascade
