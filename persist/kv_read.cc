// Reading pages: whole stretches in one system call, verified before anybody sees them.
#include <zstd.h>

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "persist/kv_store.h"

namespace cascade {
namespace {

// A page has three parts (header, page, padding); a system call takes at most 1,024 parts.
constexpr size_t kExtentPagesMax = 341;

Error damaged(const PagePlace& place, const std::string& what) {
  return data_corrupt("kv file " + std::to_string(place.file),
                      "the page at " + std::to_string(place.offset) + " " + what);
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
      return give_up(*stored, damaged(stored->place, "has other tokens than its key says"));
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

Status KvStore::verify_page(const StoredPage& page, std::span<const uint8_t> header,
                            std::span<const uint8_t> stored) const {
  const auto file = files_.find(page.place.file);
  const auto said = file == files_.end()
                        ? std::nullopt
                        : decode_kv_page_header(header, file->second.file_id, page.place.offset);
  if (said != page.header) return damaged(page.place, "has a damaged header");
  if (kv_checksum(stored) != page.header.checksum) {
    return damaged(page.place, "does not have its checksum");
  }
  return {};
}

Status KvStore::unpack(const StoredPage& page, std::span<const uint8_t> stored, uint8_t* to) const {
  const size_t size = ZSTD_decompress(to, page.header.page_bytes, stored.data(), stored.size());
  if (ZSTD_isError(size) == 0 && size == page.header.page_bytes) return {};
  return damaged(page.place, "cannot be decompressed");
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
                               std::span<const PageRead> pages) {
  const PagePlace& place = extent.front().place;
  auto file = KvFile::open(calls_, folder_, place.file);
  if (!file.ok() && !is_lost(file.error())) return {0, file.error()};
  if (!file.ok()) return {0, give_up_file(place.file, file.error())};
  std::vector<KvBlock> headers(extent.size());
  KvBlock padding;
  std::vector<uint8_t> frame;
  if (extent.front().header.compressed) frame.resize(extent.front().header.stored_bytes);
  std::vector<iovec> parts;
  for (size_t i = 0; i < extent.size(); ++i) {
    const uint64_t stored = extent[i].header.stored_bytes;
    parts.push_back({headers[i].data(), kKvBlockBytes});
    parts.push_back({frame.empty() ? pages[i].to : frame.data(), stored});
    const uint64_t rest = round_up(stored, uint64_t{kKvBlockBytes}) - stored;
    if (rest > 0) parts.push_back({padding.data(), rest});
  }
  const auto bytes = (*file)->read(std::move(parts), place.offset);
  if (!bytes.ok()) return {0, bytes.error()};
  for (size_t i = 0; i < extent.size(); ++i) {
    const StoredPage& page = extent[i];
    const std::span<const uint8_t> stored(frame.empty() ? pages[i].to : frame.data(),
                                          page.header.stored_bytes);
    const uint64_t end = page.place.offset - place.offset + kKvBlockBytes + stored.size();
    Status good = end <= *bytes ? verify_page(page, headers[i], stored)
                                : Status(damaged(page.place, "is cut off"));
    if (good.ok() && !frame.empty()) good = unpack(page, stored, pages[i].to);
    if (!good.ok()) return {i, give_up(page, good.error())};
  }
  return {extent.size(), std::nullopt};
}

PagesRead KvStore::read(uint64_t page_bytes, std::span<const PageRead> pages) {
  PagesRead all;
  while (all.good < pages.size()) {
    const std::span<const PageRead> rest = pages.subspan(all.good);
    const auto extent = find_extent(page_bytes, rest);
    if (!extent.ok()) {
      all.error = extent.error();
      break;
    }
    PagesRead part = read_extent(*extent, rest);
    all.good += part.good;
    counters_.pages_read += part.good;
    all.error = std::move(part.error);
    if (all.error) break;
  }
  return all;
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
