// Pages of KV files as rows: what is stored where, and which files there are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "persist/database.h"
#include "persist/kv_format.h"
#include "persist/setting.h"

namespace cascade {

// Where the header block of a page begins, and how many bytes the block and the page take.
struct PagePlace {
  int64_t file = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
  bool operator==(const PagePlace&) const = default;
};

struct StoredPage {
  KvPageHeader header;
  PagePlace place;
  int64_t last_used_us = 0;  // Unix time; 0: found without a row, not used since
  // False for a page that was found without a row: its bytes may not all have reached the disk.
  bool verified = true;
};

// Says that a page contains text of a chunk.
struct PageUseRow {
  Digest page;
  std::string tenant;  // the chunk's
  std::string chunk_id;
  int32_t ends = 0;      // as in ChunkUses::Use
  int64_t position = 0;  // of the page's first token; not stored with the use
};

// Says that the page `end`, and those before it in its chain, were stored for a chunk. This stays
// noted when the chunk is gone, as long as the pages exist.
struct PageOwner {
  Digest end;
  std::string tenant;    // the chunk's
  std::string chunk_id;  // empty: for a prefix that a client asked to keep
};

// Used in place of a chunk's id: the page was found in a file, and nobody knows for what it was
// stored.
inline constexpr char kFoundPage[] = "?";

enum class KvFileState {
  kOpen,       // may be appended to
  kAbandoned,  // an fsync failed: earlier content stays, nothing is added
  kRemoving,   // has no pages any more and is being deleted
};

struct KvFileRow {
  int64_t number = 0;
  uint64_t file_id = 0;
  KvFileState state = KvFileState::kOpen;
  uint64_t bytes = 0;  // the committed length
};

// A range of a file whose content was deleted and is to be overwritten.
struct Scrub {
  int64_t file = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};
// The place of a page that was removed or moved.
inline Scrub scrub_of(const PagePlace& place) {
  return {place.file, place.offset, place.length};
}

// All changes are part of the database's group of changes. Errors as Database. One thread.
class PageTable {
 public:
  explicit PageTable(Database& database) : database_(database) {}

  // Adds or replaces a model's record.
  Status put_model(const ModelRecord& model);
  Result<std::vector<ModelRecord>> models();

  // Adds or replaces a file's row.
  Status put_file(const KvFileRow& file);
  // Removes the file's row and its scrubs. Precondition: no page is in the file.
  Status remove_file(int64_t number);
  Result<std::vector<KvFileRow>> files();
  // How many bytes the pages of each file take.
  Result<std::map<int64_t, uint64_t>> live_bytes();

  // Adds a page; kInvalidArgument if its key exists already.
  Status put(const StoredPage& page);
  Result<std::optional<StoredPage>> find(const Digest& key);
  // Changes where and how the page `header.key` is stored.
  Status move(const KvPageHeader& header, const PagePlace& to);
  Status touch(const Digest& key, int64_t now_us);
  Status mark_verified(const Digest& key);
  Status remove(const Digest& key);
  // Removes the pages of a file at `offset` and after it; returns their keys.
  Result<std::vector<Digest>> remove_from(int64_t file, uint64_t offset);
  // The pages after `after` in order of place, at most `limit`.
  Result<std::vector<StoredPage>> behind(const PagePlace& after, size_t limit);
  // All pages of a model, parents before their children.
  Result<std::vector<StoredPage>> of_model(const Digest& model);
  // The pages unused for longest, until they take `bytes` together or there are no more. Of equally
  // old pages, the last ones of their chains come first. Pages that continue from one of these
  // pages come before it. Pages of the chains that end with `kept` are left out.
  Result<std::vector<Digest>> oldest(uint64_t bytes, std::span<const Digest> kept);

  // Notes the owner of the page and of those before it, as far as they are stored. These pages no
  // longer count as found.
  Status put_owner(const PageOwner& owner);
  // Notes for each chunk that it accounts for the pages of the chain that its row names.
  Status put_chunk_owners();
  // Notes that the page was found (kFoundPage).
  Status put_found(const Digest& key);
  // Takes over the owners of the pages that are stored here from `sound`, a database that was set
  // aside and lost nothing. A page that `sound` has no longer counts as found.
  Status take_owners(PageTable& sound);
  // Pages that were found and that nothing accounts for: nobody knows whose text they contain.
  // Parents before their children.
  Result<std::vector<StoredPage>> found();
  // Pages that can be removed: all chunks that they were stored for are gone, they contain no text
  // of another chunk, and no page after them stays. These stay: pages of existing chunks and
  // prefixes, pages of prompts (which have no owner), and pages that were found. Parents before
  // their children.
  Result<std::vector<StoredPage>> unaccounted();

  // Notes a use; does nothing if the page is not stored. A page's uses are removed with it.
  Status put_use(const PageUseRow& use);
  // The uses of the model's pages. Damaged rows are left out.
  Result<std::vector<PageUseRow>> uses(const Digest& model);
  // For each pinned chunk without a chain of its own: the pages that end with its text.
  // Prompts that are stored for pins end with these pages.
  Result<std::vector<Digest>> pinned_texts();
  Status remove_uses(const std::string& tenant, const std::string& chunk_id);
  // The intact uses of a damaged database that can be read.
  std::vector<PageUseRow> salvage_uses();

  Status put_scrub(const Scrub& scrub);
  Status remove_scrub(const Scrub& scrub);
  Result<std::vector<Scrub>> scrubs();

 private:
  Result<bool> put_one_owner(const Digest& page, std::string_view tenant,
                             std::string_view chunk_id);
  Status remove_found_mark(const Digest& page);
  // The pages of the chains that end with these pages, as far as they are stored.
  Result<std::set<Digest>> chains_of(std::span<const Digest> ends);

  Database& database_;
};

}  // namespace cascade
