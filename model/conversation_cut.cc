// Sizes of ranges are differences of running sums, and places only move forward, so a choice takes
// time in proportion to the number of messages.
#include "model/conversation_cut.h"

#include <algorithm>

#include "base/check.h"

namespace cascade {

ConversationCuts::ConversationCuts(std::span<const ChatMessage> messages) : size_(messages.size()) {
  while (system_ < size_ && messages[system_].role == "system") ++system_;
  LeftOut next = {-1, 0};  // the turn, and how many steps it has so far
  size_t question_begin = system_, question_end = system_;
  for (size_t i = system_; i < size_; ++i) {
    const bool asks = messages[i].role == "user";
    if (i == system_ || (asks && messages[i - 1].role != "user")) {
      next = {next.turns + 1, 0};
      question_begin = i;
      places_.push_back({next, i, i, i});
      units_.push_back(i);
    } else if (messages[i].role == "assistant") {
      if (next.steps++ == 0) {
        question_end = i;
      } else {
        places_.push_back({{next.turns, next.steps - 1}, question_begin, question_end, i});
      }
      units_.push_back(i);
      ends_.push_back(i);
    }
  }
  ends_.push_back(size_);
}

LeftOut ConversationCuts::choose(std::span<const int64_t> sizes, const CutLimits& limits) const {
  CHECK(sizes.size() == size_);
  if (places_.empty()) return {};
  std::vector<int64_t> sums = {0};
  for (const int64_t size : sizes) sums.push_back(sums.back() + size);
  const auto sum = [&](size_t begin, size_t end) {
    return end > begin ? sums[end] - sums[begin] : 0;
  };
  size_t chosen = 0, newest = 0, unit = 0;
  for (const size_t end : ends_) {
    while (unit + 1 < units_.size() && units_[unit + 1] < end) ++unit;
    while (newest + 1 < places_.size() && places_[newest + 1].begin <= units_[unit]) ++newest;
    const auto size_before = [&](size_t before) {
      const Place& place = places_[chosen];
      return sum(place.question_begin, std::min(place.question_end, before)) +
             sum(place.begin, before);
    };
    if (size_before(end) <= limits.room) continue;
    while (chosen < newest &&
           (size_before(end) > limits.room || size_before(units_[unit]) > limits.history_max)) {
      ++chosen;
    }
  }
  return places_[chosen].cut;
}

LeftOut ConversationCuts::after(const LeftOut& cut) const {
  const auto next = std::ranges::upper_bound(places_, cut, {}, &Place::cut);
  return next == places_.end() ? cut : next->cut;
}

const ConversationCuts::Place& ConversationCuts::place(const LeftOut& cut) const {
  const auto found = std::ranges::lower_bound(places_, cut, {}, &Place::cut);
  CHECK(found != places_.end() && found->cut == cut);
  return *found;
}

bool ConversationCuts::stays(size_t message, const LeftOut& cut) const {
  if (message < system_ || cut == LeftOut()) return true;
  const Place& at = place(cut);
  return message >= at.begin || (message >= at.question_begin && message < at.question_end);
}

std::vector<ChatMessage> kept_messages(std::span<const ChatMessage> messages,
                                       const ConversationCuts& cuts, const LeftOut& cut) {
  std::vector<ChatMessage> kept;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (cuts.stays(i, cut)) kept.push_back(messages[i]);
  }
  return kept;
}

}  // namespace cascade
