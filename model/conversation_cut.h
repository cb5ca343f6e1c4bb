// Which messages a conversation leaves out so that it fits its room: the oldest ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/chunk.h"
#include "base/on_overflow.h"

namespace cascade {

// How much room a message takes, in any unit, such as tokens or bytes.
struct MessageSize {
  int64_t always = 0;
  int64_t in_newest_turn = 0;  // more, while its turn is the newest: thoughts
};

// System messages at the beginning do not count.
struct CutLimits {
  int64_t room = 0;  // for all messages that stay
  // The most that may stay before the newest question or step, once something is left out.
  int64_t history_max = 0;
};

// The places where a conversation may be cut: at the beginning of each turn, and before each step
// of a turn except its first. System messages at the beginning of the conversation always stay. If
// a turn is cut between its steps, its question stays. One thread.
class ConversationCuts {
 public:
  // Looks only at the roles of the messages.
  explicit ConversationCuts(std::span<const ChatMessage> messages);

  // Returns what to leave out, given the size of each message [messages]. It leaves out nothing if
  // all fits, and never more than most(); so what stays may still not fit.
  //
  // The choice follows the conversation from its beginning, prompt after prompt. When a prompt did
  // not fit, so much was left out that `history_max` remained, and later prompts begin there until
  // the next one does not fit. So most prompts of a conversation begin as the previous one did,
  // without anybody keeping a record, as long as sizes and limits stay the same.
  LeftOut choose(std::span<const MessageSize> sizes, const CutLimits& limits) const;

  // Returns what is left out until what stays before the newest question or step has at most
  // `history_max`, or no more may be left out.
  LeftOut shorten(std::span<const MessageSize> sizes, int64_t history_max) const;
  // The next place to cut after `cut`; `cut` itself if there is none.
  LeftOut after(const LeftOut& cut) const;
  // All that may be left out: the newest turn stays or, of a turn with several steps, its question
  // and its newest step.
  LeftOut most() const { return points_.empty() ? LeftOut() : points_.back().cut; }
  // The number of system messages at the beginning of the conversation.
  size_t system_messages() const { return system_; }
  // Whether the conversation can be cut there.
  bool has(const LeftOut& cut) const;
  // Whether the message stays. Precondition: `cut` is a place of this conversation.
  bool stays(size_t message, const LeftOut& cut) const;

 private:
  struct CutPoint {
    LeftOut cut;
    size_t question_begin = 0, question_end = 0;  // messages that stay; empty at a turn's beginning
    size_t begin = 0;                             // the first message after those left out
  };
  // A question or a step.
  struct Unit {
    size_t begin = 0;       // its first message
    size_t turn_begin = 0;  // the first message of its turn
  };

  size_t index_of(const LeftOut& cut) const;

  size_t system_ = 0;             // as system_messages()
  size_t size_ = 0;               // the number of messages
  std::vector<CutPoint> points_;  // in order; the first leaves out nothing
  std::vector<Unit> units_;
  std::vector<size_t> prompt_ends_;  // the number of messages of each prompt so far
};

// Returns the messages that stay.
std::vector<ChatMessage> kept_messages(std::span<const ChatMessage> messages,
                                       const ConversationCuts& cuts, const LeftOut& cut);

}  // namespace cascade
