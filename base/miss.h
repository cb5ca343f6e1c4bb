// Why a part of a prompt had to be computed although prompts like it may have been before.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cascade {

enum class MissReason {
  kNone,        // nothing was missed: all of the prompt that can be reused was
  kNew,         // nothing known goes on as the prompt does: the chain that was found ends here
  kDiffers,     // what is known goes on with another token
  kEvicted,     // it was there, and made room for other pages
  kDropped,     // it was there, on a branch that was thought to be out of every request's reach
  kDeleted,     // it was there, and went with its chunk
  kExpired,     // the same, when the chunk's time was over
  kOtherModel,  // it is on disk, of another model, or of other types of its weights or its KV
  kReuseOff,    // the request did not want to reuse anything
};

std::string_view to_string(MissReason reason);  // "none", "new", "differs", …
std::optional<MissReason> miss_reason_from_string(std::string_view name);

struct Miss {
  MissReason reason = MissReason::kNone;
  int64_t position = 0;      // of the first token of the prompt that was not found
  int32_t known_token = -1;  // kDiffers: what the closest known chain has there instead
  bool operator==(const Miss&) const = default;
};

}  // namespace cascade
