// Automata over code points as sets of texts: what two sets have in common, and what only one of
// them has.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "model/grammar/code_points.h"

namespace cascade {
namespace {

constexpr uint32_t kNowhere = UINT32_MAX;

void spend(size_t& work, size_t units) {
  work -= std::min(units, work);
}

Error too_many_states(const std::string& what, size_t states_max) {
  return invalid_argument(
      "", "takes too many states " + what + "; the limit is " + std::to_string(states_max));
}

void add_edge(CodePointDfa::State& state, CodePointRange range, uint32_t target) {
  const bool same = !state.edges.empty() && state.edges.back().target == target &&
                    state.edges.back().range.high + 1 == range.low;
  if (same) {
    state.edges.back().range.high = range.high;
  } else {
    state.edges.push_back({range, target});
  }
}

// Calls visit(range, target of a, target of b) for each range within which neither target changes,
// in ascending order. A target is kNowhere where a state has no edge.
template <class Visit>
void for_each_range(const CodePointDfa::State* a, const CodePointDfa::State* b,
                    const Visit& visit) {
  using Edges = std::vector<CodePointDfa::Edge>;
  static const Edges none;
  const Edges& left = a == nullptr ? none : a->edges;
  const Edges& right = b == nullptr ? none : b->edges;
  size_t i = 0, j = 0;
  for (uint32_t low = 0; low <= kCodePointMax;) {
    while (i < left.size() && left[i].range.high < low) ++i;
    while (j < right.size() && right[j].range.high < low) ++j;
    if (i == left.size() && j == right.size()) return;
    uint32_t high = kCodePointMax;
    const auto target = [&](const Edges& edges, size_t at) {
      if (at == edges.size()) return kNowhere;
      const CodePointRange& range = edges[at].range;
      high = std::min(high, range.low > low ? range.low - 1 : range.high);
      return range.low > low ? kNowhere : edges[at].target;
    };
    const uint32_t to_left = target(left, i), to_right = target(right, j);
    visit(CodePointRange{low, high}, to_left, to_right);
    low = high + 1;
  }
}

// The states that can be reached by `edges` from those in `left`.
std::vector<bool> reached(const std::vector<std::vector<uint32_t>>& edges,
                          std::vector<uint32_t> left) {
  std::vector<bool> seen(edges.size(), false);
  while (!left.empty()) {
    const uint32_t state = left.back();
    left.pop_back();
    if (seen[state]) continue;
    seen[state] = true;
    left.insert(left.end(), edges[state].begin(), edges[state].end());
  }
  return seen;
}

// Whether a text is in the combination, given whether it is in `a` and whether it is in `b`.
bool is_in(Combination how, bool in_a, bool in_b) {
  switch (how) {
    case Combination::kBoth: return in_a && in_b;
    case Combination::kEither: return in_a || in_b;
    case Combination::kFirstAlone: return in_a && !in_b;
  }
  return false;
}

// Whether a text of the combination may go on, given whether it may go on in `a` and in `b`.
bool may_go_on(Combination how, bool a, bool b) {
  return how == Combination::kBoth ? a && b : how == Combination::kEither ? a || b : a;
}

}  // namespace

CodePointDfa trimmed(const CodePointDfa& dfa) {
  std::vector<std::vector<uint32_t>> from(dfa.states.size()), to(dfa.states.size());
  std::vector<uint32_t> finals;
  for (uint32_t i = 0; i < dfa.states.size(); ++i) {
    for (const CodePointDfa::Edge& edge : dfa.states[i].edges) {
      from[edge.target].push_back(i);
      to[i].push_back(edge.target);
    }
    if (dfa.states[i].final) finals.push_back(i);
  }
  const std::vector<bool> live = reached(from, std::move(finals)), met = reached(to, {0});
  CodePointDfa result;
  result.complete = dfa.complete;
  if (!live[0]) {
    result.states.emplace_back();
    return result;
  }
  std::vector<uint32_t> ids(dfa.states.size(), kNowhere);
  uint32_t count = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (live[i] && met[i]) ids[i] = count++;
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == kNowhere) continue;
    CodePointDfa::State& state = result.states.emplace_back();
    state.final = dfa.states[i].final;
    for (const CodePointDfa::Edge& edge : dfa.states[i].edges) {
      if (ids[edge.target] != kNowhere) add_edge(state, edge.range, ids[edge.target]);
    }
  }
  return result;
}

Result<CodePointDfa> combined(const CodePointDfa& a, const CodePointDfa& b, Combination how,
                              size_t states_max, size_t& work) {
  using Pair = std::pair<uint32_t, uint32_t>;
  CodePointDfa result;
  result.complete = a.complete && b.complete;
  std::map<Pair, uint32_t> ids = {{{0, 0}, 0}};
  std::vector<Pair> all = {{0, 0}};
  const auto state_of = [](const CodePointDfa& dfa, uint32_t id) {
    return id == kNowhere ? nullptr : &dfa.states[id];
  };
  // States come in the order of the shortest texts that lead to them; those beyond the limit are
  // left out.
  size_t i = 0;
  for (; i < all.size() && i < states_max && work > 0; ++i) {
    const CodePointDfa::State* in_a = state_of(a, all[i].first);
    const CodePointDfa::State* in_b = state_of(b, all[i].second);
    CodePointDfa::State made;
    made.final = is_in(how, in_a != nullptr && in_a->final, in_b != nullptr && in_b->final);
    for_each_range(in_a, in_b, [&](CodePointRange range, uint32_t to_a, uint32_t to_b) {
      spend(work, 10);
      if (!may_go_on(how, to_a != kNowhere, to_b != kNowhere)) return;
      const auto [id, added] = ids.try_emplace({to_a, to_b}, static_cast<uint32_t>(all.size()));
      if (added) all.push_back({to_a, to_b});
      add_edge(made, range, id->second);
    });
    result.states.push_back(std::move(made));
  }
  if (i == all.size()) return trimmed(result);
  result.states.resize(all.size());
  result.complete = false;
  result = trimmed(result);
  if (work > 0 && !accepts_nothing(result)) return result;
  return too_many_states("together", states_max);
}

// Makes the states for one number of code points after another, so that it is clear at which number
// the limit of states is reached.
Result<CodePointDfa> limit_length(const CodePointDfa& dfa, uint32_t min, uint32_t max,
                                  size_t states_max, size_t& work) {
  // Without an upper bound there is nothing to count after the lower one.
  const uint32_t count_max = max == UINT32_MAX ? min : max;
  CodePointDfa result;
  result.complete = dfa.complete;
  result.states.push_back({{}, dfa.states[0].final && min == 0});
  std::map<uint32_t, uint32_t> layer = {{0, 0}};  // the state of `dfa` -> the state after `count`
  for (uint32_t count = 0; count < max && !layer.empty(); ++count) {
    const bool counts = count < count_max;
    std::map<uint32_t, uint32_t> next;
    if (!counts) next = layer;
    std::vector<uint32_t> left;
    for (const auto& [state, id] : layer) left.push_back(state);
    for (size_t i = 0; i < left.size(); ++i) {
      const uint32_t from = counts ? layer.at(left[i]) : next.at(left[i]);
      for (const CodePointDfa::Edge& edge : dfa.states[left[i]].edges) {
        spend(work, 10);
        const auto [to, added] =
            next.try_emplace(edge.target, static_cast<uint32_t>(result.states.size()));
        if (added) {
          const bool final = dfa.states[edge.target].final && (counts ? count + 1 : count) >= min;
          result.states.push_back({{}, final});
          if (!counts) left.push_back(edge.target);
        }
        add_edge(result.states[from], edge.range, to->second);
      }
    }
    if (!counts) break;
    // The unfinished layer is left out: texts end before it.
    if (result.states.size() > states_max || work == 0) {
      for (const auto& [state, id] : layer) result.states[id].edges.clear();
      result.complete = false;
      result = trimmed(result);
      if (work > 0 && !accepts_nothing(result)) return result;
      return too_many_states("together with the limits of length", states_max);
    }
    layer = std::move(next);
  }
  return trimmed(result);
}

}  // namespace cascade
