// Which messages a conversation leaves out so that it fits its room: the oldest ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/chunk.h"
#include "base/on_overflow.h"

namespace cascade {

// In any unit, such as tokens or bytes. System messages at the beginning do not count.
struct CutLimits {
  int64_t room = 0;         // for all messages that stay
  int64_t history_max = 0;  // after a cut: for what stays before the newest question or step
};

// The places where a conversation may be cut: at the beginning of each turn, and before each step
// of a turn except its first. System messages at the beginning of the conversation always stay. If
// a turn is cut between its steps, its question stays. One thread.
class ConversationCuts {
 public:
  // Looks only at the roles of the messages.
  explicit ConversationCuts(std::span<const ChatMessage> messages);

  // Returns what to leave out, given the size of each message [messages]. It leaves out nothing if
  // all fits. It never leaves out the newest turn, or, in a turn with steps, the question and the
  // newest step; so what stays may still not fit.
  //
  // The choice follows the conversation from its beginning, prompt after prompt. When a prompt did
  // not fit, so much was left out that `history_max` remained, and later prompts begin there until
  // the next one does not fit. So most prompts of a conversation begin as the previous one did,
  // without anybody keeping a record.
  LeftOut choose(std::span<const int64_t> sizes, const CutLimits& limits) const;

  // The next place to cut after `cut`; `cut` itself if there is none.
  LeftOut after(const LeftOut& cut) const;
  // What choose() leaves out at most.
  LeftOut last() const { return places_.empty() ? LeftOut() : places_.back().cut; }
  // The number of system messages at the beginning of the conversation.
  size_t system_messages() const { return system_; }
  // Whether the message stays. Precondition: `cut` is a place of this conversation.
  bool stays(size_t message, const LeftOut& cut) const;

 private:
  struct Place {
    LeftOut cut;
    size_t question_begin = 0, question_end = 0;  // messages that stay; empty at a turn's beginning
    size_t begin = 0;                             // the first message after those left out
  };

  const Place& place(const LeftOut& cut) const;

  size_t system_ = 0;          // as system_messages()
  size_t size_ = 0;            // the number of messages
  std::vector<Place> places_;  // in order; the first leaves out nothing
  std::vector<size_t> units_;  // where each question and each step begins
  std::vector<size_t> ends_;   // where each prompt of the conversation ended
};

// Returns the messages that stay.
std::vector<ChatMessage> kept_messages(std::span<const ChatMessage> messages,
                                       const ConversationCuts& cuts, const LeftOut& cut);

}  // namespace cascade
