// Sizes of ranges are differences of running sums, and cuts only move forward, so a choice takes
// time in proportion to the number of messages.
#include "model/conversation_cut.h"

#include <algorithm>

#include "base/check.h"

namespace cascade {
namespace {

// The running sums of sizes.
class Sums {
 public:
  explicit Sums(std::span<const MessageSize> sizes) : sums_(1) {
    for (const MessageSize& size : sizes) {
      const MessageSize& last = sums_.back();
      sums_.push_back({last.always + size.always, last.in_newest_turn + size.in_newest_turn});
    }
  }
  // The size of messages [begin, end), while the newest turn begins at message `turn_begin`.
  int64_t of(size_t begin, size_t end, size_t turn_begin) const {
    if (end <= begin) return 0;
    const size_t turn = std::clamp(turn_begin, begin, end);
    return sums_[end].always - sums_[begin].always + sums_[end].in_newest_turn -
           sums_[turn].in_newest_turn;
  }

 private:
  std::vector<MessageSize> sums_;
};

}  // namespace

ConversationCuts::ConversationCuts(std::span<const ChatMessage> messages) : size_(messages.size()) {
  while (system_ < size_ && messages[system_].role == "system") ++system_;
  LeftOut next = {-1, 0};  // the turn, and how many steps it has so far
  size_t turn_begin = system_, question_end = system_;
  for (size_t i = system_; i < size_; ++i) {
    const bool asks = messages[i].role == "user";
    if (i == system_ || (asks && messages[i - 1].role != "user")) {
      next = {next.turns + 1, 0};
      turn_begin = i;
      points_.push_back({next, i, i, i});
      units_.push_back({i, i});
    } else if (messages[i].role == "assistant") {
      if (next.steps++ == 0) {
        question_end = i;
      } else {
        points_.push_back({{next.turns, next.steps - 1}, turn_begin, question_end, i});
      }
      units_.push_back({i, turn_begin});
      prompt_ends_.push_back(i);
    }
  }
  prompt_ends_.push_back(size_);
}

LeftOut ConversationCuts::choose(std::span<const MessageSize> sizes,
                                 const CutLimits& limits) const {
  CHECK(sizes.size() == size_);
  if (points_.empty()) return {};
  const Sums sums(sizes);
  size_t chosen = 0, newest = 0, unit = 0;
  const auto size_before = [&](size_t end) {
    const CutPoint& point = points_[chosen];
    const size_t turn_begin = units_[unit].turn_begin;
    return sums.of(point.question_begin, std::min(point.question_end, end), turn_begin) +
           sums.of(point.begin, end, turn_begin);
  };
  for (const size_t end : prompt_ends_) {
    while (unit + 1 < units_.size() && units_[unit + 1].begin < end) ++unit;
    while (newest + 1 < points_.size() && points_[newest + 1].begin <= units_[unit].begin) ++newest;
    if (size_before(end) <= limits.room) continue;
    while (chosen < newest && (size_before(end) > limits.room ||
                               size_before(units_[unit].begin) > limits.history_max)) {
      ++chosen;
    }
  }
  return points_[chosen].cut;
}

LeftOut ConversationCuts::shorten(std::span<const MessageSize> sizes, int64_t history_max) const {
  CHECK(sizes.size() == size_);
  if (points_.empty()) return {};
  const Sums sums(sizes);
  size_t chosen = 0;
  const auto history = [&] {
    const CutPoint& point = points_[chosen];
    const Unit& newest = units_.back();
    return sums.of(point.question_begin, point.question_end, newest.turn_begin) +
           sums.of(point.begin, newest.begin, newest.turn_begin);
  };
  while (chosen + 1 < points_.size() && history() > history_max) ++chosen;
  return points_[chosen].cut;
}

LeftOut ConversationCuts::after(const LeftOut& cut) const {
  const auto next = std::ranges::upper_bound(points_, cut, {}, &CutPoint::cut);
  return next == points_.end() ? cut : next->cut;
}

// Precondition: `cut` is a place.
size_t ConversationCuts::index_of(const LeftOut& cut) const {
  const auto found = std::ranges::lower_bound(points_, cut, {}, &CutPoint::cut);
  CHECK(found != points_.end() && found->cut == cut);
  return static_cast<size_t>(found - points_.begin());
}

bool ConversationCuts::has(const LeftOut& cut) const {
  return std::ranges::binary_search(points_, cut, {}, &CutPoint::cut);
}

bool ConversationCuts::stays(size_t message, const LeftOut& cut) const {
  if (message < system_ || cut == LeftOut()) return true;
  const CutPoint& at = points_[index_of(cut)];
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
