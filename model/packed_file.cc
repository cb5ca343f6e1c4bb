// A fixed page of little-endian numbers with a checksum of its own.
#include "model/packed_file.h"

// xxhash, with the widest vectors that this CPU has.
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/check.h"
#include "base/checked.h"

namespace cascade {
namespace {

constexpr char kMagic[8] = {'C', 'S', 'C', 'P', 'A', 'C', 'K', '\n'};

// The header as it lies in the file, from byte 0 on; zeros fill the page.
struct Header {
  char magic[8];
  uint32_t file_version;
  uint32_t packing_version;
  uint8_t key[32];
  uint8_t weights[32];
  uint64_t piece_bytes;
  uint64_t piece_count;
  uint64_t body_offset;
  uint64_t body_bytes;
  uint64_t table_checksum;
};
static_assert(sizeof(Header) == 120 && alignof(Header) == 8, "no padding: the file's layout");

// The last number of the page covers all bytes before it.
constexpr size_t kChecksumOffset = kPackedHeaderBytes - sizeof(uint64_t);

uint64_t page_checksum(std::span<const uint8_t> page) {
  return packed_checksum(page.first(kChecksumOffset));
}

Header header_of(const PackedFileId& id) {
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.file_version = kPackedFileVersion;
  header.packing_version = kPackingVersion;
  std::ranges::copy(id.key.bytes, header.key);
  std::ranges::copy(id.weights.bytes, header.weights);
  header.piece_bytes = kPackedPieceBytes;
  header.piece_count = id.pieces();
  header.body_offset = id.body_offset();
  header.body_bytes = id.body_bytes;
  return header;
}

// The header, if its page is whole: of our kind and version, and with the right checksum.
Result<Header> read_header(std::span<const uint8_t> bytes) {
  if (bytes.size() < kPackedHeaderBytes) {
    return data_corrupt("header", "is cut off: the file has " + std::to_string(bytes.size()) +
                                      " bytes of " + std::to_string(kPackedHeaderBytes));
  }
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (!std::ranges::equal(header.magic, kMagic)) {
    return data_corrupt("magic", "is not that of a file of packed weights");
  }
  if (header.file_version != kPackedFileVersion) {
    return data_corrupt("version", "is " + std::to_string(header.file_version) +
                                       "; this program reads and writes version " +
                                       std::to_string(kPackedFileVersion));
  }
  uint64_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + kChecksumOffset, sizeof checksum);
  if (checksum != page_checksum(bytes)) {
    return data_corrupt("header", "is damaged: its checksum is wrong");
  }
  return header;
}

}  // namespace

size_t PackedFileId::pieces() const {
  return body_bytes / kPackedPieceBytes + (body_bytes % kPackedPieceBytes != 0);
}

uint64_t PackedFileId::body_offset() const {
  return round_up(kPackedHeaderBytes + table_bytes(), kPackedBodyAlignment);
}

uint64_t packed_checksum(std::span<const uint8_t> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::span<const uint8_t> packed_piece(const PackedFileId& id, std::span<const uint8_t> body,
                                      size_t index) {
  CHECK(body.size() == id.body_bytes && index < id.pieces());
  const auto rest = body.subspan(index * kPackedPieceBytes);
  return rest.first(std::min(rest.size(), kPackedPieceBytes));
}

std::vector<uint8_t> encode_packed_header(const PackedFileId& id,
                                          std::span<const uint64_t> checksums) {
  CHECK(checksums.size() == id.pieces());
  const std::span table(reinterpret_cast<const uint8_t*>(checksums.data()), id.table_bytes());
  Header header = header_of(id);
  header.table_checksum = packed_checksum(table);
  std::vector<uint8_t> bytes(kPackedHeaderBytes + table.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  const uint64_t checksum = page_checksum(bytes);
  std::memcpy(bytes.data() + kChecksumOffset, &checksum, sizeof checksum);
  std::memcpy(bytes.data() + kPackedHeaderBytes, table.data(), table.size());
  return bytes;
}

Result<std::vector<uint64_t>> decode_packed_header(std::span<const uint8_t> bytes,
                                                   const PackedFileId& id) {
  ASSIGN_OR_RETURN(const Header header, read_header(bytes));
  const Header expected = header_of(id);
  const auto same = [](const auto& a, const auto& b) { return std::ranges::equal(a, b); };
  if (header.packing_version != expected.packing_version || !same(header.key, expected.key) ||
      !same(header.weights, expected.weights)) {
    return data_corrupt("key", "is that of other weights");
  }
  if (header.piece_bytes != expected.piece_bytes || header.piece_count != expected.piece_count ||
      header.body_offset != expected.body_offset || header.body_bytes != expected.body_bytes) {
    return data_corrupt("sizes", "are not those of these weights");
  }
  if (bytes.size() < kPackedHeaderBytes + id.table_bytes()) {
    return data_corrupt("table", "is cut off");
  }
  const auto table = bytes.subspan(kPackedHeaderBytes, id.table_bytes());
  if (packed_checksum(table) != header.table_checksum) {
    return data_corrupt("table", "is damaged: its checksum is wrong");
  }
  std::vector<uint64_t> checksums(id.pieces());
  std::memcpy(checksums.data(), table.data(), table.size());
  return checksums;
}

std::optional<PackedFileSummary> summarize_packed_header(std::span<const uint8_t> bytes) {
  const auto header = read_header(bytes);
  if (!header.ok()) return std::nullopt;
  PackedFileSummary summary;
  std::ranges::copy(header->weights, summary.weights.bytes.begin());
  summary.packing_version = header->packing_version;
  return summary;
}

}  // namespace cascade
