// A grammar: a graph of sequences, choices and repetitions whose leaves are automata over bytes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/grammar/byte_automaton.h"

namespace cascade {

using GrammarNodeId = uint32_t;

struct GrammarNode {
  enum class Kind : uint8_t { kTerminal, kSequence, kChoice, kRepeat };
  static constexpr uint32_t kUnbounded = UINT32_MAX;
  // The need of a node that has no finite text.
  static constexpr uint32_t kImpossible = UINT32_MAX;

  Kind kind = Kind::kTerminal;
  ByteAutomaton::State start = 0;       // kTerminal
  std::vector<GrammarNodeId> children;  // kRepeat has one
  uint32_t min = 0, max = 0;            // kRepeat; max may be kUnbounded
  // The smallest number of frames of the matcher's stack that completing the node takes.
  uint32_t need = kImpossible;
};

// Immutable; any thread. The texts of a grammar are those that can be read within kFramesMax
// frames. A matcher never goes where more would be needed, so a text that was begun can always be
// completed.
class Grammar {
 public:
  // A JSON object or array takes one to three frames, so at least 40 levels fit; JSON readers take
  // a hundred levels or more.
  static constexpr uint32_t kFramesMax = 128;

  const ByteAutomaton& bytes() const { return bytes_; }
  const GrammarNode& node(GrammarNodeId id) const { return nodes_[id]; }
  GrammarNodeId root() const { return root_; }
  // The root, after characters that are not part of the text: with `space`, a space that a
  // tokenizer drops at the beginning; with `line_ends`, up to two line ends, which templates put
  // after thoughts.
  GrammarNodeId root_behind(bool space, bool line_ends) const {
    return roots_[(space ? 1 : 0) + (line_ends ? 2 : 0)];
  }
  size_t memory_bytes() const;

 private:
  friend class GrammarBuilder;
  ByteAutomaton bytes_;
  std::vector<GrammarNode> nodes_;
  GrammarNodeId root_ = 0;
  std::array<GrammarNodeId, 4> roots_{};
};

// One grammar, one builder, one thread. Beyond the limits nothing is added, and finish() reports
// it.
class GrammarBuilder {
 public:
  static constexpr size_t kNodesMax = 100'000;
  static constexpr size_t kChildrenMax = 400'000;  // of all nodes together

  ByteAutomaton& bytes() { return grammar_.bytes_; }
  GrammarNodeId terminal(ByteAutomaton::State start);
  GrammarNodeId text(std::string_view bytes);
  GrammarNodeId sequence(std::vector<GrammarNodeId> children);
  GrammarNodeId choice(std::vector<GrammarNodeId> children);
  GrammarNodeId repeat(GrammarNodeId child, uint32_t min, uint32_t max);
  // A node that may be used before its content is known. Until define(), it has no text.
  GrammarNodeId forward();
  void define(GrammarNodeId forward, GrammarNodeId as);

  bool full() const;
  // The limits above and those of automata, for messages.
  static std::string limits();
  // Errors: kInvalidArgument, field `field`, if a limit was reached, no text is in the grammar, or
  // a part that may be empty is repeated.
  Result<Grammar> finish(GrammarNodeId root, std::string_view field) &&;

 private:
  GrammarNodeId add(GrammarNode node);
  void add_roots(GrammarNodeId root);
  uint32_t need_of(const GrammarNode& node) const;
  void compute_needs();
  void drop_impossible_choices();
  using TerminalTest = std::function<bool(ByteAutomaton::State)>;
  std::vector<bool> with_text(const TerminalTest& counts) const;
  bool repeats_nothing() const;

  Grammar grammar_;
  std::vector<std::vector<GrammarNodeId>> parents_;  // filled by finish()
  size_t children_ = 0;
  bool full_ = false;
};

}  // namespace cascade
