// Reading pages: whole stretches in one system call, verified before anybody sees them.
#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "persist/kv_store.h"

namespace cascade {
namespace {

// How many pages are read at once: some hundred MB of the largest models' pages.
constexpr size_t kExtentPagesMax = 341;

// Whether the page is stored in parts of these sizes; none: in one part.
bool has_parts(const KvPageHeader& header, std::span<const uint32_t> parts) {
  if (parts.empty()) return header.parts.size() == 1;
  return std::ranges::equal(header.parts, parts, {}, &KvPart::full_bytes);
}

}  // namespace

// The row of a page.
Result<StoredPage> KvStore::find_expected(uint64_t page_bytes, const PageRead& page) {
  ASSIGN_OR_RETURN(auto stored, table_.find(page.key));
  if (!stored) return not_found("page", "is not stored");
  if (stored->header.page_bytes != page_bytes) {
    return invalid_argument("page_bytes",
                            "the page has " + std::to_string(stored->header.page_bytes));
  }
  return *std::move(stored);
}

// The first of `pages`, and those that follow directly after it in the file.
Result<std::vector<StoredPage>> KvStore::find_extent(uint64_t page_bytes,
                                                     std::span<const PageRead> pages) {
  std::vector<StoredPage> extent;
  for (const PageRead& page : pages.first(std::min(pages.size(), kExtentPagesMax))) {
    auto stored = find_expected(page_bytes, page);
    if (!stored.ok() && extent.empty()) return stored.error();
    if (!stored.ok()) break;
    const bool tokens_equal = std::ranges::equal(stored->header.token_ids, page.token_ids);
    if (extent.empty() && !tokens_equal) {
      return give_up(*stored, damaged_page(stored->place, "has other tokens than its key says"));
    }
    if (!extent.empty()) {
      const PagePlace& last = extent.back().place;
      const bool adjoins =
          stored->place.file == last.file && stored->place.offset == last.offset + last.length;
      if (!adjoins || !tokens_equal || stored->header.compressed) break;
    }
    extent.push_back(*std::move(stored));
    if (extent.back().header.compressed) break;
  }
  return extent;
}

// Forgets a bad page; returns `why`. The caller must be told even if the row cannot be removed now.
Error KvStore::give_up(const StoredPage& page, const Error& why) {
  ++counters_.pages_bad;
  if (forget(page).ok()) forgotten_.push_back(page.header.key);
  return why;
}

// Forgets all pages of a file that does not exist any more, or is something else now.
Status KvStore::lose_file(int64_t number) {
  ASSIGN_OR_RETURN(const std::vector<Digest> lost, table_.remove_from(number, 0));
  File& file = files_.at(number);
  file.state = KvFileState::kAbandoned;
  file.live_bytes = 0;
  counters_.pages_bad += lost.size();
  forgotten_.insert(forgotten_.end(), lost.begin(), lost.end());
  return table_.put_file(row_of(number));
}

// As give_up(), for all pages of a file.
Error KvStore::give_up_file(int64_t number, const Error& why) {
  const Status done = database_.change([&] { return lose_file(number); });
  if (!done.ok()) (void)load_rows().ok();
  return why;
}

PagesRead KvStore::read_extent(const std::vector<StoredPage>& extent,
                               std::span<const PageRead> pages, std::span<const uint32_t> parts) {
  const PagePlace& place = extent.front().place;
  auto file = KvFile::open(calls_, folder_, place.file);
  if (!file.ok() && !is_lost(file.error())) return {0, file.error()};
  if (!file.ok()) return {0, give_up_file(place.file, file.error())};
  const uint64_t file_id = files_.at(place.file).file_id;
  std::vector<KvBlock> headers(extent.size());
  KvBlock padding;
  std::vector<uint8_t> frame;  // of a page that cannot be read in place, which is alone
  std::vector<iovec> iovecs;
  size_t count = 0;
  for (; count < extent.size() && frame.empty(); ++count) {
    const KvPageHeader& header = extent[count].header;
    iovecs.push_back({headers[count].data(), kKvBlockBytes});
    if (!read_in_place(header, parts, pages[count].to, padding.data(), iovecs)) {
      iovecs.resize(iovecs.size() - (count > 0 ? 1 : 0));
      if (count > 0) break;  // the next call reads it
      if (header.stored_bytes > kKvPageBytesMax + kKvPartsMax * kKvBlockBytes) {
        return {0, give_up(extent[0], damaged_page(place, "has a length beyond the limit"))};
      }
      frame.resize(header.stored_bytes);
      iovecs.push_back({frame.data(), frame.size()});
    }
    const uint64_t rest = round_up(header.stored_bytes, uint64_t{kKvBlockBytes});
    if (rest > header.stored_bytes) iovecs.push_back({padding.data(), rest - header.stored_bytes});
  }
  const auto bytes = (*file)->read(std::move(iovecs), place.offset);
  if (!bytes.ok()) return {0, bytes.error()};
  for (size_t i = 0; i < count; ++i) {
    const StoredPage& page = extent[i];
    const uint64_t end =
        page.place.offset - place.offset + kKvBlockBytes + page.header.stored_bytes;
    if (end > *bytes) return {i, give_up(page, damaged_page(page.place, "is cut off"))};
    const auto header = verified_header(page, headers[i], file_id);
    Status good = header.ok() ? Status() : header.error();
    if (good.ok() && frame.empty()) good = verify_in_place(page, *header, pages[i].to);
    if (good.ok() && !frame.empty()) good = verify_stored(page, *header, frame.data());
    if (good.ok() && !frame.empty()) good = unpack(page, *header, frame.data(), pages[i].to);
    if (!good.ok()) return {i, give_up(page, good.error())};
  }
  return {count, std::nullopt};
}

PagesRead KvStore::read(uint64_t page_bytes, std::span<const PageRead> pages,
                        std::span<const uint32_t> parts) {
  const Status possible = check_kv_parts(page_bytes, parts);
  if (!possible.ok()) return {0, possible.error()};
  PagesRead all;
  while (all.good < pages.size()) {
    const std::span<const PageRead> rest = pages.subspan(all.good);
    const auto extent = find_extent(page_bytes, rest);
    if (!extent.ok()) {
      all.error = extent.error();
      break;
    }
    PagesRead part = read_extent(*extent, rest, parts);
    all.good += part.good;
    counters_.pages_read += part.good;
    all.error = std::move(part.error);
    if (all.error) break;
  }
  return all;
}

Result<uint32_t> KvStore::lease(const Digest& key, uint64_t page_bytes,
                                std::span<const uint32_t> parts) {
  RETURN_IF_ERROR(check_kv_parts(page_bytes, parts));
  ASSIGN_OR_RETURN(const auto page, table_.find(key));
  if (!page) return not_found("page", "is not stored");
  if (page->header.page_bytes != page_bytes) {
    return give_up(*page, damaged_page(page->place, "has another size"));
  }
  auto stored = read_record(*page, RecordPart::kHeader);
  PagePlace place = page->place;
  const bool rewrite = stored.ok() && !has_parts(stored->header, parts);
  if (rewrite) stored = read_record(*page, RecordPart::kAll);
  pass_file_.reset();
  std::vector<uint8_t> bytes;
  if (rewrite && stored.ok()) {
    bytes.resize(stored->header.page_bytes);
    const Status unpacked = unpack(*page, stored->header, stored->stored.data(), bytes.data());
    if (!unpacked.ok()) stored = unpacked.error();
  }
  if (!stored.ok()) {
    const bool bad = stored.error().code == ErrorCode::kDataCorrupt;
    return bad ? give_up(*page, stored.error()) : stored.error();
  }
  if (rewrite) {
    KvRecord record = kv_record_of(page->header, bytes.data(), parts);
    std::vector<std::vector<uint8_t>> frames;
    if (options_.compress) compress(record, frames);
    seal(record);
    stored->header = record.header;
    RETURN_IF_ERROR(move_page(*page, std::move(record)));
    place = moves_.back().to;
  }
  return leases_.add({.key = key,
                      .file = place.file,
                      .offset = place.offset + kKvBlockBytes,
                      .parts = stored->header.parts});
}

void KvStore::prefetch(std::span<const Digest> keys) {
  std::unique_ptr<KvFile> file;
  for (const Digest& key : keys) {
    const auto page = table_.find(key);
    if (!page.ok() || !*page) return;
    const PagePlace& place = (*page)->place;
    if (file == nullptr || file->number() != place.file) {
      auto opened = KvFile::open(calls_, folder_, place.file);
      if (!opened.ok()) return;
      file = *std::move(opened);
    }
    file->will_need(place.offset, place.length);
  }
}

}  // namespace cascade
