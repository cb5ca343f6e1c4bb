// Passes over all pages, in order of place and a part at a time: compaction, verification, copies.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/failpoint.h"
#include "persist/kv_store.h"

namespace cascade {
namespace {

constexpr size_t kRowsAtATime = 64;
// A file is rewritten when its pages take less than 1/kLiveDivisor of it. So a rewrite never writes
// more than it frees.
constexpr uint64_t kLiveDivisor = 2;

std::string page_name(const PagePlace& place) {
  return "kv file " + std::to_string(place.file) + ", page at " + std::to_string(place.offset);
}

}  // namespace

// A page as it is stored, verified; with kHeader, only its header. kDataCorrupt if it is damaged.
Result<StoredRecord> KvStore::read_record(const StoredPage& page, RecordPart part) {
  if (pass_file_ == nullptr || pass_file_->number() != page.place.file) {
    auto opened = KvFile::open(calls_, folder_, page.place.file);
    if (!opened.ok() && opened.error().code == ErrorCode::kNotFound) {
      return data_corrupt(page_name(page.place), "the file is missing");
    }
    if (!opened.ok()) return opened.error();
    pass_file_ = *std::move(opened);
  }
  // Padding adds less than a block to each part.
  if (page.header.stored_bytes > kKvPageBytesMax + kKvPartsMax * kKvBlockBytes) {
    return data_corrupt(page_name(page.place), "has a length beyond the limit");
  }
  KvBlock block;
  const bool all = part == RecordPart::kAll;
  StoredRecord record = {{}, std::vector<uint8_t>(all ? page.header.stored_bytes : 0)};
  ASSIGN_OR_RETURN(
      const uint64_t bytes,
      pass_file_->read({{block.data(), block.size()}, {record.stored.data(), record.stored.size()}},
                       page.place.offset));
  if (bytes < block.size() + record.stored.size()) {
    return data_corrupt(page_name(page.place), "is cut off");
  }
  const auto file = files_.find(page.place.file);
  const uint64_t file_id = file == files_.end() ? 0 : file->second.file_id;
  ASSIGN_OR_RETURN(record.header, verified_header(page, block, file_id));
  if (all) RETURN_IF_ERROR(verify_stored(page, record.header, record.stored.data()));
  return record;
}

// The file that compaction empties next: the one with the smallest share of pages.
std::optional<int64_t> KvStore::next_to_compact() const {
  std::optional<int64_t> best;
  double best_share = 1.0 / kLiveDivisor;
  for (const auto& [number, file] : files_) {
    if (number == files_.rbegin()->first || file.live_bytes == 0) continue;
    if (leases_.has_file(number)) continue;
    if (file.state == KvFileState::kRemoving || file.bytes <= kKvBlockBytes) continue;
    const double share =
        static_cast<double>(file.live_bytes) / static_cast<double>(file.bytes - kKvBlockBytes);
    if (share >= best_share) continue;
    best = number;
    best_share = share;
  }
  return best;
}

// Stores the page as `record` at another place. What was there before is scrubbed after the commit.
Status KvStore::move_page(const StoredPage& page, KvRecord&& record) {
  Move move = {page, {}};
  const Status moved = database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(const std::vector<PagePlace> places, write_records({&record, 1}));
    move.to = places.front();
    RETURN_IF_ERROR(table_.move(record.header, move.to));
    RETURN_IF_ERROR(table_.put_scrub(scrub_of(page.place)));
    return table_.put_file(row_of(move.to.file));
  });
  if (!moved.ok()) {
    RETURN_IF_ERROR(load_rows());
    return moved.error();
  }
  File& from = files_.at(page.place.file);
  from.live_bytes -= std::min(from.live_bytes, page.place.length);
  scrubbing_.left.push_back(scrub_of(page.place));
  moves_.push_back(std::move(move));
  return {};
}

// Returns how many bytes were written.
Result<uint64_t> KvStore::compact_page(const StoredPage& page) {
  auto record = read_record(page);
  if (!record.ok() && record.error().code == ErrorCode::kDataCorrupt) {
    (void)give_up(page, record.error());
    return uint64_t{0};
  }
  if (!record.ok()) return record.error();
  RETURN_IF_ERROR(move_page(page, record->record()));
  failpoint(Failpoint::kCompact);
  return page.place.length;
}

Result<bool> KvStore::compact(uint64_t bytes_max) {
  uint64_t done = 0;
  while (done < bytes_max) {
    const auto number = next_to_compact();
    if (!number) {
      pass_file_.reset();
      return false;
    }
    ASSIGN_OR_RETURN(const std::vector<StoredPage> pages,
                     table_.behind({*number, 0, 0}, kRowsAtATime));
    if (pages.empty() || pages.front().place.file != *number) break;
    for (const StoredPage& page : pages) {
      if (page.place.file != *number || done >= bytes_max) break;
      ASSIGN_OR_RETURN(const uint64_t moved, compact_page(page));
      done += moved + kKvBlockBytes;
    }
  }
  pass_file_.reset();
  return next_to_compact().has_value();
}

Status KvStore::verify_owners(bool repair, Findings& findings) {
  ASSIGN_OR_RETURN(const std::vector<StoredPage> pages, table_.unaccounted());
  for (const StoredPage& page : pages) {
    findings.push_back({page_name(page.place), "has K and V of chunks that do not exist any more"});
    if (!repair) continue;
    RETURN_IF_ERROR(forget(page));
    forgotten_.push_back(page.header.key);
  }
  return {};
}

Result<bool> KvStore::verify(PagePlace& after, uint64_t bytes_max, bool repair,
                             Findings& findings) {
  uint64_t done = 0;
  while (done < bytes_max) {
    ASSIGN_OR_RETURN(const std::vector<StoredPage> pages, table_.behind(after, kRowsAtATime));
    if (pages.empty()) {
      pass_file_.reset();
      return false;
    }
    for (const StoredPage& page : pages) {
      const auto record = read_record(page);
      after = page.place;
      done += page.place.length;
      ++counters_.pages_verified;
      counters_.bytes_verified += page.place.length;
      if (record.ok()) continue;
      findings.push_back({page_name(page.place), record.error().message});
      if (repair && record.error().code == ErrorCode::kDataCorrupt) {
        RETURN_IF_ERROR(forget(page));
        forgotten_.push_back(page.header.key);
      }
      if (record.error().code != ErrorCode::kDataCorrupt) pass_file_.reset();
    }
  }
  return true;
}

Result<bool> KvStore::copy_pages(FileCalls& to, const std::string& folder, PagePlace& after,
                                 uint64_t bytes_max) {
  uint64_t done = 0;
  std::unique_ptr<KvFile> target;
  const auto finish = [&]() -> Status {
    if (target != nullptr) RETURN_IF_ERROR(target->sync());
    return sync_folder(to, folder);
  };
  while (done < bytes_max) {
    ASSIGN_OR_RETURN(const std::vector<StoredPage> pages, table_.behind(after, kRowsAtATime));
    if (pages.empty()) {
      pass_file_.reset();
      RETURN_IF_ERROR(finish());
      return false;
    }
    for (const StoredPage& page : pages) {
      const int64_t number = page.place.file;
      const uint64_t file_id = files_.at(number).file_id;
      if (target == nullptr || target->number() != number) {
        RETURN_IF_ERROR(finish());
        auto opened = number == after.file ? KvFile::open(to, folder, number)
                                           : KvFile::create(to, folder, number, file_id);
        if (!opened.ok()) return opened.error();
        target = *std::move(opened);
      }
      after = page.place;
      done += page.place.length;
      const auto record = read_record(page);
      const bool bad = !record.ok() && record.error().code == ErrorCode::kDataCorrupt;
      if (bad) ++counters_.pages_not_copied;
      if (bad) continue;
      if (!record.ok()) return record.error();
      const KvRecord copy = record->record();
      RETURN_IF_ERROR(target->write({&copy, 1}, file_id, page.place.offset));
      ++counters_.pages_copied;
      counters_.bytes_copied += page.place.length;
    }
  }
  RETURN_IF_ERROR(finish());
  return true;
}

Status KvStore::finish_copy(FileCalls& to, const std::string& folder) {
  std::vector<std::string> names;
  if (to.list(folder, names) != 0) return io_error(folder, errno);
  for (const std::string& name : names) {
    const auto number = kv_file_number(name);
    if (!number || files_.contains(*number)) continue;
    if (to.remove(kv_file_path(folder, *number)) != 0) return io_error(folder, errno);
  }
  for (const auto& [number, file] : files_) {
    if (file.state == KvFileState::kRemoving) continue;
    auto target = KvFile::open(to, folder, number);
    if (!target.ok() && target.error().code == ErrorCode::kNotFound) {
      target = KvFile::create(to, folder, number, file.file_id);
    }
    if (!target.ok()) return target.error();
    RETURN_IF_ERROR((*target)->truncate(file.bytes));
    RETURN_IF_ERROR((*target)->sync());
  }
  return sync_folder(to, folder);
}

}  // namespace cascade
