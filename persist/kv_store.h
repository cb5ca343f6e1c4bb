// K and V of chains on disk: pages in append-only files, found by chain key.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/file_calls.h"
#include "base/hash.h"
#include "base/result.h"
#include "persist/finding.h"
#include "persist/kv_file.h"
#include "persist/page_leases.h"
#include "persist/page_table.h"

namespace cascade {

struct KvOptions {
  uint64_t disk_bytes_max = UINT64_MAX;          // for all pages, headers included
  uint64_t free_bytes_min = uint64_t{64} << 20;  // left to others on the disk
  uint64_t file_bytes_max = uint64_t{1} << 30;   // a file of this length gets no more pages
  bool compress = false;                         // with zstd, where that makes a page smaller
};

// A page in memory, to be stored.
struct RunPage {
  Digest key;
  std::span<const int32_t> token_ids;  // 1..64; fewer than 64 only in the last of a run
  const uint8_t* bytes = nullptr;
};

// Consecutive pages of one chain, of one tenant and model.
struct PageRun {
  std::string tenant;    // at most 255 bytes; empty: public
  Digest model;          // the root key of the chain
  Digest parent;         // the key of the page before the first, or the root key
  int64_t position = 0;  // of the first token; a multiple of 64
  uint64_t page_bytes = 0;
  std::span<const RunPage> pages;
  // The bytes in memory of each page's parts, e.g. its layers, in order: at most kKvPartsMax, whose
  // sum is page_bytes, of at most kKvPartSizesMax different sizes. None: the page is one part.
  std::vector<uint32_t> parts = {};
  AttentionMode attention = {};
};

// A page to read, and what the caller believes it to be.
struct PageRead {
  Digest key;
  std::span<const int32_t> token_ids;
  uint8_t* to = nullptr;  // page_bytes bytes
};

struct PagesRead {
  size_t good = 0;             // how many pages from the first on were read and verified
  std::optional<Error> error;  // why the next page is not good; none if all are good
};

struct KvCounters {
  uint64_t pages_written = 0;
  uint64_t pages_read = 0;
  uint64_t pages_bad = 0;      // damaged pages, which were forgotten
  uint64_t pages_adopted = 0;  // pages without rows, found in files at the start
  uint64_t pages_missing = 0;  // rows without files, found at the start
  uint64_t files_abandoned = 0;
  // What verify() verified and copy_pages() copied, headers included.
  uint64_t pages_verified = 0, bytes_verified = 0;
  uint64_t pages_copied = 0, bytes_copied = 0;
  uint64_t pages_not_copied = 0;  // bad pages, which a copy leaves out
};

// What to do with pages in files that no row names.
enum class UnnamedPages {
  kRemove,  // the pages' commit did not complete: nothing could account for them
  kFind,    // the rows are lost: the pages are found again
};

// Appends, removals and moves are part of the database's group of changes: they are durable when
// Store::commit() returned success, and are undone if it failed. One thread.
// Errors of all functions: as Database and KvFile.
class KvStore {
 public:
  // Opens the pages in `folder`, and makes rows and files agree without reading pages. findings()
  // says what was found. `calls` and `database` must outlive this.
  static Result<std::unique_ptr<KvStore>> open(FileCalls& calls, Database& database,
                                               std::string folder, const KvOptions& options,
                                               UnnamedPages unnamed);

  // Stores those pages of a run that are not stored yet; their last use is `now_us`. They can be
  // read at once. Errors, after which none of them is stored: kInvalidArgument, field = what is
  // wrong with the run; kResourceExhausted, field "max_disk" (the budget) or "disk" (free space):
  // remove something, then try again.
  Status append(const PageRun& run, int64_t now_us);

  // Reads pages into the caller's memory, from the first on until one is not good. The content of
  // the memory after the good pages is unspecified. A page that is damaged, or has other token ids
  // than the caller says, gives an error once (kDataCorrupt), and is not found from then on.
  // `parts` are those of PageRun with which the pages were appended. Error, before any page:
  // kInvalidArgument, field "parts", if no page of `page_bytes` can have them.
  PagesRead read(uint64_t page_bytes, std::span<const PageRead> pages,
                 std::span<const uint32_t> parts = {});
  // Returns the row of a page; nullopt if the page is not stored.
  Result<std::optional<StoredPage>> find(const Digest& key) { return table_.find(key); }
  // All pages of a model, parents before their children.
  Result<std::vector<StoredPage>> pages(const Digest& model) { return table_.of_model(model); }
  // Leases a page, so that its parts can be read one by one (KvPartFiles): it stays where it is
  // until the lease is released. A page that is stored in other parts than `parts` (as in PageRun)
  // is rewritten. Errors: kInvalidArgument, field "parts"; kNotFound; kDataCorrupt (also if the
  // page does not have `page_bytes` in memory), after which the page is not found any more.
  Result<uint32_t> lease(const Digest& key, uint64_t page_bytes, std::span<const uint32_t> parts);
  PageLeases& leases() { return leases_; }
  // Lets the system read pages ahead. Best effort.
  void prefetch(std::span<const Digest> keys);
  // Marks pages as used.
  Status touch(std::span<const Digest> keys, int64_t now_us);
  // Pages to remove() to make room for `bytes`: those unused for longest, the last pages of chains
  // first. The room exists after the next commit. Pages of the chains that end with `kept` are left
  // out, so the result may take less than `bytes`.
  Result<std::vector<Digest>> oldest(uint64_t bytes, std::span<const Digest> kept) {
    return table_.oldest(bytes, kept);
  }

  // Notes on which chunks have text in which pages: as PageTable.
  Status put_use(const PageUseRow& use) { return table_.put_use(use); }
  Result<std::vector<Digest>> pinned_texts() { return table_.pinned_texts(); }
  Result<std::vector<PageUseRow>> uses(const Digest& model) { return table_.uses(model); }
  Status put_owner(const PageOwner& owner) { return table_.put_owner(owner); }
  Status put_chunk_owners() { return table_.put_chunk_owners(); }
  Status take_owners(PageTable& sound) { return table_.take_owners(sound); }
  Status remove_uses(const std::string& tenant, const std::string& chunk_id) {
    return table_.remove_uses(tenant, chunk_id);
  }

  // Forgets pages; pages that are not stored are no error. After the commit their bytes, token ids
  // included, are overwritten or given back.
  Status remove(std::span<const Digest> keys);
  // Forgets the pages that were found without rows, except those that were stored for a chunk or
  // prefix since. Nobody knows whose text they have, so they are removed with the first chunk that
  // is deleted.
  Status remove_found();

  // Whether the bytes of the pages that the last commit removed are erased. False if a call failed:
  // erasing is tried again with the next commit, and at the next open().
  bool is_clean() const;

  // Moves the pages of files that are more than half empty to other files, about `bytes_max` bytes
  // at a time. True if there is more to do.
  Result<bool> compact(uint64_t bytes_max);

  // Describes models for people: what the digests mean.
  Status put_model(const ModelRecord& model) { return table_.put_model(model); }
  Result<std::vector<ModelRecord>> models() { return table_.models(); }

  // The bytes of pages, headers, and removed content that is not overwritten yet.
  uint64_t bytes_on_disk() const;
  const KvOptions& options() const { return options_; }
  const KvCounters& counters() const { return counters_; }
  // What open() found and did.
  const Findings& findings() const { return findings_; }
  // Pages of append() for which an fsync failed, since the last call. They are not stored, although
  // the commit succeeded.
  std::vector<Digest> take_unwritten();
  // Pages that were found to be bad and were forgotten, since the last call.
  std::vector<Digest> take_forgotten() { return std::exchange(forgotten_, {}); }
  // Pages that remove_found() forgot since the last call.
  std::vector<Digest> take_deleted() { return std::exchange(deleted_, {}); }

  // Called by Store::commit(), in this order: before the database commits; then after it committed,
  // or after it failed.
  Status prepare_commit();
  void committed();
  Status rolled_back();

  // Finds pages that belong to no chunk, prefix or prompt, and forgets them if `repair`.
  Status verify_owners(bool repair, Findings& findings);
  // Reads and verifies pages after `after`, about `bytes_max` bytes; moves `after` on. True if
  // there are more. Bad pages become findings, and are forgotten if `repair`. Pages that cannot be
  // read (kIo) become findings and stay.
  Result<bool> verify(PagePlace& after, uint64_t bytes_max, bool repair, Findings& findings);
  // Copies the pages after `after` to the same places of files in `folder`, about `bytes_max`
  // bytes; moves `after` on. Bad pages are left out. True if there are more.
  Result<bool> copy_pages(FileCalls& to, const std::string& folder, PagePlace& after,
                          uint64_t bytes_max);
  // After the last copy_pages(): makes the copied files as long as the originals, and removes the
  // copies of files that have been removed since.
  Status finish_copy(FileCalls& to, const std::string& folder);

 private:
  struct File {
    uint64_t file_id = 0;
    KvFileState state = KvFileState::kOpen;
    uint64_t bytes = 0;            // where the next record goes
    uint64_t bytes_committed = 0;  // 0: the file is new
    uint64_t live_bytes = 0;
    bool dirty = false;  // to be synchronised before the next commit
  };
  // A page that was moved since the last commit.
  struct Move {
    StoredPage from;
    PagePlace to;
  };
  // Ranges that are to be overwritten, by committed or current changes.
  struct Scrubbing {
    std::vector<Scrub> left;  // oldest first
    size_t tried = 0;         // how many of `left` an earlier commit has tried
    bool all_done = true;     // whether the last commit's scrubs are all done
    std::vector<Scrub> done;  // but not synchronised
  };

  KvStore(FileCalls& calls, Database& database, std::string folder, const KvOptions& options)
      : calls_(calls),
        table_(database),
        database_(database),
        folder_(std::move(folder)),
        options_(options) {}

  // kv_recovery.cc: rows and files.
  Status load_rows();
  Status reconcile(UnnamedPages unnamed);
  Status reconcile_file(int64_t number, UnnamedPages unnamed);
  Status take_file(int64_t number, UnnamedPages unnamed);
  Status cut_tail(KvFile& file, File& state, uint64_t length);
  void put_aside(int64_t number, const std::string& what_it_is);
  Status adopt_tail(KvFile& file, File& state);
  Status adopt_page(const KvPageHeader& header, const PagePlace& place);

  // kv_store.cc
  Result<bool> has_good(const Digest& key);
  Status check_room(uint64_t bytes);
  Status open_active();
  Result<std::vector<PagePlace>> write_records(std::span<const KvRecord> records);
  Status put_pages(std::span<const KvRecord> records, int64_t now_us);
  Status abandon(int64_t number);
  Status sync_files();
  Status mark_empty_files();
  Status forget(const StoredPage& page);
  KvFileRow row_of(int64_t number) const;

  // kv_read.cc
  Result<StoredPage> find_expected(uint64_t page_bytes, const PageRead& page);
  Result<std::vector<StoredPage>> find_extent(uint64_t page_bytes, std::span<const PageRead> pages);
  PagesRead read_extent(const std::vector<StoredPage>& extent, std::span<const PageRead> pages,
                        std::span<const uint32_t> parts);
  Error give_up(const StoredPage& page, const Error& why);
  Status lose_file(int64_t number);
  Error give_up_file(int64_t number, const Error& why);

  // kv_pass.cc: passes over many pages.
  enum class RecordPart { kHeader, kAll };
  Result<StoredRecord> read_record(const StoredPage& page, RecordPart part = RecordPart::kAll);
  std::optional<int64_t> next_to_compact() const;
  Result<uint64_t> compact_page(const StoredPage& page);
  Status move_page(const StoredPage& page, KvRecord&& record);

  FileCalls& calls_;
  PageTable table_;
  Database& database_;
  std::string folder_;
  KvOptions options_;
  std::map<int64_t, File> files_;  // by number
  std::unique_ptr<KvFile> active_;
  int64_t number_max_ = 0;     // the highest number that a file has or had
  bool folder_dirty_ = false;  // names are to be synchronised before the next commit
  std::vector<Move> moves_;
  Scrubbing scrubbing_;
  std::unique_ptr<KvFile> pass_file_;   // the file that a pass reads
  std::vector<int64_t> removed_files_;  // deleted, but not synchronised
  PageLeases leases_;
  std::vector<Digest> unwritten_;
  std::vector<Digest> forgotten_;
  std::vector<Digest> deleted_;
  bool may_have_found_ = true;  // whether found pages may be left: see remove_found()
  KvCounters counters_;
  Findings findings_;
};

}  // namespace cascade
