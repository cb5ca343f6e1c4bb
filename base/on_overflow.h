// What happens to a conversation that is longer than its room: plain data.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cascade {

enum class OnOverflow {
  kError,       // the request is refused
  kDropOldest,  // the oldest turns are left out of the prompt
};

std::string_view to_string(OnOverflow choice);  // "error", "drop_oldest"
std::optional<OnOverflow> on_overflow_from_string(std::string_view name);

// What was left out of a prompt, counted from the beginning of the conversation; system prompts do
// not count. A *turn* is a message of the user and all that follows up to the user's next one. A
// *step* is a message of the assistant and the results of the tools that it called.
struct LeftOut {
  int64_t turns = 0;  // whole turns
  int64_t steps = 0;  // the oldest steps of the turn after these, whose question stays
  auto operator<=>(const LeftOut&) const = default;
};

}  // namespace cascade
