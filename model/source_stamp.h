// Whether a model's files are the ones whose digest is known: a small file says so, so that a start
// need not read them. Bytes only; packed_cache.h has the files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/result.h"

namespace cascade {

inline constexpr size_t kStampBytesMax = size_t{16} << 10;  // a path and three digests

// The state of a model's files, and which tensors of them are wanted.
struct SourceState {
  Digest place;  // of the folder's path: the stamp's name
  // Of the files' paths, sizes, times and inodes, and of the tensors' names, types, shapes.
  Digest state;
  std::string folder;  // for people who look into the stamp; malformed UTF-8 replaced
  // When the youngest of the files was changed last, in Unix time.
  int64_t changed_ns = 0;
};

// What a stamp says.
struct SourceStamp {
  Digest state;
  Digest weights;
};

// JSON. With a checksum of its own: a digest with a flipped bit would still be a digest.
std::string encode_stamp(const SourceState& source, const Digest& weights);
// Errors, field = member: kInvalidArgument or kDataCorrupt if it is not what encode_stamp() makes.
Result<SourceStamp> decode_stamp(std::string_view text);

// The inverse of Digest::hex(); nullopt for any other text.
std::optional<Digest> digest_from_hex(std::string_view hex);

}  // namespace cascade
