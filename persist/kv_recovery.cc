// Opening: makes rows and files agree. For this, no page is read, only the headers of pages that
// have no row.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/checked.h"
#include "base/failpoint.h"
#include "base/set_aside.h"
#include "persist/kv_store.h"

namespace cascade {
namespace {

std::string file_name(int64_t number) {
  return "kv file " + std::to_string(number);
}

}  // namespace

Result<std::unique_ptr<KvStore>> KvStore::open(FileCalls& calls, Database& database,
                                               std::string folder, const KvOptions& options,
                                               UnnamedPages unnamed) {
  std::unique_ptr<KvStore> store(new KvStore(calls, database, std::move(folder), options));
  RETURN_IF_ERROR(store->load_rows());
  RETURN_IF_ERROR(store->reconcile(unnamed));
  return store;
}

// Sets the state in memory to what the rows say, after an open or when changes were undone. Records
// that were written after the ends of the rows are cut off as far as possible. Those that stay are
// overwritten or, at the next start, cut off.
Status KvStore::load_rows() {
  ASSIGN_OR_RETURN(const std::vector<KvFileRow> rows, table_.files());
  ASSIGN_OR_RETURN(const auto live, table_.live_bytes());
  ASSIGN_OR_RETURN(scrubbing_.left, table_.scrubs());
  scrubbing_.tried = scrubbing_.left.size();
  scrubbing_.done.clear();
  const std::map<int64_t, File> before = std::exchange(files_, {});
  for (const KvFileRow& row : rows) {
    File file = {.file_id = row.file_id,
                 .state = row.state,
                 .bytes = row.bytes,
                 .bytes_committed = row.bytes,
                 .live_bytes = live.contains(row.number) ? live.at(row.number) : 0};
    const auto known = before.find(row.number);
    if (known != before.end()) {
      file.dirty = known->second.dirty;
      file.bytes_committed = known->second.bytes_committed;
    }
    if (active_ != nullptr && active_->number() == row.number && known != before.end() &&
        known->second.bytes > row.bytes) {
      (void)active_->truncate(row.bytes).ok();
    }
    number_max_ = std::max(number_max_, row.number);
    files_[row.number] = file;
  }
  // Removes files that were made since the last commit.
  for (const auto& [number, file] : before) {
    if (!files_.contains(number)) calls_.remove(kv_file_path(folder_, number));
  }
  if (active_ != nullptr && !files_.contains(active_->number())) active_.reset();
  return {};
}

Status KvStore::reconcile(UnnamedPages unnamed) {
  std::vector<std::string> names;
  if (calls_.list(folder_, names) != 0) return io_error(folder_, errno);
  std::vector<int64_t> without_rows;
  for (const std::string& name : names) {
    const auto number = kv_file_number(name);
    if (!number) continue;
    number_max_ = std::max(number_max_, *number);
    if (!files_.contains(*number)) without_rows.push_back(*number);
  }
  std::vector<int64_t> numbers;
  for (const auto& [number, file] : files_) numbers.push_back(number);
  for (const int64_t number : numbers) RETURN_IF_ERROR(reconcile_file(number, unnamed));
  for (const int64_t number : without_rows) RETURN_IF_ERROR(take_file(number, unnamed));
  return {};
}

// Makes a file and its row agree.
Status KvStore::reconcile_file(int64_t number, UnnamedPages unnamed) {
  File& state = files_.at(number);
  if (state.state == KvFileState::kRemoving) {  // the next commit continues this
    struct stat info = {};
    const bool is_there = calls_.path_status(kv_file_path(folder_, number), info) == 0;
    // unlink() cannot remove a folder.
    if (is_there && S_ISDIR(info.st_mode)) put_aside(number, "is a folder");
    return {};
  }
  auto opened = KvFile::open(calls_, folder_, number);
  if (!opened.ok() && !is_lost(opened.error())) return opened.error();
  if (!opened.ok() && opened.error().code == ErrorCode::kDataCorrupt) {
    put_aside(number, opened.error().message);
  }
  uint64_t length = 0;
  if (opened.ok()) {
    ASSIGN_OR_RETURN(length, (*opened)->length());
  }
  if (length < state.bytes) {
    // Forgets the records that begin at or after the end of the file. A record that begins before
    // the end but was cut off there is found to be bad when it is read.
    const uint64_t whole = length / kKvBlockBytes * kKvBlockBytes;
    ASSIGN_OR_RETURN(const std::vector<Digest> lost, table_.remove_from(number, whole));
    counters_.pages_missing += lost.size();
    state.state = KvFileState::kAbandoned;
    RETURN_IF_ERROR(table_.put_file(row_of(number)));
    ASSIGN_OR_RETURN(const auto live, table_.live_bytes());
    state.live_bytes = live.contains(number) ? live.at(number) : 0;
    findings_.push_back(
        {file_name(number),
         "is missing or cut off: " + std::to_string(lost.size()) + " of its pages are removed"});
    return {};
  }
  if (length == state.bytes) return {};
  if (unnamed == UnnamedPages::kRemove) return cut_tail(**opened, state, length);
  return state.state == KvFileState::kAbandoned ? Status() : adopt_tail(**opened, state);
}

// Sets aside what is in the place of a KV file but cannot be a KV file. The store opens all the
// same, because K and V can be computed again.
void KvStore::put_aside(int64_t number, const std::string& what_it_is) {
  const std::string path = kv_file_path(folder_, number);
  const auto moved = set_aside(calls_, folder_, path.substr(folder_.size() + 1));
  findings_.push_back(
      {path, what_it_is + ", in place of a KV file: " +
                 (moved.ok() ? "it is " + *moved + " now; delete it if nobody needs it"
                             : "it stays there, and is not used; " + moved.error().message)});
  folder_dirty_ |= moved.ok();
}

// Handles a file without a row: the row is lost, or the commit of the file did not complete.
Status KvStore::take_file(int64_t number, UnnamedPages unnamed) {
  auto opened = KvFile::open(calls_, folder_, number);
  if (!opened.ok() && opened.error().code == ErrorCode::kDataCorrupt) {
    put_aside(number, opened.error().message);
    return {};
  }
  if (!opened.ok()) {  // nothing depends on this file
    findings_.push_back({file_name(number), "is left alone: " + opened.error().to_string()});
    return {};
  }
  ASSIGN_OR_RETURN(const std::vector<uint8_t> header, (*opened)->read_block(0));
  const auto decoded = decode_kv_file_header(header);
  const auto file_id = decoded ? std::optional(decoded->file_id) : std::nullopt;
  const bool goes = unnamed == UnnamedPages::kRemove;
  files_[number] = {.file_id = file_id.value_or(0),
                    .state = goes      ? KvFileState::kRemoving  // by the next commit
                             : file_id ? KvFileState::kOpen
                                       : KvFileState::kAbandoned,
                    .bytes = kKvBlockBytes};
  RETURN_IF_ERROR(table_.put_file(row_of(number)));
  const uint64_t adopted_before = counters_.pages_adopted;
  if (!goes) RETURN_IF_ERROR(adopt_tail(**opened, files_.at(number)));
  if (!file_id && counters_.pages_adopted == adopted_before) {
    findings_.push_back({file_name(number), "is not a KV file: nothing of it can be used"});
  }
  return {};
}

// Cuts off the part that no row names. A commit that was not acknowledged wrote it, and nothing
// would account for the part: it would outlive the chunk to which it may belong.
Status KvStore::cut_tail(KvFile& file, File& state, uint64_t length) {
  state.dirty = true;
  if (file.truncate(state.bytes).ok()) return table_.put_file(row_of(file.number()));
  // The tail is overwritten instead, so nothing may be appended to the file.
  state.state = KvFileState::kAbandoned;
  const Scrub scrub = {file.number(), state.bytes, length - state.bytes};
  RETURN_IF_ERROR(table_.put_scrub(scrub));
  scrubbing_.left.push_back(scrub);
  return table_.put_file(row_of(file.number()));
}

// Finds the pages after the end that the file's row names, and cuts off everything after the last
// of these pages.
Status KvStore::adopt_tail(KvFile& file, File& state) {
  ASSIGN_OR_RETURN(const uint64_t length, file.length());
  const uint64_t adopted_before = counters_.pages_adopted;
  uint64_t at = round_up(std::max(state.bytes, uint64_t{kKvBlockBytes}), uint64_t{kKvBlockBytes});
  while (at + kKvBlockBytes <= length) {
    ASSIGN_OR_RETURN(const std::vector<uint8_t> block, file.read_block(at));
    // If the header of the file is damaged, the first page still has the file's id.
    if (state.file_id == 0) state.file_id = kv_page_file_id(block, at).value_or(0);
    const auto header = decode_kv_page_header(block, state.file_id, at);
    const uint64_t record = header ? header->record_bytes() : kKvBlockBytes;
    if (header && record <= length - at) {
      RETURN_IF_ERROR(adopt_page(*header, {file.number(), at, record}));
      state.bytes = at + record;
    }
    at += record;
  }
  const uint64_t adopted = counters_.pages_adopted - adopted_before;
  state.dirty = true;
  (void)file.truncate(state.bytes).ok();
  if (adopted > 0) {
    findings_.push_back(
        {file_name(file.number()), std::to_string(adopted) + " pages without rows were found"});
  }
  return table_.put_file(row_of(file.number()));
}

Status KvStore::adopt_page(const KvPageHeader& header, const PagePlace& place) {
  ASSIGN_OR_RETURN(const auto stored, table_.find(header.key));
  if (stored) {  // this is the other copy of a move that was not committed
    RETURN_IF_ERROR(table_.put_scrub(scrub_of(place)));
    scrubbing_.left.push_back(scrub_of(place));
    return {};
  }
  failpoint(Failpoint::kRecoverAdopt);
  ++counters_.pages_adopted;
  files_.at(place.file).live_bytes += place.length;
  RETURN_IF_ERROR(table_.put({header, place, 0, false}));
  return table_.put_found(header.key);
}

}  // namespace cascade
