// The format of a file of packed weights: a header page, a table of checksums, the weights. This
// code handles bytes only; packed_cache.h handles the files. docs/data_files.md describes the
// format for people.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/result.h"

namespace cascade {

// The version of the header and the table. Files of another version are not read.
inline constexpr uint32_t kPackedFileVersion = 1;
// The version of the bytes after the table. Raise it whenever the same tensors are packed into
// other bytes (kernels/packed_matrix.h): in another order, or rounded differently.
inline constexpr uint32_t kPackingVersion = 1;

inline constexpr size_t kPackedHeaderBytes = 4096;
// The size of a piece. Each piece has a checksum, and one task checks one piece.
inline constexpr size_t kPackedPieceBytes = size_t{4} << 20;
// The weights begin at a multiple of a huge page. File systems that keep files in large folios then
// map them as huge pages, and a decode step spends no more on addresses than in anonymous memory.
inline constexpr uint64_t kPackedBodyAlignment = uint64_t{2} << 20;

// What a file must contain. All sizes in the file follow from this, so nothing is ever read or
// allocated just because a file says so.
struct PackedFileId {
  // A digest of the tensors, the type, and the size of every matrix. It is the file's name.
  Digest key;
  Digest weights;  // Weights::digest
  // The bytes of all matrices; > 0.
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

// The header page and the table, which are at offset 0. checksums.size() == id.pieces().
std::vector<uint8_t> encode_packed_header(const PackedFileId& id,
                                          std::span<const uint64_t> checksums);

// The checksums of the pieces. `bytes` are the first kPackedHeaderBytes + id.table_bytes() bytes of
// a file, or fewer if the file is shorter. Errors: kDataCorrupt, field = the part of the header
// that is wrong: the file is of another kind or version, damaged, or holds other weights than `id`.
Result<std::vector<uint64_t>> decode_packed_header(std::span<const uint8_t> bytes,
                                                   const PackedFileId& id);

// The contents of an undamaged header page of our version; nullopt for any other bytes.
struct PackedFileSummary {
  Digest weights;
  uint32_t packing_version = 0;
};
std::optional<PackedFileSummary> summarize_packed_header(std::span<const uint8_t> bytes);

}  // namespace cascade
