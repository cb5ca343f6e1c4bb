// Version 1 stores a page as one piece; everything else treats that piece as a part.
#include "persist/kv_record.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/checked.h"

namespace cascade {
namespace {

// The level that costs least: higher ones gain next to nothing on quantised numbers.
constexpr int kZstdLevel = 1;

uint64_t whole_blocks(uint64_t bytes) {
  return round_up(bytes, uint64_t{kKvBlockBytes});
}

// The parts of a page; of version 1, the page as the only part.
std::vector<KvPart> parts_of(const KvPageHeader& header) {
  if (!header.parts.empty()) return header.parts;
  return {{static_cast<uint32_t>(header.stored_bytes), static_cast<uint32_t>(header.page_bytes),
           header.checksum}};
}

// The sizes of the parts of a page for which a caller says `parts`.
std::vector<uint32_t> sizes_of(uint64_t page_bytes, std::span<const uint32_t> parts) {
  return parts.empty() ? equal_parts(page_bytes, 1)
                       : std::vector<uint32_t>(parts.begin(), parts.end());
}

Status not_its_checksum(const StoredPage& row) {
  return damaged_page(row.place, "does not have its checksum");
}

}  // namespace

Error damaged_page(const PagePlace& place, const std::string& what) {
  return data_corrupt("kv file " + std::to_string(place.file),
                      "the page at " + std::to_string(place.offset) + " " + what);
}

uint64_t kv_record_bytes(std::span<const uint32_t> parts) {
  CHECK(!parts.empty());
  uint64_t bytes = kKvBlockBytes;
  for (const uint32_t part : parts) bytes += whole_blocks(part);
  return bytes;
}

KvRecord kv_record_of(KvPageHeader header, const uint8_t* page, std::span<const uint32_t> parts) {
  CHECK(check_kv_parts(header.page_bytes, parts).ok());
  KvRecord record = {std::move(header), {}};
  const std::vector<uint32_t> sizes = sizes_of(record.header.page_bytes, parts);
  record.header.compressed = false;
  record.header.stored_bytes = kv_record_bytes(sizes) - kKvBlockBytes;
  record.header.parts.clear();
  for (const uint32_t bytes : sizes) {
    record.header.parts.push_back({.full_bytes = bytes});
    record.pieces.emplace_back(page, bytes);
    page += bytes;
  }
  return record;
}

void compress(KvRecord& record, std::vector<std::vector<uint8_t>>& frames) {
  frames.resize(record.pieces.size());
  for (size_t i = 0; i < record.pieces.size(); ++i) {
    std::span<const uint8_t>& piece = record.pieces[i];
    std::vector<uint8_t>& frame = frames[i];
    frame.resize(ZSTD_compressBound(piece.size()));
    const size_t size =
        ZSTD_compress(frame.data(), frame.size(), piece.data(), piece.size(), kZstdLevel);
    if (ZSTD_isError(size) != 0 || whole_blocks(size) >= whole_blocks(piece.size())) continue;
    record.header.stored_bytes -= whole_blocks(piece.size()) - whole_blocks(size);
    record.header.compressed = true;
    piece = std::span(frame).first(size);
  }
}

void seal(KvRecord& record) {
  for (size_t i = 0; i < record.pieces.size(); ++i) {
    KvPart& part = record.header.parts[i];
    part.bytes = static_cast<uint32_t>(record.pieces[i].size());
    part.checksum = kv_checksum(record.pieces[i]);
  }
  record.header.checksum = kv_parts_checksum(record.header.parts);
}

Result<KvPageHeader> verified_header(const StoredPage& row, std::span<const uint8_t> block,
                                     uint64_t file_id) {
  auto header = decode_kv_page_header(block, file_id, row.place.offset);
  if (header) {
    // The row does not have the parts; it has their checksum.
    std::vector<KvPart> parts = std::exchange(header->parts, {});
    const bool same = *header == row.header;
    header->parts = std::move(parts);
    if (same) return *std::move(header);
  }
  return damaged_page(row.place, "has a damaged header");
}

bool read_in_place(const KvPageHeader& row, std::span<const uint32_t> parts, uint8_t* to,
                   uint8_t* padding, std::vector<iovec>& iovecs) {
  if (row.compressed) return false;
  if (row.stored_bytes == row.page_bytes) {  // version 1, or parts of whole blocks
    iovecs.push_back({to, row.page_bytes});
    return true;
  }
  const std::vector<uint32_t> sizes = sizes_of(row.page_bytes, parts);
  if (kKvBlockBytes + row.stored_bytes != kv_record_bytes(sizes)) return false;
  for (const uint32_t bytes : sizes) {
    iovecs.push_back({to, bytes});
    if (whole_blocks(bytes) > bytes) iovecs.push_back({padding, whole_blocks(bytes) - bytes});
    to += bytes;
  }
  return true;
}

Status verify_in_place(const StoredPage& row, const KvPageHeader& header, const uint8_t* page) {
  for (const KvPart& part : parts_of(header)) {
    if (kv_checksum({page, part.bytes}) != part.checksum) return not_its_checksum(row);
    page += part.bytes;
  }
  return {};
}

Status verify_stored(const StoredPage& row, const KvPageHeader& header, const uint8_t* stored) {
  for (const KvPart& part : parts_of(header)) {
    if (kv_checksum({stored, part.bytes}) != part.checksum) return not_its_checksum(row);
    stored += whole_blocks(part.bytes);
  }
  return {};
}

bool unpack_part(const KvPart& part, const uint8_t* stored, uint8_t* to) {
  if (part.bytes == part.full_bytes) {
    std::memcpy(to, stored, part.full_bytes);
    return true;
  }
  const size_t size = ZSTD_decompress(to, part.full_bytes, stored, part.bytes);
  return ZSTD_isError(size) == 0 && size == part.full_bytes;
}

Status unpack(const StoredPage& row, const KvPageHeader& header, const uint8_t* stored,
              uint8_t* page) {
  for (const KvPart& part : parts_of(header)) {
    if (!unpack_part(part, stored, page)) {
      return damaged_page(row.place, "cannot be decompressed");
    }
    stored += whole_blocks(part.bytes);
    page += part.full_bytes;
  }
  return {};
}

}  // namespace cascade
