// Writing: append, remove, and what a commit does with files.
#include "persist/kv_store.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/failpoint.h"
#include "base/random.h"

namespace cascade {
namespace {

// How many pages one system call writes. The pages are compressed before the call.
constexpr size_t kBatchPages = 256;
constexpr size_t kCompressedBatchPages = 4;

Status check_run(const PageRun& run) {
  if (run.tenant.size() > kKvTenantBytesMax) {
    return invalid_argument("tenant",
                            "has more than " + std::to_string(kKvTenantBytesMax) + " bytes");
  }
  if (run.page_bytes < 1 || run.page_bytes > kKvPageBytesMax) {
    return invalid_argument("page_bytes", "must be 1 to " + std::to_string(kKvPageBytesMax));
  }
  RETURN_IF_ERROR(check_kv_parts(run.page_bytes, run.parts));
  if (run.position < 0 || run.position % static_cast<int64_t>(kKvPageTokensMax) != 0) {
    return invalid_argument("position", "must be a multiple of 64");
  }
  for (const RunPage& page : run.pages) {
    const bool is_last = &page == &run.pages.back();
    const size_t tokens = page.token_ids.size();
    if (tokens < 1 || tokens > kKvPageTokensMax || (tokens < kKvPageTokensMax && !is_last)) {
      return invalid_argument("token_ids", "pages have 64 tokens, the last of a run 1 to 64");
    }
  }
  return {};
}

// Page `index` of the run, as it is stored uncompressed.
KvRecord record_of(const PageRun& run, size_t index) {
  const RunPage& page = run.pages[index];
  return kv_record_of({.model = run.model,
                       .parent = index == 0 ? run.parent : run.pages[index - 1].key,
                       .key = page.key,
                       .tenant = run.tenant,
                       .attention = run.attention,
                       .position = run.position + static_cast<int64_t>(index * kKvPageTokensMax),
                       .token_ids = {page.token_ids.begin(), page.token_ids.end()},
                       .page_bytes = run.page_bytes},
                      page.bytes, run.parts);
}

}  // namespace

Status KvStore::check_room(uint64_t bytes) {
  if (const uint64_t used = bytes_on_disk();
      used > options_.disk_bytes_max || bytes > options_.disk_bytes_max - used) {
    return resource_exhausted("max_disk", "the pages take " + std::to_string(used) + " of " +
                                              std::to_string(options_.disk_bytes_max) +
                                              " bytes, and " + std::to_string(bytes) +
                                              " more do not fit");
  }
  uint64_t free = 0;
  if (calls_.free_bytes(folder_, free) != 0) return {};  // a write will tell
  if (free >= options_.free_bytes_min && free - options_.free_bytes_min >= bytes) return {};
  return resource_exhausted("disk", std::to_string(free) + " bytes are free, " +
                                        std::to_string(options_.free_bytes_min) +
                                        " of which are reserved");
}

// Makes active_ the file to which the next record is written.
Status KvStore::open_active() {
  const auto takes_more = [&](int64_t number) {
    const auto file = files_.find(number);
    return file != files_.end() && file->second.state == KvFileState::kOpen &&
           file->second.bytes < options_.file_bytes_max;
  };
  if (active_ != nullptr && takes_more(active_->number())) return {};
  active_.reset();
  if (!files_.empty() && takes_more(files_.rbegin()->first)) {
    auto opened = KvFile::open(calls_, folder_, files_.rbegin()->first);
    if (opened.ok()) {
      ASSIGN_OR_RETURN(const std::vector<uint8_t> block, (*opened)->read_block(0));
      const auto header = decode_kv_file_header(block);
      if (header && header->version == kKvFileVersion) {
        active_ = *std::move(opened);
        return {};
      }
    } else if (!is_lost(opened.error())) {
      return opened.error();
    } else {
      RETURN_IF_ERROR(lose_file(files_.rbegin()->first));
    }
  }
  const int64_t number = ++number_max_;
  const uint64_t file_id = system_random();
  ASSIGN_OR_RETURN(active_, KvFile::create(calls_, folder_, number, file_id));
  folder_dirty_ = true;
  files_[number] = {.file_id = file_id, .bytes = kKvBlockBytes};
  return table_.put_file(row_of(number));
}

KvFileRow KvStore::row_of(int64_t number) const {
  const File& file = files_.at(number);
  return {number, file.file_id, file.state, file.bytes};
}

Result<std::vector<PagePlace>> KvStore::write_records(std::span<const KvRecord> records) {
  RETURN_IF_ERROR(open_active());
  File& file = files_.at(active_->number());
  const uint64_t begin = file.bytes;
  file.dirty = true;
  RETURN_IF_ERROR(active_->write(records, file.file_id, begin));
  std::vector<PagePlace> places;
  for (const KvRecord& record : records) {
    places.push_back({active_->number(), file.bytes, record.header.record_bytes()});
    file.bytes += record.header.record_bytes();
    file.live_bytes += record.header.record_bytes();
  }
  return places;
}

Status KvStore::put_pages(std::span<const KvRecord> records, int64_t now_us) {
  ASSIGN_OR_RETURN(const std::vector<PagePlace> places, write_records(records));
  for (size_t i = 0; i < records.size(); ++i) {
    RETURN_IF_ERROR(table_.put({records[i].header, places[i], now_us}));
  }
  return table_.put_file(row_of(places.front().file));
}

// Whether the page is stored and intact. A page that is not verified yet is read to find out, and
// is forgotten if it is damaged.
Result<bool> KvStore::has_good(const Digest& key) {
  ASSIGN_OR_RETURN(const auto stored, table_.find(key));
  if (!stored || stored->verified) return stored.has_value();
  const auto record = read_record(*stored);
  pass_file_.reset();
  if (record.ok()) {
    RETURN_IF_ERROR(table_.mark_verified(key));
    return true;
  }
  if (record.error().code != ErrorCode::kDataCorrupt) return record.error();
  ++counters_.pages_bad;
  RETURN_IF_ERROR(forget(*stored));
  return false;
}

Status KvStore::append(const PageRun& run, int64_t now_us) {
  RETURN_IF_ERROR(check_run(run));
  std::vector<KvRecord> records;
  uint64_t bytes = 0;
  for (size_t i = 0; i < run.pages.size(); ++i) {
    ASSIGN_OR_RETURN(const bool stored, has_good(run.pages[i].key));
    if (stored) continue;
    records.push_back(record_of(run, i));
    bytes += records.back().header.record_bytes();
  }
  if (records.empty()) return {};
  RETURN_IF_ERROR(check_room(bytes));
  const size_t batch = options_.compress ? kCompressedBatchPages : kBatchPages;
  const Status done = database_.change([&]() -> Status {
    std::vector<std::vector<std::vector<uint8_t>>> frames(batch);
    for (size_t at = 0; at < records.size(); at += batch) {
      const std::span part = std::span(records).subspan(at, std::min(batch, records.size() - at));
      for (size_t i = 0; i < part.size(); ++i) {
        if (options_.compress) compress(part[i], frames[i]);
        seal(part[i]);
      }
      RETURN_IF_ERROR(put_pages(part, now_us));
    }
    return {};
  });
  if (done.ok()) {
    counters_.pages_written += records.size();
    return {};
  }
  RETURN_IF_ERROR(load_rows());
  return done;
}

Status KvStore::forget(const StoredPage& page) {
  const auto file = files_.find(page.place.file);
  CHECK(file != files_.end());
  const Scrub scrub = scrub_of(page.place);
  const Status removed = database_.change([&]() -> Status {
    RETURN_IF_ERROR(table_.remove(page.header.key));
    return table_.put_scrub(scrub);
  });
  RETURN_IF_ERROR(removed);
  file->second.live_bytes -= std::min(file->second.live_bytes, page.place.length);
  scrubbing_.left.push_back(scrub);
  return {};
}

Status KvStore::remove(std::span<const Digest> keys) {
  for (const Digest& key : keys) {
    ASSIGN_OR_RETURN(const auto page, table_.find(key));
    if (page) RETURN_IF_ERROR(forget(*page));
  }
  return {};
}

Status KvStore::remove_found() {
  if (!may_have_found_) return {};
  ASSIGN_OR_RETURN(const std::vector<StoredPage> pages, table_.found());
  may_have_found_ = false;
  for (const StoredPage& page : pages) {
    RETURN_IF_ERROR(forget(page));
    deleted_.push_back(page.header.key);
  }
  return {};
}

Status KvStore::touch(std::span<const Digest> keys, int64_t now_us) {
  for (const Digest& key : keys) RETURN_IF_ERROR(table_.touch(key, now_us));
  return {};
}

uint64_t KvStore::bytes_on_disk() const {
  uint64_t bytes = 0;
  for (const auto& [number, file] : files_) bytes += kKvBlockBytes + file.live_bytes;
  for (const Scrub& scrub : scrubbing_.left) bytes += scrub.bytes;
  return bytes;
}

bool KvStore::is_clean() const {
  return scrubbing_.all_done && std::ranges::none_of(files_, [&](const auto& file) {
           return file.second.state == KvFileState::kRemoving &&
                  std::ranges::find(removed_files_, file.first) == removed_files_.end();
         });
}

std::vector<Digest> KvStore::take_unwritten() {
  return std::exchange(unwritten_, {});
}

// Handles a failed fsync of a file. What was committed before is on the disk and stays readable, by
// checksum. What was to be committed now is not stored, and nothing more is appended to the file.
Status KvStore::abandon(int64_t number) {
  File& file = files_.at(number);
  ++counters_.files_abandoned;
  for (const Move& move : moves_) {
    if (move.to.file != number) continue;
    RETURN_IF_ERROR(table_.move(move.from.header, move.from.place));
    RETURN_IF_ERROR(table_.remove_scrub(scrub_of(move.from.place)));
  }
  const uint64_t end = std::max(file.bytes_committed, uint64_t{kKvBlockBytes});
  ASSIGN_OR_RETURN(const std::vector<Digest> lost, table_.remove_from(number, end));
  unwritten_.insert(unwritten_.end(), lost.begin(), lost.end());
  if (file.bytes > end) RETURN_IF_ERROR(table_.put_scrub({number, end, file.bytes - end}));
  file.state = KvFileState::kAbandoned;
  file.bytes = end;
  file.dirty = false;
  RETURN_IF_ERROR(table_.put_file(row_of(number)));
  return load_rows();
}

Status KvStore::sync_files() {
  std::vector<int64_t> dirty;
  for (const auto& [number, file] : files_) {
    if (file.dirty && file.state != KvFileState::kRemoving) dirty.push_back(number);
  }
  for (const int64_t number : dirty) {
    Status synced;
    if (active_ != nullptr && active_->number() == number) {
      synced = active_->sync();
    } else {
      auto opened = KvFile::open(calls_, folder_, number);
      synced = opened.ok() ? (*opened)->sync() : Status(opened.error());
    }
    files_.at(number).dirty = false;
    if (!synced.ok()) RETURN_IF_ERROR(abandon(number));
  }
  return {};
}

// Marks files without pages for removal, except the one that is written to.
Status KvStore::mark_empty_files() {
  for (auto& [number, file] : files_) {
    const bool is_last = number == files_.rbegin()->first;
    if (file.live_bytes > 0 || file.state == KvFileState::kRemoving) continue;
    if (is_last && file.state == KvFileState::kOpen) continue;
    file.state = KvFileState::kRemoving;
    RETURN_IF_ERROR(table_.put_file(row_of(number)));
    if (active_ != nullptr && active_->number() == number) active_.reset();
  }
  return {};
}

Status KvStore::prepare_commit() {
  RETURN_IF_ERROR(sync_files());
  if (folder_dirty_) {
    RETURN_IF_ERROR(sync_folder(calls_, folder_));
    folder_dirty_ = false;
  }
  for (const Scrub& scrub : std::exchange(scrubbing_.done, {})) {
    RETURN_IF_ERROR(table_.remove_scrub(scrub));
  }
  for (const int64_t number : std::exchange(removed_files_, {})) {
    RETURN_IF_ERROR(table_.remove_file(number));
    files_.erase(number);
  }
  return mark_empty_files();
}

void KvStore::committed() {
  moves_.clear();
  for (auto& [number, file] : files_) file.bytes_committed = file.bytes;
  std::map<int64_t, std::unique_ptr<KvFile>> open;
  std::vector<Scrub> left;
  scrubbing_.all_done = true;
  for (size_t i = 0; i < scrubbing_.left.size(); ++i) {
    const Scrub& scrub = scrubbing_.left[i];
    const auto file = files_.find(scrub.file);
    if (file == files_.end() || file->second.state == KvFileState::kRemoving) continue;
    std::unique_ptr<KvFile>& handle = open[scrub.file];
    if (handle == nullptr) {
      auto opened = KvFile::open(calls_, folder_, scrub.file);
      if (opened.ok()) handle = *std::move(opened);
    }
    // A scrub that fails is tried again after the next commit, and at the next start.
    if (handle != nullptr && handle->scrub(scrub.offset, scrub.bytes).ok()) {
      scrubbing_.done.push_back(scrub);
      file->second.dirty = true;
    } else {
      left.push_back(scrub);
      scrubbing_.all_done = scrubbing_.all_done && i < scrubbing_.tried;
    }
  }
  scrubbing_.left = std::move(left);
  scrubbing_.tried = scrubbing_.left.size();
  for (const auto& [number, file] : files_) {
    if (file.state != KvFileState::kRemoving ||
        std::ranges::find(removed_files_, number) != removed_files_.end()) {
      continue;
    }
    failpoint(Failpoint::kKvRemove);
    if (calls_.remove(kv_file_path(folder_, number)) != 0 && errno != ENOENT) continue;
    removed_files_.push_back(number);
    folder_dirty_ = true;
  }
}

Status KvStore::rolled_back() {
  moves_.clear();
  scrubbing_.done.clear();
  removed_files_.clear();
  deleted_.clear();
  may_have_found_ = true;
  return load_rows();
}

}  // namespace cascade
