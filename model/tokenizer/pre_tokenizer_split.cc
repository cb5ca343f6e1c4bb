// Splits a text at the matches of a delimiter, and drops, keeps or merges the matches.
#include "model/tokenizer/pre_tokenizer_split.h"

#include <array>
#include <utility>

namespace cascade {

std::optional<SplitBehavior> split_behavior(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kNames = {{
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous},
  }};
  for (const auto& [known, behavior] : kNames) {
    if (known == name) return behavior;
  }
  return std::nullopt;
}

bool SplitAssembler::replace_pending(std::optional<ByteRange> part) {
  const std::optional<ByteRange> done = std::exchange(pending_, part);
  return !done || emit(*done);
}

bool SplitAssembler::add(ByteRange part, bool is_delimiter) {
  const bool was_delimiter = std::exchange(was_delimiter_, is_delimiter);
  switch (behavior_) {
    case SplitBehavior::kRemoved:
      return is_delimiter || emit(part);
    case SplitBehavior::kIsolated:
      return emit(part);
    case SplitBehavior::kContiguous:
      if (!pending_ || is_delimiter != was_delimiter) return replace_pending(part);
      pending_->end = part.end;
      return true;
    case SplitBehavior::kMergedWithPrevious:
      if (!pending_ || !is_delimiter || was_delimiter) return replace_pending(part);
      pending_->end = part.end;
      return true;
    case SplitBehavior::kMergedWithNext:
      if (is_delimiter) return replace_pending(part);
      if (!pending_) return emit(part);
      pending_->end = part.end;
      return replace_pending(std::nullopt);
  }
  return true;
}

bool SplitAssembler::add_match(ByteRange match) {
  const ByteRange gap{std::exchange(end_, match.end), match.begin};
  return (gap.begin == gap.end || add(gap, is_inverted_)) && add(match, !is_inverted_);
}

bool SplitAssembler::finish() {
  const ByteRange rest{std::exchange(end_, text_size_), text_size_};
  return (rest.begin == rest.end || add(rest, is_inverted_)) && replace_pending(std::nullopt);
}

}  // namespace cascade
