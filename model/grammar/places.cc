// Follows a grammar's nodes without reading anything, up to the automata that read the next byte.
#include "model/grammar/places.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace cascade {
namespace {

using Frame = std::shared_ptr<const GrammarFrame>;

size_t mixed(size_t hash, uint64_t value) {
  return (hash ^ value) * 0x9E3779B97F4A7C15u + (hash >> 29);
}

// A set of pairs that is nearly always small.
class Seen {
 public:
  // True if the pair is new.
  bool add(const GrammarFrame* frame, uint64_t what) {
    const Key key = {frame, what};
    if (few_.size() < kFew) {
      if (std::ranges::find(few_, key) != few_.end()) return false;
      few_.push_back(key);
      return true;
    }
    if (many_.empty()) many_.insert(few_.begin(), few_.end());
    return many_.insert(key).second;
  }

 private:
  static constexpr size_t kFew = 32;
  struct Key {
    const GrammarFrame* frame;
    uint64_t what;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      return mixed(mixed(0, reinterpret_cast<uintptr_t>(key.frame)), key.what);
    }
  };
  std::vector<Key> few_;
  std::unordered_set<Key, Hash> many_;
};

class Closure {
 public:
  Closure(const Grammar& grammar, GrammarFrames& frames) : grammar_(grammar), frames_(frames) {}

  void enter(GrammarNodeId node, const Frame& frame) { left_.push_back({frame, node}); }
  // An automaton has come to `state`.
  void reach(ByteAutomaton::State state, const Frame& frame) {
    const ByteAutomaton& bytes = grammar_.bytes();
    if (!bytes.edges(state).empty() && seen_.add(frame.get(), kStateBit | state)) {
      if (result_.places.size() < kPlacesMax) result_.places.push_back({state, frame});
    }
    if (bytes.is_final(state)) leave(frame);
  }

  GrammarPlaces finish() {
    // A real grammar takes some tens of steps, and some more for each property that may come next
    // in an object.
    for (size_t steps = 0; !left_.empty() && steps < kStepsMax; ++steps) {
      const Item item = left_.back();
      left_.pop_back();
      item.node ? follow(*item.node, item.frame) : come_back(item.frame);
    }
    return std::move(result_);
  }

 private:
  static constexpr size_t kStepsMax = 20'000;
  static constexpr uint64_t kStateBit = uint64_t{1} << 32, kLeaveBit = uint64_t{1} << 33;
  struct Item {
    Frame frame;
    std::optional<GrammarNodeId> node;  // none: the node on top is completed
  };

  void leave(const Frame& frame) { left_.push_back({frame, std::nullopt}); }

  bool fits(GrammarNodeId node, const Frame& frame, uint32_t more) const {
    const uint32_t need = grammar_.node(node).need;
    const uint32_t depth = (frame ? frame->depth : 0) + more;
    return need != GrammarNode::kImpossible && depth + need <= Grammar::kFramesMax;
  }

  void follow(GrammarNodeId id, const Frame& frame) {
    if (!fits(id, frame, 0) || !seen_.add(frame.get(), id)) return;
    const GrammarNode& node = grammar_.node(id);
    switch (node.kind) {
      case GrammarNode::Kind::kTerminal: reach(node.start, frame); break;
      case GrammarNode::Kind::kSequence: go_on(id, 0, frame); break;
      case GrammarNode::Kind::kChoice:
        // The first child must be on top of the stack of items.
        for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
          enter(*child, frame);
        }
        break;
      case GrammarNode::Kind::kRepeat: repeat(id, 0, frame); break;
    }
  }

  void come_back(const Frame& frame) {
    if (!seen_.add(frame.get(), kLeaveBit)) return;
    if (!frame) {
      result_.complete = true;
    } else if (grammar_.node(frame->node).kind == GrammarNode::Kind::kRepeat) {
      repeat(frame->node, frame->index, frame->below);
    } else {
      go_on(frame->node, frame->index, frame->below);
    }
  }

  // Enters the child `index` of a sequence. After the last child, there is nothing to come back to.
  void go_on(GrammarNodeId id, uint32_t index, const Frame& frame) {
    const std::vector<GrammarNodeId>& children = grammar_.node(id).children;
    if (index == children.size()) return leave(frame);
    const bool last = index + 1 == children.size();
    enter(children[index], last ? frame : frames_.push(frame, id, index + 1));
  }

  void repeat(GrammarNodeId id, uint32_t count, const Frame& frame) {
    const GrammarNode& node = grammar_.node(id);
    if (count >= node.min) leave(frame);
    if (count >= node.max || !fits(node.children[0], frame, 1)) return;
    // Without an upper bound there is nothing to count after the lower one.
    const bool counts = node.max != GrammarNode::kUnbounded || count < node.min;
    enter(node.children[0], frames_.push(frame, id, counts ? count + 1 : count));
  }

  const Grammar& grammar_;
  GrammarFrames& frames_;
  GrammarPlaces result_;
  std::vector<Item> left_;
  Seen seen_;
};

}  // namespace

size_t GrammarFrames::KeyHash::operator()(const Key& key) const {
  return mixed(mixed(0, reinterpret_cast<uintptr_t>(key.below)),
               (uint64_t{key.node} << 32) | key.index);
}

std::shared_ptr<const GrammarFrame> GrammarFrames::push(const Frame& below, GrammarNodeId node,
                                                        uint32_t index) {
  auto& frame = frames_[{below.get(), node, index}];
  if (!frame) {
    const uint32_t depth = below ? below->depth + 1 : 1;
    frame = std::make_shared<GrammarFrame>(GrammarFrame{below, node, index, depth});
  }
  return frame;
}

Frame GrammarFrames::kept(const Frame& frame) {
  return frame ? push(kept(frame->below), frame->node, frame->index) : frame;
}

GrammarPlaces places_at_start(const Grammar& grammar, GrammarNodeId node, GrammarFrames& frames) {
  Closure closure(grammar, frames);
  closure.enter(node, nullptr);
  return closure.finish();
}

GrammarPlaces places_behind(const Grammar& grammar, const GrammarPlaces& from, uint8_t byte,
                            GrammarFrames& frames) {
  Closure closure(grammar, frames);
  for (const GrammarPlace& place : from.places) {
    for (const ByteAutomaton::Edge& edge : grammar.bytes().edges(place.state)) {
      if (edge.low > byte) break;  // edges are sorted
      if (byte <= edge.high) closure.reach(edge.target, place.frame);
    }
  }
  return closure.finish();
}

}  // namespace cascade
