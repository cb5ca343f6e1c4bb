// Edges are collected in any order, and sorted by their states at the end.
#include "model/grammar/byte_automaton.h"

#include <algorithm>
#include <tuple>

namespace cascade {

ByteAutomaton::State ByteAutomaton::add_state(bool final) {
  if (states_.size() >= kStatesMax) {
    full_ = true;
    return 0;
  }
  states_.push_back({});
  states_.back().final = final;
  return static_cast<State>(states_.size() - 1);
}

void ByteAutomaton::add_edge(State from, uint8_t low, uint8_t high, State to) {
  if (pending_.size() >= kEdgesMax) full_ = true;
  if (full_) return;
  pending_.push_back({from, {low, high, to}});
}

ByteAutomaton::State ByteAutomaton::text_before(std::string_view text, State to) {
  for (size_t i = text.size(); i > 0; --i) {
    const State state = add_state();
    const auto byte = static_cast<uint8_t>(text[i - 1]);
    add_edge(state, byte, byte, to);
    to = state;
  }
  return to;
}

std::span<const ByteAutomaton::Edge> ByteAutomaton::edges(State state) const {
  const StateRow& row = states_[state];
  return std::span(edges_).subspan(row.first_edge, row.edge_count);
}

void ByteAutomaton::finish() {
  mark_live();
  flatten();
  classify();
}

// Goes backwards from the final states.
void ByteAutomaton::mark_live() {
  std::ranges::sort(pending_, {}, [](const PendingEdge& e) { return e.edge.target; });
  std::vector<State> left;
  const auto reach = [&](State state) {
    if (states_[state].live) return;
    states_[state].live = true;
    left.push_back(state);
  };
  for (State state = 0; state < states_.size(); ++state) {
    if (states_[state].final) reach(state);
  }
  while (!left.empty()) {
    const State state = left.back();
    left.pop_back();
    const auto target = [](const PendingEdge& e) { return e.edge.target; };
    auto into = std::ranges::lower_bound(pending_, state, {}, target);
    for (; into != pending_.end() && target(*into) == state; ++into) reach(into->from);
  }
}

void ByteAutomaton::flatten() {
  std::erase_if(pending_, [&](const PendingEdge& e) { return !states_[e.edge.target].live; });
  std::ranges::sort(pending_, {}, [](const PendingEdge& e) {
    return std::tuple(e.from, e.edge.low, e.edge.high, e.edge.target);
  });
  edges_.reserve(pending_.size());
  for (const PendingEdge& pending : pending_) {
    StateRow& row = states_[pending.from];
    if (row.edge_count++ == 0) row.first_edge = static_cast<uint32_t>(edges_.size());
    edges_.push_back(pending.edge);
  }
  pending_ = {};
  states_.shrink_to_fit();
}

void ByteAutomaton::classify() {
  std::array<bool, 257> begins{};
  begins[0] = true;
  for (const Edge& edge : edges_) {
    begins[edge.low] = true;
    begins[edge.high + 1] = true;
  }
  for (int byte = 0; byte < 256; ++byte) {
    if (begins[byte]) class_bytes_.push_back(static_cast<uint8_t>(byte));
    class_of_[byte] = static_cast<uint8_t>(class_bytes_.size() - 1);
  }
}

}  // namespace cascade
