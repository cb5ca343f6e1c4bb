// Where in a grammar the end of a text may be: the set of places that a matcher is in.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "model/grammar/grammar.h"

namespace cascade {

// What follows when the node on top is completed. A stack is a linked list, parts of which several
// stacks may share.
struct GrammarFrame {
  std::shared_ptr<const GrammarFrame> below;
  GrammarNodeId node = 0;
  uint32_t index = 0;  // the next child; in a repetition: how often the child was entered
  uint32_t depth = 1;
};

struct GrammarPlace {
  ByteAutomaton::State state = 0;
  std::shared_ptr<const GrammarFrame> frame;  // null: nothing follows
  bool operator==(const GrammarPlace&) const = default;
};

struct GrammarPlaces {
  std::vector<GrammarPlace> places;
  bool complete = false;  // the text may end here
  bool operator==(const GrammarPlaces&) const = default;
};

// Makes frames. Equal frames are made only once as long as they are kept, so equal stacks are equal
// pointers.
class GrammarFrames {
 public:
  std::shared_ptr<const GrammarFrame> push(const std::shared_ptr<const GrammarFrame>& below,
                                           GrammarNodeId node, uint32_t index);
  // The kept frame that is equal to `frame`.
  std::shared_ptr<const GrammarFrame> kept(const std::shared_ptr<const GrammarFrame>& frame);
  size_t size() const { return frames_.size(); }
  void clear() { frames_.clear(); }

 private:
  struct Key {
    const GrammarFrame* below;
    GrammarNodeId node;
    uint32_t index;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  std::unordered_map<Key, std::shared_ptr<const GrammarFrame>, KeyHash> frames_;
};

// The places before anything of `node` was read.
GrammarPlaces places_at_start(const Grammar& grammar, GrammarNodeId node, GrammarFrames& frames);
// The places after one more byte. Places beyond kPlacesMax are left out: whatever the rest allow is
// still part of the grammar.
inline constexpr size_t kPlacesMax = 2048;
GrammarPlaces places_behind(const Grammar& grammar, const GrammarPlaces& from, uint8_t byte,
                            GrammarFrames& frames);

}  // namespace cascade
