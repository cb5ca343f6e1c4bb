// Operations on automata over code points.
#include "model/grammar/code_points.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/utf8.h"

namespace cascade {

std::u32string to_code_points(std::string_view text) {
  std::u32string all;
  for (size_t at = 0; at < text.size();) {
    const CodePoint next = utf8_decode(text, at);
    all.push_back(next.value);
    at += next.size;
  }
  return all;
}

bool CodePointDfa::accepts(const std::u32string& text) const {
  uint32_t at = 0;
  for (const char32_t c : text) {
    const std::vector<Edge>& edges = states[at].edges;
    const auto edge = std::ranges::find_if(
        edges, [&](const Edge& e) { return e.range.low <= c && c <= e.range.high; });
    if (edge == edges.end()) return false;
    at = edge->target;
  }
  return states[at].final;
}

CodePointDfa all_texts_but(const std::vector<std::u32string>& names) {
  // A tree of the names, whose nodes are finals but for the ends of names; state 1 is off the tree.
  CodePointDfa dfa;
  dfa.states.resize(2);
  std::vector<std::map<char32_t, uint32_t>> next(2);
  std::vector<bool> is_name = {false, false};
  for (const std::u32string& name : names) {
    uint32_t at = 0;
    for (const char32_t c : name) {
      const auto [child, added] = next[at].try_emplace(c, static_cast<uint32_t>(next.size()));
      at = child->second;
      if (!added) continue;
      next.emplace_back();
      is_name.push_back(false);
    }
    is_name[at] = true;
  }
  dfa.states.resize(next.size());
  for (size_t i = 0; i < next.size(); ++i) {
    CodePointDfa::State& state = dfa.states[i];
    state.final = !is_name[i];
    uint32_t low = 0;
    for (const auto& [c, child] : next[i]) {
      if (c > low) state.edges.push_back({{low, static_cast<uint32_t>(c) - 1}, 1});
      state.edges.push_back({{c, c}, child});
      low = static_cast<uint32_t>(c) + 1;
    }
    if (low <= kCodePointMax) state.edges.push_back({{low, kCodePointMax}, 1});
  }
  return dfa;
}

Result<CodePointDfa> limit_length(const CodePointDfa& dfa, uint32_t min, uint32_t max,
                                  size_t states_max) {
  // Without an upper bound there is nothing to count behind the lower one.
  const uint32_t count_max = max == UINT32_MAX ? min : max;
  CodePointDfa limited;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> ids = {{{0, 0}, 0}};
  std::vector<std::pair<uint32_t, uint32_t>> all = {{0, 0}};
  for (size_t i = 0; i < all.size(); ++i) {
    const auto [state, count] = all[i];
    CodePointDfa::State made;
    made.final = dfa.states[state].final && count >= min;
    for (const CodePointDfa::Edge& edge : dfa.states[state].edges) {
      if (count == max) break;
      const std::pair<uint32_t, uint32_t> to = {edge.target, std::min(count + 1, count_max)};
      const auto [id, added] = ids.try_emplace(to, static_cast<uint32_t>(all.size()));
      if (added) all.push_back(to);
      made.edges.push_back({edge.range, id->second});
    }
    if (all.size() > states_max) {
      return invalid_argument("",
                              "takes too many states together with the limits of length; "
                              "the limit is " +
                                  std::to_string(states_max));
    }
    limited.states.push_back(std::move(made));
  }
  return limited;
}

}  // namespace cascade
