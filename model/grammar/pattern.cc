// Turns a pattern's states into deterministic ones. A text is read in many ways at once. A way that
// has passed look-aheads also carries what these look-aheads still have to find, or must not find.
#include "model/grammar/pattern.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "model/grammar/pattern_nfa.h"

namespace cascade {
namespace {

using StateKind = PatternState::Kind;

// What may come next, as a set of bits.
using Next = uint8_t;
constexpr Next kInWord = 1, kNoWord = 2, kTextEnd = 4, kAnyNext = kInWord | kNoWord | kTextEnd;

// The kind of the character that was read last.
enum class Before : uint8_t { kNothing, kWord, kOther };

// One way to read the text so far. `never` and `always` are numbers of Determiniser's sets and
// lists; 0 is the empty one.
struct Way {
  uint32_t state = 0;
  Next next = kAnyNext;
  uint32_t never = 0;   // a set of ways, none of which may reach its end
  uint32_t always = 0;  // a list of sets; in each, one way must reach its end
  auto operator<=>(const Way&) const = default;
  bool is_plain() const { return next == kAnyNext && never == 0 && always == 0; }
};
using Ways = std::vector<Way>;        // sorted
using Lists = std::vector<uint32_t>;  // sorted

// Gives equal values the same number, from 0 on.
template <class T>
class Numbers {
 public:
  uint32_t operator()(T value) {
    const auto [known, added] =
        ids_.try_emplace(std::move(value), static_cast<uint32_t>(values_.size()));
    if (added) values_.push_back(&known->first);
    return known->second;
  }
  // The reference stays valid.
  const T& operator[](uint32_t id) const { return *values_[id]; }
  size_t size() const { return values_.size(); }

 private:
  std::map<T, uint32_t> ids_;
  std::vector<const T*> values_;
};

class Determiniser {
 public:
  Determiniser(const PatternNfa& nfa, size_t& work)
      : nfa_(nfa), work_(work), seen_(nfa.states.size(), false) {
    sets_({});
    lists_({});
  }

  Result<CodePointDfa> run() {
    dfa_id(closure({{nfa_.start}}, Before::kNothing));
    // States come in the order of the shortest texts that lead to them; those beyond the limit are
    // left out.
    for (size_t i = 0; i < std::min(found_.size(), kPatternDfaStatesMax) && work_ > 0; ++i) {
      add_edges(i);
    }
    dfa_.complete = found_.size() <= kPatternDfaStatesMax && work_ > 0;
    CodePointDfa result = trimmed(dfa_);
    if (dfa_.complete || (work_ > 0 && !accepts_nothing(result))) return result;
    return invalid_argument("", "is too complex: it takes more than " +
                                    std::to_string(kPatternDfaStatesMax) + " states, the limit");
  }

 private:
  void spend(size_t work) { work_ -= std::min(work, work_); }

  // The number of a set; the set is kept.
  uint32_t number(Ways ways) {
    const size_t size = ways.size(), known = sets_.size();
    const uint32_t id = sets_(std::move(ways));
    if (sets_.size() > known) spend(4 * size);
    return id;
  }

  // Whether one of the ways is at its end, whatever follows.
  static bool is_certain(const Ways& ways) {
    return !ways.empty() && ways.front().state == PatternNfa::kEnd && ways.size() == 1 &&
           ways.front().is_plain();
  }

  // All ways that are reached from `left` without reading, but only those that read next or are at
  // their end.
  Ways closure(Ways left, Before before) {
    Ways result;
    std::vector<uint32_t> marked;
    std::set<Way> seen;  // the ways reached so far that are not plain
    while (!left.empty()) {
      const Way way = left.back();
      left.pop_back();
      spend(1);
      if (!way.is_plain()) {
        if (!seen.insert(way).second) continue;
      } else if (seen_[way.state]) {
        continue;
      } else {
        seen_[way.state] = true;
        marked.push_back(way.state);
      }
      follow(way, before, left, result);
    }
    for (const uint32_t state : marked) seen_[state] = false;
    return simplified(std::move(result));
  }

  void follow(Way way, Before before, Ways& left, Ways& result) {
    const PatternState& state = nfa_.states[way.state];
    switch (state.kind) {
      case StateKind::kEnd:
      case StateKind::kRead: result.push_back(way); return;
      case StateKind::kSplit:
        for (const uint32_t to : state.ways) {
          way.state = to;
          left.push_back(way);
        }
        return;
      case StateKind::kAssert:
        way.next &= after(state.assertion, before);
        if (way.next == 0) return;
        break;
      case StateKind::kLookAhead: {
        const Ways ahead = closure_apart(state.ahead, before);
        if (state.negated) {
          if (is_certain(ahead)) return;
          way.never = number(united(sets_[way.never], ahead));
        } else if (!is_certain(ahead)) {
          if (ahead.empty()) return;
          way.always = lists_(with(lists_[way.always], number(ahead)));
        }
        break;
      }
    }
    way.state = state.next;
    left.push_back(way);
  }

  // closure() of one state, for use while another closure() is running.
  Ways closure_apart(uint32_t state, Before before) {
    std::vector<bool> mine(nfa_.states.size(), false);
    spend(mine.size() / 64);
    std::swap(seen_, mine);
    Ways ways = closure({{state}}, before);
    std::swap(seen_, mine);
    return ways;
  }

  // What may come next so that the assertion holds.
  static Next after(PatternAssertion assertion, Before before) {
    const Next end_of_word = before == Before::kWord ? kNoWord | kTextEnd : kInWord;
    switch (assertion) {
      case PatternAssertion::kBegin: return before == Before::kNothing ? kAnyNext : 0;
      case PatternAssertion::kEnd: return kTextEnd;
      case PatternAssertion::kWordBorder: return end_of_word;
      case PatternAssertion::kNoWordBorder: return kAnyNext & static_cast<Next>(~end_of_word);
    }
    return 0;
  }

  // Sorts the ways and drops those that a plain way makes redundant: one with the same state, or
  // with a state of a higher rank in the same family.
  Ways simplified(Ways ways) const {
    std::ranges::sort(ways, [](const Way& a, const Way& b) {
      if (a.state != b.state) return a.state < b.state;
      if (a.is_plain() != b.is_plain()) return a.is_plain();
      return a < b;
    });
    Ways result;
    for (const Way& way : ways) {
      const bool needless = !result.empty() && result.back().state == way.state &&
                            (result.back().is_plain() || result.back() == way);
      if (!needless) result.push_back(way);
    }
    drop_lower_ranks(result);
    // If one way is certain to match, it does not matter where the others lead.
    const bool ended =
        !result.empty() && result.front().state == PatternNfa::kEnd && result.front().is_plain();
    if (ended) result.resize(1);
    return result;
  }

  void drop_lower_ranks(Ways& ways) const {
    std::map<uint32_t, uint32_t> best;  // the best rank, by family
    for (const Way& way : ways) {
      const PatternState& state = nfa_.states[way.state];
      if (state.family == 0 || !way.is_plain()) continue;
      uint32_t& rank = best[state.family];
      rank = std::max(rank, state.rank);
    }
    if (best.empty()) return;
    std::erase_if(ways, [&](const Way& way) {
      const PatternState& state = nfa_.states[way.state];
      const auto found = best.find(state.family);
      return found != best.end() && state.rank < found->second;
    });
  }

  Ways united(Ways a, const Ways& b) const {
    a.insert(a.end(), b.begin(), b.end());
    return simplified(std::move(a));
  }

  static Lists with(Lists list, uint32_t id) {
    const auto at = std::ranges::lower_bound(list, id);
    if (at == list.end() || *at != id) list.insert(at, id);
    return list;
  }

  // One character of a range in which all ways treat the characters alike, and whether it is of a
  // word.
  struct Character {
    uint32_t code = 0;
    bool word = false;
  };

  // The ways after a character. `behind_` holds the results for the look-aheads' sets of ways.
  Ways step(const Ways& ways, Character c) {
    Ways reached;
    for (Way way : ways) {
      const PatternState& state = nfa_.states[way.state];
      spend(1 + state.set.size() / 8);
      if ((way.next & (c.word ? kInWord : kNoWord)) == 0) continue;
      if (state.kind == StateKind::kRead) {
        const bool reads = std::ranges::any_of(state.set, [&](const CodePointRange& range) {
          return range.low <= c.code && c.code <= range.high;
        });
        if (!reads) continue;
        way.state = state.next;
      }
      way.next = kAnyNext;
      if (go_on(way, c)) reached.push_back(way);
    }
    return closure(std::move(reached), c.word ? Before::kWord : Before::kOther);
  }

  // Moves the look-aheads of `way` past a character; false if that rules the way out.
  bool go_on(Way& way, Character c) {
    if (way.never != 0) {
      way.never = step_set(way.never, c);
      if (is_certain(sets_[way.never])) return false;
    }
    Lists left;
    for (const uint32_t id : lists_[way.always]) {
      const uint32_t behind = step_set(id, c);
      if (behind == 0) return false;
      if (!is_certain(sets_[behind])) left = with(std::move(left), behind);
    }
    way.always = lists_(std::move(left));
    return true;
  }

  uint32_t step_set(uint32_t id, Character c) {
    if (const auto known = behind_.find(id); known != behind_.end()) return known->second;
    const uint32_t behind = number(step(sets_[id], c));
    behind_.emplace(id, behind);
    return behind;
  }

  // Whether the text may end here.
  bool ends(const Ways& ways) const {
    return std::ranges::any_of(ways, [&](const Way& way) {
      return way.state == PatternNfa::kEnd && (way.next & kTextEnd) != 0 &&
             !ends(sets_[way.never]) &&
             std::ranges::all_of(lists_[way.always], [&](uint32_t id) { return ends(sets_[id]); });
    });
  }

  uint32_t dfa_id(Ways ways) {
    const bool final = ends(ways);
    const auto [known, added] =
        ids_.try_emplace(number(std::move(ways)), static_cast<uint32_t>(found_.size()));
    if (added) {
      found_.push_back(known->first);
      dfa_.states.emplace_back();
      dfa_.states.back().final = final;
    }
    return known->second;
  }

  // Adds the borders of the ranges of characters that some of the ways treat differently.
  void add_borders(const Ways& ways, std::set<uint32_t>& sets, std::vector<uint32_t>& borders) {
    const auto add = [&](const CodePointRange& range) {
      borders.push_back(range.low);
      borders.push_back(range.high + 1);
    };
    const auto add_set = [&](uint32_t id) {
      if (id != 0 && sets.insert(id).second) add_borders(sets_[id], sets, borders);
    };
    for (const Way& way : ways) {
      spend(1);
      const PatternState& state = nfa_.states[way.state];
      std::ranges::for_each(state.set, add);
      // After the end of the pattern any text may follow.
      if (state.kind == StateKind::kEnd) add({0, kCodePointMax});
      add_set(way.never);
      std::ranges::for_each(lists_[way.always], add_set);
    }
    if (nfa_.knows_words) std::ranges::for_each(word_characters(), add);
  }

  void add_edges(size_t id) {
    const Ways& ways = sets_[found_[id]];
    std::vector<uint32_t> borders;
    std::set<uint32_t> sets;
    add_borders(ways, sets, borders);
    std::ranges::sort(borders);
    borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
    std::vector<CodePointDfa::Edge> edges;
    for (size_t i = 0; i + 1 < borders.size() && work_ > 0; ++i) {
      const uint32_t low = borders[i], high = borders[i + 1] - 1;
      const bool word =
          nfa_.knows_words && std::ranges::any_of(word_characters(), [&](const CodePointRange& r) {
            return r.low <= low && low <= r.high;
          });
      behind_.clear();
      Ways reached = step(ways, {low, word});
      if (reached.empty()) continue;
      const uint32_t target = dfa_id(std::move(reached));
      const bool same =
          !edges.empty() && edges.back().target == target && edges.back().range.high + 1 == low;
      if (same) {
        edges.back().range.high = high;
      } else {
        edges.push_back({{low, high}, target});
      }
    }
    dfa_.states[id].edges = std::move(edges);
  }

  const PatternNfa& nfa_;
  size_t& work_;
  std::vector<bool> seen_;  // the states that a closure has reached in a plain way
  Numbers<Ways> sets_;
  Numbers<Lists> lists_;
  std::map<uint32_t, uint32_t> behind_;  // number of a set -> number of the set after a character
  CodePointDfa dfa_;
  std::map<uint32_t, uint32_t> ids_;  // number of a set -> the state made from it
  std::vector<uint32_t> found_;       // state -> the number of its set
};

}  // namespace

Result<CodePointDfa> compile_pattern(std::string_view pattern, size_t& work) {
  ASSIGN_OR_RETURN(const PatternTree tree, parse_pattern(pattern, work));
  const PatternNfa nfa = make_nfa(tree, kPatternNfaStatesMax);
  if (nfa.states.size() >= kPatternNfaStatesMax) {
    return invalid_argument(
        "", "is too large: the limit is " + std::to_string(kPatternNfaStatesMax) + " states");
  }
  return Determiniser(nfa, work).run();
}

}  // namespace cascade
