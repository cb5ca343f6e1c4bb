// The format of a file of packed weights: a header page, a table of checksums, the weights. Bytes
// only; packed_cache.h has the files. docs/data_files.md describes it for people.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/result.h"

namespace cascade {

// Of the header and the table. Another version's file is not read.
inline constexpr uint32_t kPackedFileVersion = 1;
// Of the bytes behind them: to be raised whenever the same tensors are packed into other bytes
// (kernels/packed_matrix.h), be it their order or how they are rounded.
inline constexpr uint32_t kPackingVersion = 1;

inline constexpr size_t kPackedHeaderBytes = 4096;
// Each piece has a checksum, and is one task of those that check them.
inline constexpr size_t kPackedPieceBytes = size_t{4} << 20;
// The weights begin at a multiple of a huge page: file systems that keep files in large folios then
// map them as huge pages, and a decode step pays no more for addresses than in anonymous memory.
inline constexpr uint64_t kPackedBodyAlignment = uint64_t{2} << 20;

// What a file must be. Everything that the file says about sizes follows from this, so nothing is
// ever read or allocated because a file says so.
struct PackedFileId {
  // Of the tensors, the type, and the size of every matrix: the file's name.
  Digest key;
  Digest weights;  // Weights::digest
  // Of all matrices; > 0.
  uint64_t body_bytes = 0;

  size_t pieces() const;
  size_t table_bytes() const { return pieces() * sizeof(uint64_t); }
  uint64_t body_offset() const;
  uint64_t file_bytes() const { return body_offset() + body_bytes; }
};

// XXH3-64.
uint64_t packed_checksum(std::span<const uint8_t> bytes);
// Piece `index` of the weights `body`, which has id.body_bytes bytes.
std::span<const uint8_t> packed_piece(const PackedFileId& id, std::span<const uint8_t> body,
                                      size_t index);

// The header page and the table: what stands at offset 0. checksums.size() == id.pieces().
std::vector<uint8_t> encode_packed_header(const PackedFileId& id,
                                          std::span<const uint64_t> checksums);

// The checksums of the pieces, from the first kPackedHeaderBytes + id.table_bytes() bytes of a
// file, or what there is of them. Errors: kDataCorrupt, field = the part of the header that is
// wrong: it is no such file, of another version, damaged, or of other weights than `id`.
Result<std::vector<uint64_t>> decode_packed_header(std::span<const uint8_t> bytes,
                                                   const PackedFileId& id);

// What an undamaged header page of our version says; nullopt if it is none.
struct PackedFileSummary {
  Digest weights;
  uint32_t packing_version = 0;
};
std::optional<PackedFileSummary> summarize_packed_header(std::span<const uint8_t> bytes);

}  // namespace cascade
