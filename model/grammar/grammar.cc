// Builds a grammar, and finds how many frames it takes to complete each of its nodes.
#include "model/grammar/grammar.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace cascade {
namespace {

constexpr uint32_t kImpossible = GrammarNode::kImpossible;

// `need` and one frame more.
uint32_t framed(uint32_t need) {
  return need >= Grammar::kFramesMax ? kImpossible : need + 1;
}

}  // namespace

size_t Grammar::memory_bytes() const {
  // What malloc adds to each piece, taking its smallest piece into account.
  constexpr size_t kPieceBytes = 24;
  size_t bytes = sizeof(Grammar) + bytes_.memory_bytes() + nodes_.capacity() * sizeof(GrammarNode);
  for (const GrammarNode& node : nodes_) {
    if (node.children.capacity() == 0) continue;
    bytes += node.children.capacity() * sizeof(GrammarNodeId) + kPieceBytes;
  }
  return bytes;
}

std::string GrammarBuilder::limits() {
  return std::to_string(kNodesMax) + " nodes of a grammar and " +
         std::to_string(ByteAutomaton::kStatesMax) + " states";
}

bool GrammarBuilder::full() const {
  return full_ || grammar_.bytes_.full();
}

GrammarNodeId GrammarBuilder::add(GrammarNode node) {
  children_ += node.children.size();
  if (grammar_.nodes_.size() >= kNodesMax || children_ > kChildrenMax) {
    full_ = true;
    return 0;
  }
  grammar_.nodes_.push_back(std::move(node));
  return static_cast<GrammarNodeId>(grammar_.nodes_.size() - 1);
}

GrammarNodeId GrammarBuilder::terminal(ByteAutomaton::State start) {
  GrammarNode node;
  node.start = start;
  return add(std::move(node));
}

GrammarNodeId GrammarBuilder::text(std::string_view text) {
  return terminal(bytes().text_before(text, bytes().add_state(/*final=*/true)));
}

GrammarNodeId GrammarBuilder::sequence(std::vector<GrammarNodeId> children) {
  GrammarNode node;
  node.kind = GrammarNode::Kind::kSequence;
  node.children = std::move(children);
  return add(std::move(node));
}

GrammarNodeId GrammarBuilder::choice(std::vector<GrammarNodeId> children) {
  if (children.size() == 1) return children.front();
  GrammarNode node;
  node.kind = GrammarNode::Kind::kChoice;
  node.children = std::move(children);
  return add(std::move(node));
}

GrammarNodeId GrammarBuilder::repeat(GrammarNodeId child, uint32_t min, uint32_t max) {
  GrammarNode node;
  node.kind = GrammarNode::Kind::kRepeat;
  node.children = {child};
  node.min = min;
  node.max = max;
  return add(std::move(node));
}

GrammarNodeId GrammarBuilder::forward() {
  GrammarNode node;
  node.kind = GrammarNode::Kind::kChoice;
  return add(std::move(node));
}

void GrammarBuilder::define(GrammarNodeId forward, GrammarNodeId as) {
  if (full()) return;
  grammar_.nodes_[forward].children = {as};
}

uint32_t GrammarBuilder::need_of(const GrammarNode& node) const {
  const auto need = [&](GrammarNodeId id) { return grammar_.nodes_[id].need; };
  switch (node.kind) {
    case GrammarNode::Kind::kTerminal: return grammar_.bytes_.is_live(node.start) ? 0 : kImpossible;
    case GrammarNode::Kind::kSequence: {
      uint32_t most = 0;
      for (size_t i = 0; i < node.children.size(); ++i) {
        const bool last = i + 1 == node.children.size();
        const uint32_t child = need(node.children[i]);
        most = std::max(most, last ? child : framed(child));
      }
      return most;
    }
    case GrammarNode::Kind::kChoice: {
      uint32_t least = kImpossible;
      for (const GrammarNodeId child : node.children) least = std::min(least, need(child));
      return least;
    }
    case GrammarNode::Kind::kRepeat: return node.min == 0 ? 0 : framed(need(node.children[0]));
  }
  return kImpossible;
}

// Finds the smallest solution: needs only become smaller, each at most kFramesMax times.
void GrammarBuilder::compute_needs() {
  std::vector<GrammarNode>& nodes = grammar_.nodes_;
  std::vector<GrammarNodeId> left(nodes.size());
  std::iota(left.begin(), left.end(), 0);
  while (!left.empty()) {
    const GrammarNodeId id = left.back();
    left.pop_back();
    const uint32_t need = need_of(nodes[id]);
    if (need >= nodes[id].need) continue;
    nodes[id].need = need;
    left.insert(left.end(), parents_[id].begin(), parents_[id].end());
  }
}

void GrammarBuilder::drop_impossible_choices() {
  std::vector<GrammarNode>& nodes = grammar_.nodes_;
  for (GrammarNode& node : nodes) {
    if (node.kind != GrammarNode::Kind::kChoice) continue;
    std::erase_if(node.children, [&](GrammarNodeId id) { return nodes[id].need == kImpossible; });
  }
  nodes.shrink_to_fit();
}

// The nodes that have a text made only of texts of terminals that `counts` accepts.
std::vector<bool> GrammarBuilder::with_text(const TerminalTest& counts) const {
  const std::vector<GrammarNode>& nodes = grammar_.nodes_;
  std::vector<bool> with(nodes.size(), false);
  const auto has_text = [&](const GrammarNode& node) {
    const auto child = [&](GrammarNodeId id) { return with[id]; };
    switch (node.kind) {
      case GrammarNode::Kind::kTerminal: return counts(node.start);
      case GrammarNode::Kind::kSequence: return std::ranges::all_of(node.children, child);
      case GrammarNode::Kind::kChoice: return std::ranges::any_of(node.children, child);
      case GrammarNode::Kind::kRepeat: return node.min == 0 || with[node.children[0]];
    }
    return false;
  };
  std::vector<GrammarNodeId> left(nodes.size());
  std::iota(left.begin(), left.end(), 0);
  while (!left.empty()) {
    const GrammarNodeId id = left.back();
    left.pop_back();
    if (with[id] || !has_text(nodes[id])) continue;
    with[id] = true;
    left.insert(left.end(), parents_[id].begin(), parents_[id].end());
  }
  return with;
}

// Whether the grammar repeats a part that may be empty: a matcher would read that part again and
// again at one place.
bool GrammarBuilder::repeats_nothing() const {
  const std::vector<GrammarNode>& nodes = grammar_.nodes_;
  const std::vector<bool> empty =
      with_text([&](ByteAutomaton::State start) { return grammar_.bytes_.is_final(start); });
  return std::ranges::any_of(nodes, [&](const GrammarNode& node) {
    return node.kind == GrammarNode::Kind::kRepeat && empty[node.children[0]];
  });
}

void GrammarBuilder::add_roots(GrammarNodeId root) {
  grammar_.root_ = grammar_.roots_[0] = root;
  for (const bool line_ends : {false, true}) {
    const ByteAutomaton::State end = bytes().add_state(/*final=*/true);
    ByteAutomaton::State lines = end;
    for (int i = 0; line_ends && i < 2; ++i) {
      const ByteAutomaton::State before = bytes().add_state(/*final=*/true);
      bytes().add_edge(before, '\n', '\n', lines);
      lines = before;
    }
    if (line_ends) grammar_.roots_[2] = sequence({terminal(lines), root});
    const ByteAutomaton::State space = bytes().add_state();
    bytes().add_edge(space, ' ', ' ', lines);
    const GrammarNodeId begin = choice({terminal(space), terminal(lines)});
    grammar_.roots_[line_ends ? 3 : 1] = sequence({begin, root});
  }
}

Result<Grammar> GrammarBuilder::finish(GrammarNodeId root, std::string_view field) && {
  add_roots(root);
  if (full()) {
    return invalid_argument(std::string(field), "is too large: the limit is " + limits());
  }
  grammar_.bytes_.finish();
  parents_.resize(grammar_.nodes_.size());
  for (GrammarNodeId id = 0; id < parents_.size(); ++id) {
    for (const GrammarNodeId child : grammar_.nodes_[id].children) parents_[child].push_back(id);
  }
  compute_needs();
  if (grammar_.nodes_[root].need == kImpossible) {
    const bool is_deep =
        with_text([&](ByteAutomaton::State start) { return grammar_.bytes_.is_live(start); })[root];
    return invalid_argument(
        std::string(field),
        is_deep ? "no text satisfies it within the depth limit of " +
                      std::to_string(Grammar::kFramesMax) + " frames"
                : "no text satisfies it: what it demands cannot hold together, or leads back to "
                  "itself without an end");
  }
  drop_impossible_choices();
  if (repeats_nothing()) {
    return invalid_argument(std::string(field), "repeats a part that may be empty");
  }
  return std::move(grammar_);
}

}  // namespace cascade
