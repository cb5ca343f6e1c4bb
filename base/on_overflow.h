// What happens to a conversation that is longer than its room: plain data.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cascade {

enum class OnOverflow {
  kError,       // the request is refused
  kDropOldest,  // the oldest turns are left out of the prompt
  kRetrieve,    // the same, and the parts of them that answer the newest question are brought back
  kSummarize,   // the same, and summaries that were written in idle time stand in for them
};

// "error", "drop_oldest", "retrieve", "summarize".
std::string_view to_string(OnOverflow choice);
std::optional<OnOverflow> on_overflow_from_string(std::string_view name);

// Whether a conversation without room leaves out its oldest turns.
constexpr bool leaves_out(OnOverflow choice) {
  return choice != OnOverflow::kError;
}

// What was left out of a prompt, counted from the beginning of the conversation; system prompts do
// not count. A *turn* is a message of the user and all that follows up to the user's next one. A
// *step* is a message of the assistant and the results of the tools that it called.
struct LeftOut {
  int64_t turns = 0;  // whole turns
  int64_t steps = 0;  // the oldest steps of the turn after these, whose question stays
  auto operator<=>(const LeftOut&) const = default;
};

// A turn that was left out of a prompt, as text.
struct EarlierTurn {
  std::string chunk_id;  // of its output; empty if the conversation names no output for it
  std::string question;  // what the user said; may be empty
  std::string answer;
  bool operator==(const EarlierTurn&) const = default;
};

// A turn that was left out of a prompt, and of which parts were brought back.
struct Retrieved {
  std::string chunk_id;  // as in EarlierTurn
  int64_t tokens = 0;    // about: its text, counted by itself
  bool operator==(const Retrieved&) const = default;
};

// The summaries that stand in a prompt for turns that were left out.
struct Summarised {
  int64_t turns = 0;                   // of those left out, how many they stand in for
  std::vector<std::string> chunk_ids;  // of the summaries, in the order of the conversation
  bool operator==(const Summarised&) const = default;
};

// A text that stands in for messages of a conversation.
struct StandIn {
  LeftOut cut;  // it stands in for all that this leaves out
  std::string text;
  bool operator==(const StandIn&) const = default;
};

}  // namespace cascade
