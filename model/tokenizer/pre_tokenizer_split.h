// Splits a text at the matches of a delimiter, and drops, keeps or merges the matches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "model/tokenizer/regex.h"

namespace cascade {

enum class SplitBehavior : uint8_t {
  kRemoved,             // dropped
  kIsolated,            // a piece of its own
  kMergedWithPrevious,  // the end of the piece before it
  kMergedWithNext,      // the beginning of the piece after it
  kContiguous,          // one piece with the matches next to it
};

// The behaviour with this name in tokenizer.json ("MergedWithPrevious").
std::optional<SplitBehavior> split_behavior(std::string_view name);

// Takes the matches in a text in order, and gives the pieces.
class SplitAssembler {
 public:
  // Called for each piece that is not empty; returns whether to go on.
  using Emit = std::function<bool(ByteRange)>;

  // `is_inverted`: the matches are kept, and the text between them is the delimiter.
  SplitAssembler(SplitBehavior behavior, bool is_inverted, size_t text_size, Emit emit)
      : behavior_(behavior),
        is_inverted_(is_inverted),
        text_size_(text_size),
        emit_(std::move(emit)) {}

  // Each returns what `emit` returned, or true if `emit` was not called.
  // Precondition: `match` begins at or after the end of the match before it.
  bool add_match(ByteRange match);
  // The text ends: nothing comes after this.
  bool finish();

 private:
  bool add(ByteRange part, bool is_delimiter);
  bool emit(ByteRange piece) { return piece.begin == piece.end || emit_(piece); }
  // Emits the pending piece, and keeps `part` in its place.
  bool replace_pending(std::optional<ByteRange> part);

  SplitBehavior behavior_;
  bool is_inverted_;
  size_t text_size_;
  Emit emit_;
  size_t end_ = 0;  // of the last match
  std::optional<ByteRange> pending_;
  bool was_delimiter_ = false;
};

}  // namespace cascade
