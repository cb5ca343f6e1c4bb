// Finite automata over bytes: what the terminals of a grammar are made of.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cascade {

// Many automata in one table of states; each is named by the state that it starts in. An automaton
// need not be deterministic. Built by one thread; any thread after finish().
class ByteAutomaton {
 public:
  using State = uint32_t;
  struct Edge {
    uint8_t low = 0;  // the edge reads the bytes [low, high]
    uint8_t high = 0;
    State target = 0;
  };
  // 200,000 states and their edges take some 8 MB.
  static constexpr size_t kStatesMax = 200'000;
  static constexpr size_t kEdgesMax = 1'000'000;

  // If the table is full, nothing is added, the result is state 0, and full() is true.
  State add_state(bool final = false);
  void add_edge(State from, uint8_t low, uint8_t high, State to);
  void set_final(State state) { states_[state].final = true; }
  // A state from which exactly the bytes of `text` lead to `to`.
  State text_before(std::string_view text, State to);
  bool full() const { return full_; }

  // Drops the edges that lead nowhere. Nothing may be added afterwards.
  void finish();

  size_t memory_bytes() const {
    return states_.capacity() * sizeof(StateRow) + edges_.capacity() * sizeof(Edge) +
           class_bytes_.capacity();
  }
  std::span<const Edge> edges(State state) const;
  bool is_final(State state) const { return states_[state].final; }
  // Whether a final state can be reached.
  bool is_live(State state) const { return states_[state].live; }

  // Bytes are of one class if no edge tells them apart. Classes are numbered from 0 on.
  uint8_t class_of(uint8_t byte) const { return class_of_[byte]; }
  size_t classes() const { return class_bytes_.size(); }
  // The smallest byte of a class.
  uint8_t class_byte(size_t byte_class) const { return class_bytes_[byte_class]; }

 private:
  struct StateRow {
    bool final = false;
    bool live = false;
    uint32_t first_edge = 0;
    uint32_t edge_count = 0;
  };
  struct PendingEdge {
    State from;
    Edge edge;
  };

  void mark_live();
  void flatten();
  void classify();

  std::vector<StateRow> states_;
  std::vector<PendingEdge> pending_;  // until finish()
  std::vector<Edge> edges_;
  std::array<uint8_t, 256> class_of_{};
  std::vector<uint8_t> class_bytes_;
  bool full_ = false;
};

}  // namespace cascade
