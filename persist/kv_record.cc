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
  return {{static_cast<uint32_t>(header.stored_bytes), header.checksum}};
}

Status not_its_checksum(const StoredPage& row) {
  return damaged_page(row.place, "does not have its checksum");
}

}  // namespace

Error damaged_page(const PagePlace& place, const std::string& what) {
  return data_corrupt("kv file " + std::to_string(place.file),
                      "the page at " + std::to_string(place.offset) + " " + what);
}

uint64_t kv_record_bytes(uint64_t page_bytes, size_t parts) {
  return kKvBlockBytes + parts * whole_blocks(page_bytes / parts);
}

KvRecord kv_record_of(KvPageHeader header, const uint8_t* page, size_t parts) {
  CHECK(parts >= 1 && parts <= kKvPartsMax && header.page_bytes % parts == 0);
  KvRecord record = {std::move(header), {}};
  const size_t part_bytes = record.header.page_bytes / parts;
  record.header.compressed = false;
  for (size_t i = 0; i < parts; ++i) record.pieces.emplace_back(page + i * part_bytes, part_bytes);
  record.header.stored_bytes = parts * whole_blocks(part_bytes);
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
  for (const std::span<const uint8_t> piece : record.pieces) {
    record.header.parts.push_back({static_cast<uint32_t>(piece.size()), kv_checksum(piece)});
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

bool read_in_place(const KvPageHeader& row, size_t parts, uint8_t* to, uint8_t* padding,
                   std::vector<iovec>& iovecs) {
  if (row.compressed) return false;
  if (row.stored_bytes == row.page_bytes) {  // version 1, or parts of whole blocks
    iovecs.push_back({to, row.page_bytes});
    return true;
  }
  if (kKvBlockBytes + row.stored_bytes != kv_record_bytes(row.page_bytes, parts)) return false;
  const size_t part_bytes = row.page_bytes / parts;
  for (size_t i = 0; i < parts; ++i) {
    iovecs.push_back({to + i * part_bytes, part_bytes});
    iovecs.push_back({padding, whole_blocks(part_bytes) - part_bytes});
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

bool unpack_part(const KvPart& part, uint64_t part_bytes, const uint8_t* stored, uint8_t* to) {
  if (part.bytes == part_bytes) {
    std::memcpy(to, stored, part_bytes);
    return true;
  }
  const size_t size = ZSTD_decompress(to, part_bytes, stored, part.bytes);
  return ZSTD_isError(size) == 0 && size == part_bytes;
}

Status unpack(const StoredPage& row, const KvPageHeader& header, const uint8_t* stored,
              uint8_t* page) {
  const std::vector<KvPart> parts = parts_of(header);
  const uint64_t part_bytes = header.page_bytes / parts.size();
  for (const KvPart& part : parts) {
    if (!unpack_part(part, part_bytes, stored, page)) {
      return damaged_page(row.place, "cannot be decompressed");
    }
    stored += whole_blocks(part.bytes);
    page += part_bytes;
  }
  return {};
}

}  // namespace cascade
