// The two-way map between token texts and ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace cascade {

// Ids are below this: 2^21 is eight times the largest vocabulary in use, and keeps the table by id
// small whatever a file says.
inline constexpr int64_t kTokenIdEnd = int64_t{1} << 21;
// The longest tokens in use, runs of blanks, have some 512 bytes as they are spelled.
inline constexpr size_t kBpeTokenBytesMax = size_t{64} << 10;

// A token id as JSON; nullopt unless it is a whole number in [0, kTokenIdEnd).
std::optional<int32_t> token_id_from(const Json& value);

// Texts are unique, ids are unique; ids may have holes. Immutable lookups from any thread.
class BpeVocabulary {
 public:
  BpeVocabulary();

  // Adds a token. Errors: kInvalidArgument with `field` if the text is not UTF-8 or has more than
  // kBpeTokenBytesMax, or the text or the id is taken. Precondition: 0 <= id < kTokenIdEnd.
  Status add(std::string_view text, int32_t id, const std::string& field);

  std::optional<int32_t> find(std::string_view text) const;
  // The text of an id, or null if no token has it. Any id may be asked for.
  const std::string* text(int32_t id) const {
    return id >= 0 && id < id_end() ? by_id_[static_cast<size_t>(id)] : nullptr;
  }
  // One past the largest id.
  int32_t id_end() const { return static_cast<int32_t>(by_id_.size()); }

 private:
  // Keyed with random bits, so that a file cannot choose texts that all collide.
  struct Hash {
    using is_transparent = void;
    uint64_t seed;
    size_t operator()(std::string_view text) const;
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const { return a == b; }
  };

  std::unordered_map<std::string, int32_t, Hash, Equal> ids_;
  std::vector<const std::string*> by_id_;  // the keys of ids_, which stay where they are
};

}  // namespace cascade
