// The reasons why a part of a prompt had to be computed although similar prompts may have been
// computed before.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cascade {

enum class MissReason {
  kNone,        // nothing was missed: everything reusable in the prompt was reused
  kNew,         // no known chain continues as the prompt does: the chain found ends here
  kDiffers,     // the known chains continue with another token
  kEvicted,     // the part was known, and was removed to make room for other pages
  kDropped,     // the part was known, and was removed with a branch thought to be out of reach
  kDeleted,     // the part was known, and was removed with its deleted chunk
  kExpired,     // the part was known, and was removed with its chunk, which expired
  kOtherModel,  // the part is on disk, but for another model, or other types of weights or KV
  kNoState,     // K and V are there, but no recurrent state from which to go on
  kReuseOff,    // the request asked for no reuse
};

std::string_view to_string(MissReason reason);  // "none", "new", "differs", …
std::optional<MissReason> miss_reason_from_string(std::string_view name);

struct Miss {
  MissReason reason = MissReason::kNone;
  int64_t position = 0;      // the position of the prompt's first token that was not found
  int32_t known_token = -1;  // kDiffers: what the closest known chain has there instead
  bool operator==(const Miss&) const = default;
};

}  // namespace cascade
