// A deterministic automaton over sets of places that grows as it is used.
#include "model/grammar/matcher.h"

#include "model/grammar/token_trie.h"

namespace cascade {
namespace {

size_t hash_of(const GrammarPlaces& places) {
  size_t hash = places.complete ? 1 : 0;
  for (const GrammarPlace& place : places.places) {
    const auto frame = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(place.frame.get()));
    hash = (hash ^ (frame + place.state)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 31;
  }
  return hash;
}

// The memory that a state and a frame take beside the contents of their vectors: nodes of maps, and
// what malloc adds to each piece.
constexpr size_t kStateBytes = 240, kFrameBytes = 144;

}  // namespace

GrammarAutomaton::GrammarAutomaton(std::shared_ptr<const Grammar> grammar, size_t memory_max)
    : grammar_(std::move(grammar)), memory_max_(memory_max) {
  std::vector<bool> seen(grammar_->bytes().classes(), false);
  for (int byte = 0; byte < 256; ++byte) {
    if (!TokenTrie::is_plain(static_cast<uint8_t>(byte))) continue;
    const uint8_t byte_class = grammar_->bytes().class_of(static_cast<uint8_t>(byte));
    if (!seen[byte_class]) plain_.push_back(static_cast<uint8_t>(byte));
    seen[byte_class] = true;
  }
}

std::shared_ptr<MatcherState> GrammarAutomaton::start(GrammarNodeId node) {
  const size_t frames = frames_.size();
  MatcherState* state = keep(places_at_start(*grammar_, node, frames_));
  memory_ += (frames_.size() - frames) * kFrameBytes;
  return state->shared_from_this();
}

MatcherState* GrammarAutomaton::step(MatcherState* from, uint8_t byte) {
  if (!from->kept_) {
    for (GrammarPlace& place : from->places_.places) place.frame = frames_.kept(place.frame);
    MatcherState* equal = find(from->places_);
    if (equal == nullptr) adopt(from);
    if (equal != nullptr) from = equal;
  }
  MatcherState*& behind = from->behind_[grammar_->bytes().class_of(byte)];
  if (behind == nullptr) {
    const size_t frames = frames_.size();
    behind = keep(places_behind(*grammar_, from->places_, byte, frames_));
    memory_ += (frames_.size() - frames) * kFrameBytes;
  }
  return behind;
}

MatcherState* GrammarAutomaton::find(const GrammarPlaces& places) const {
  const auto [begin, end] = states_.equal_range(hash_of(places));
  for (auto it = begin; it != end; ++it) {
    if (it->second->places_ == places) return it->second.get();
  }
  return nullptr;
}

MatcherState* GrammarAutomaton::keep(GrammarPlaces places) {
  if (MatcherState* known = find(places)) return known;
  const auto state = std::make_shared<MatcherState>(std::move(places));
  adopt(state.get());
  return state.get();
}

MatcherState* GrammarAutomaton::behind_plain(MatcherState* from) {
  if (from->kept_ && from->plain_known_) return from->behind_plain_;
  MatcherState* behind = nullptr;
  for (const uint8_t byte : plain_) {
    MatcherState* one = step(from, byte);
    const bool dead = !one->can_continue() && !one->complete();
    if (dead || (behind != nullptr && one != behind)) {
      behind = nullptr;
      break;
    }
    behind = one;
  }
  from->plain_known_ = from->kept_;
  from->behind_plain_ = behind;
  return behind;
}

bool GrammarAutomaton::takes_plain(MatcherState* from, size_t count) {
  for (; count > 0; --count) {
    MatcherState* behind = behind_plain(from);
    if (behind == nullptr) return false;
    if (behind == from) return true;
    from = behind;
  }
  return true;
}

void GrammarAutomaton::adopt(MatcherState* state) {
  state->kept_ = true;
  state->behind_.assign(grammar_->bytes().classes(), nullptr);
  states_.emplace(hash_of(state->places_), state->shared_from_this());
  memory_ += kStateBytes + state->behind_.size() * sizeof(MatcherState*) +
             state->places_.places.size() * sizeof(GrammarPlace);
}

void GrammarAutomaton::forget(std::span<MatcherState* const> states) {
  std::vector<std::shared_ptr<MatcherState>> held;
  for (MatcherState* state : states) held.push_back(state->shared_from_this());
  held_ = std::move(held);
  for (const auto& [hash, state] : states_) {
    state->kept_ = false;
    state->behind_ = {};
    state->plain_known_ = false;
  }
  states_.clear();
  frames_.clear();
  memory_ = 0;
}

bool Matcher::accept(std::string_view bytes) {
  MatcherState* at = state_.get();
  for (const char byte : bytes) {
    if (automaton_->full()) automaton_->forget({&at, 1});
    at = automaton_->step(at, static_cast<uint8_t>(byte));
    if (!at->can_continue() && !at->complete()) return false;
  }
  state_ = at->shared_from_this();
  return true;
}

}  // namespace cascade
