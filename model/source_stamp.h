// A small file says whether a model's files are the ones whose digest is known, so that a start
// need not read them. This code handles bytes only; packed_cache.h handles the files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/result.h"

namespace cascade {

inline constexpr size_t kStampBytesMax = size_t{16} << 10;  // a path and three digests

// The state of a model's files, and which of their tensors are wanted.
struct SourceState {
  Digest place;  // of the folder's path: the stamp's name
  // A digest of the files' paths, sizes, times and inodes, and of the tensors' names, types and
  // shapes.
  Digest state;
  std::string folder;  // for people who look into the stamp; malformed UTF-8 replaced
  // The time of the latest change to any of the files, in Unix time.
  int64_t changed_ns = 0;
};

// The contents of a stamp.
struct SourceStamp {
  Digest state;
  Digest weights;
};

// Writes JSON with a checksum of its own, because a digest with a flipped bit would still be a
// digest.
std::string encode_stamp(const SourceState& source, const Digest& weights);
// Errors, field = member: kInvalidArgument or kDataCorrupt if `text` is not what encode_stamp()
// makes.
Result<SourceStamp> decode_stamp(std::string_view text);

// The inverse of Digest::hex(); nullopt for any other text.
std::optional<Digest> digest_from_hex(std::string_view hex);

}  // namespace cascade
