// Chains of pinned texts: which are held, and which are waited for.
#include "actors/scheduler/keep/text_pins.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "actors/scheduler/find_text.h"
#include "cache/chain_key.h"

namespace cascade {

const TextPins::OfChunk& TextPins::of(const ChunkName& chunk) const {
  static const OfChunk kNone;
  const auto found = pins_.find(chunk);
  return found != pins_.end() ? found->second : kNone;
}

const TextPin* TextPins::find(const ChunkName& chunk, const Digest& end) const {
  const OfChunk& pins = of(chunk);
  const auto found = pins.find(end);
  return found != pins.end() ? &found->second : nullptr;
}

bool TextPins::hold(const ChunkName& chunk, const Digest& end, TextPin&& pin, int32_t priority,
                    int64_t pages_max, int64_t promised) {
  const TextPin* waiting = find(chunk, end);
  if (waiting != nullptr && is_held(*waiting)) return true;
  const bool was_promised = waiting != nullptr && waiting->promised > 0;
  const auto hold = index_.hold(pin.owner, pin.chain, priority);
  if (!hold) return false;
  const auto pages = static_cast<int64_t>(index_.pinned_count() + index_.unpinned_count(*hold));
  if (pages + (was_promised ? 0 : promised) <= pages_max) {
    index_.pin(*hold);
    pin.hold = hold;
    pin.promised = 0;
    put(chunk, end, std::move(pin));
    without_room_.erase(chunk);
    return true;
  }
  index_.drop_hold(*hold);
  if (waiting != nullptr || of(chunk).empty()) {
    pin.promised = 0;
    put(chunk, end, std::move(pin));
  }
  if (without_room_.insert(chunk).second) {
    spdlog::warn("{} is pinned, but pages with its text can be evicted: --max-pinned has no room",
                 chunk.second);
  }
  return false;
}

void TextPins::expect(const ChunkName& chunk, const Digest& end, TextPin&& pin) {
  const TextPin* present = find(chunk, end);
  if (present == nullptr || !is_held(*present)) put(chunk, end, std::move(pin));
}

void TextPins::give_up(const ChunkName& chunk, const Digest& end) {
  const auto pins = pins_.find(chunk);
  if (pins == pins_.end()) return;
  const auto found = pins->second.find(end);
  if (found == pins->second.end() || is_held(found->second)) return;
  release(end, found->second);
  pins->second.erase(found);
  if (pins->second.empty()) pins_.erase(pins);
}

void TextPins::unpin(const ChunkName& chunk) {
  without_room_.erase(chunk);
  const auto pins = pins_.extract(chunk);
  if (pins.empty()) return;
  for (const auto& [end, pin] : pins.mapped()) release(end, pin);
}

void TextPins::drop_behind(const std::set<Digest>& ends, std::span<const int32_t> text) {
  if (ends.empty()) return;
  const auto has_text = [&](const Digest& name, const TextPin& pin) {
    const std::vector<Digest> pages = pages_of(name, pin);
    const auto end =
        std::ranges::find_if(pages, [&](const Digest& page) { return ends.contains(page); });
    if (end == pages.end()) return false;
    // The last page may have tokens after the end of the chain, which do not matter.
    const bool is_last = std::next(end) == pages.end();
    return !is_last || pin.chain.empty() || find_text(pin.chain, text).has_value();
  };
  for (auto pins = pins_.begin(); pins != pins_.end();) {
    std::erase_if(pins->second, [&](const auto& pin) {
      const bool dropped = has_text(pin.first, pin.second);
      if (dropped) release(pin.first, pin.second);
      return dropped;
    });
    pins = pins->second.empty() ? pins_.erase(pins) : std::next(pins);
  }
}

void TextPins::for_each(
    const std::function<void(const ChunkName&, const Digest&, const TextPin&)>& visit) const {
  for (const auto& [chunk, pins] : pins_) {
    for (const auto& [end, pin] : pins) visit(chunk, end, pin);
  }
}

int64_t TextPins::pages_promised() const {
  int64_t pages = 0;
  for_each([&](const ChunkName&, const Digest&, const TextPin& pin) {
    if (!is_held(pin)) pages += pin.promised;
  });
  return pages;
}

void TextPins::put(const ChunkName& chunk, const Digest& end, TextPin&& pin) {
  ++ends_[end];
  auto& pins = pins_[chunk];
  if (const auto before = pins.find(end); before != pins.end()) {
    release(end, before->second);
    before->second = std::move(pin);
    return;
  }
  pins.emplace(end, std::move(pin));
}

void TextPins::release(const Digest& end, const TextPin& pin) {
  if (pin.hold) index_.drop_hold(*pin.hold);
  const auto count = ends_.find(end);
  if (--count->second == 0) ends_.erase(count);
}

// Returns the chain's pages in order, as far as they are known.
std::vector<Digest> TextPins::pages_of(const Digest& end, const TextPin& pin) const {
  std::vector<Digest> pages;
  if (is_held(pin)) {
    const ChainIndex::Match match = index_.match(pin.owner, pin.chain);
    for (ChainIndex::Node* node : path_to(match.node)) {
      pages.push_back(key_of(node));
    }
    if (match.partial != nullptr) pages.push_back(key_of(match.partial));
    return pages;
  }
  for (const DiskIndex::Step& step : disk_.path(end)) pages.push_back(step.key);
  std::ranges::reverse(pages);
  return pages;
}

bool TextPins::is_on_disk(const Digest& end, const TextPin& pin) const {
  const size_t pages = (pin.chain.size() + kPageTokens - 1) / kPageTokens;
  return disk_.contains(end) && disk_.path(end).size() == pages;
}

Digest TextPins::end_of(ChainIndex::Node* node, size_t tokens) const {
  const ChainIndex::PageName page = name_of(node);
  const std::vector<ChainIndex::Node*> path = path_to(node);
  const ChainIndex::Node* before = path.size() > 1 ? path[path.size() - 2] : index_.root();
  return chain_key(page.parent, tenant_key_behind(index_, before, page.owner),
                   page.tokens.first(tokens));
}

KvState TextPins::state_of(const ChunkName& chunk) const {
  const OfChunk& pins = of(chunk);
  if (pins.empty()) return KvState::kNone;
  const bool ready =
      std::ranges::any_of(pins, [&](const auto& pin) { return is_held(pin.second); });
  return ready ? KvState::kReady : KvState::kPending;
}

int64_t TextPins::pages_wanted(const ChunkName& chunk, const ChunkUses& uses) const {
  std::set<Digest> pages;
  std::set<Digest> ends;
  const auto is_pinned = [](ChainIndex::Node* node) {
    return pinned_count(node) == path_to(node).size();
  };
  for (const ChunkUses::Use& use : uses.of(chunk)) {
    if (use.ends == 0) continue;
    if (ChainIndex::Node* node = index_.find(use.page)) {
      if (!index_.tenant(name_of(node).owner).mode.is_stored()) continue;  // not pinned
      const size_t tokens = name_of(node).tokens.size();
      const size_t own = use.ends > 1 ? std::min<size_t>(tokens, use.ends - 1) : tokens;
      const Digest end = end_of(node, own);
      if (!ends.insert(end).second) continue;
      const std::vector<ChainIndex::Node*> path = path_to(node);
      for (size_t i = pinned_count(node); i < path.size(); ++i) {
        pages.insert(path[i] == node ? end : key_of(path[i]));
      }
      continue;
    }
    const std::vector<DiskIndex::Step> path = disk_.path(use.page);
    const bool is_whole = std::ssize(path) == use.position / kPageTokens + 1;
    if (!is_whole || path.front().tokens + 1 != use.ends) continue;
    if (!ends.insert(use.page).second) continue;
    for (const DiskIndex::Step& step : path) {
      ChainIndex::Node* node = index_.find(step.key);
      if (node == nullptr || !is_pinned(node)) pages.insert(step.key);
    }
  }
  return std::ssize(pages);
}

}  // namespace cascade
