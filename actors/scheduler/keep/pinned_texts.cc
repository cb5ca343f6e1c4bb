// A text's chain is found, read or computed, pinned, and written.
#include "actors/scheduler/keep/pinned_texts.h"

#include <algorithm>
#include <utility>

#include "actors/scheduler/chunk_settings.h"
#include "actors/scheduler/find_text.h"

namespace cascade {
namespace {

TextPins::ChunkName name_of(const ChunkEntry& entry) {
  return {entry.chunk.tenant, entry.chunk.id};
}

// Returns the beginning of a prompt with the chunk's text, up to the text's end, which is in the
// last page; or the whole prompt if the end is not found.
TextPin beginning_with(const ChunkEntry& entry, std::vector<int32_t>&& prompt) {
  const TokenSpan where = place_of_text(prompt, entry.chunk.token_ids);
  // If the prompt has the text twice, the first place may be the wrong one.
  const auto before = std::ssize(prompt) - 1 - (std::ssize(prompt) - 1) % kPageTokens;
  if (where.end > before) prompt.resize(static_cast<size_t>(where.end));
  return {.chain = std::move(prompt), .begin = static_cast<size_t>(where.begin)};
}

}  // namespace

PinnedTexts::PinnedTexts(const ChainIndex& index, Tenants& tenants, ChunkRegistry& registry,
                         const StoredPages& stored, PageWriter& writer, ChunkChains& chains,
                         IdlePrefill& idle, TextUses& uses, ChunkHolds& holds,
                         const PinBudget& budget, TextPins& pins)
    : index_(index),
      tenants_(tenants),
      registry_(registry),
      stored_(stored),
      writer_(writer),
      chains_(chains),
      idle_(idle),
      uses_(uses),
      holds_(holds),
      budget_(budget),
      pins_(pins) {}

void PinnedTexts::pin(const ChunkEntry& entry) {
  for (const ChunkUses::Use& use : uses_.uses().of(name_of(entry))) {
    if (use.ends == 0) continue;
    if (index_.find(use.page) != nullptr) {
      pin_use(entry, use);
    } else {
      expect(entry, use);
    }
  }
}

void PinnedTexts::pin_use(const ChunkEntry& entry, const ChunkUses::Use& use) {
  ChainIndex::Node* node = index_.find(use.page);
  if (node == nullptr) return;
  const ChainIndex::PageName last = name_of(node);
  // With a window, pages that the text's end sees may be gone.
  if (!index_.tenant(last.owner).mode.is_stored()) return;
  // Tokens of the page after the text do not belong to the pin, and are not written for it.
  size_t tokens = use.ends > 1 ? static_cast<size_t>(use.ends) - 1 : 0;
  TextPin pin;
  if (tokens == 0 || tokens > last.tokens.size()) {
    pin = beginning_with(entry, chain_to(node));
    tokens = pin.chain.size() - static_cast<size_t>(last.position);
  }
  const Digest end = pins_.end_of(node, tokens);
  const TextPin* present = pins_.find(name_of(entry), end);
  if (present != nullptr && pins_.is_held(*present)) return;
  if (pin.chain.empty()) {
    pin.chain = chain_to(node);
    pin.chain.resize(static_cast<size_t>(last.position) + tokens);
    pin.begin = static_cast<size_t>(place_of_text(pin.chain, entry.chunk.token_ids).begin);
  }
  pin.owner = last.owner;
  if (!pins_.hold(name_of(entry), end, std::move(pin), entry.chunk.priority, budget_.pages_max(),
                  budget_.pages_promised())) {
    // A chunk that has a chain of its own waits for that chain.
    if (has_own_chain(entry.chunk.type)) pins_.give_up(name_of(entry), end);
    return;
  }
  uses_.note(name_of(entry), {end, last.position, static_cast<int32_t>(tokens) + 1});
  write(entry, end, *pins_.find(name_of(entry), end));
}

// Has the chain up to the page of `use` read, if all of it is on disk and the text ends with the
// last token of the page. The page is not in memory.
void PinnedTexts::expect(const ChunkEntry& entry, const ChunkUses::Use& use) {
  if (has_own_chain(entry.chunk.type)) return;
  const std::vector<DiskIndex::Step> path = stored_.disk().path(use.page);
  if (std::ssize(path) != use.position / kPageTokens + 1) return;
  // Earlier versions did not store where the text ends: one of their pages is enough.
  const bool is_exact = use.ends == path.front().tokens + 1;
  const bool is_only = use.ends == 1 && pins_.of(name_of(entry)).empty();
  if (!is_exact && !is_only) return;
  if (pins_.find(name_of(entry), use.page) != nullptr) return;
  pins_.expect(name_of(entry), use.page, {.chain = {}, .promised = std::ssize(path)});
  chains_.read(
      {.name = {entry.chunk.tenant, entry.chunk.id}, .key = use.page.hex(), .text_end = use.page});
}

void PinnedTexts::text_is_read(const ChainWanted& wanted, wire::StoredChain&& chain) {
  const TextPins::ChunkName chunk = {wanted.name.tenant, wanted.name.id};
  const Digest& end = *wanted.text_end;
  const auto found = registry_.find_own(chunk.first, chunk.second);
  const TextPin* waiting = pins_.find(chunk, end);
  if (!found.ok() || waiting == nullptr || !waiting->chain.empty()) return;  // unpinned, or held
  const bool is_own = chain.tenant.empty() || chain.tenant == chunk.first;
  if (chain.token_ids.empty() || !is_own) return pins_.give_up(chunk, end);
  TextPin pin = beginning_with(**found, std::move(chain.token_ids));
  pin.owner = tenants_.id(chunk.first, chain.attention);
  pin.promised = waiting->promised;
  queue(wanted.name, end, pin);
  pins_.expect(chunk, end, std::move(pin));
}

// Brings the chain into memory, from disk or by computing it, when there is nothing else to do.
void PinnedTexts::queue(const StoredName& chunk, const Digest& end, const TextPin& pin) {
  Reprefill text;
  text.tenant = chunk.tenant;
  text.chunk_id = chunk.id;
  text.chain = text.sampled_chain = pin.chain;
  text.prompt_tokens = pin.begin;
  text.attention = index_.tenant(pin.owner).mode;
  text.text_end = end;
  idle_.push(std::move(text));
}

void PinnedTexts::text_is_computed(ChunkEntry& entry, const Reprefill& text, bool complete) {
  if (!complete) return;
  const TokenSpan where = {static_cast<int64_t>(text.prompt_tokens), std::ssize(text.chain)};
  const TextUse use = {name_of(entry), where};
  uses_.note(tenants_.id(text.tenant, text.attention), text.chain, {&use, 1});
  const TextPin* pin = pins_.find(name_of(entry), *text.text_end);
  // The last page has another name than on disk if the page on disk has tokens after the text, or
  // was public.
  if (pin != nullptr && pin->promised > 0) pins_.give_up(name_of(entry), *text.text_end);
  holds_.refresh(entry);
}

void PinnedTexts::write(const ChunkEntry& entry) {
  for (const auto& [end, pin] : pins_.of(name_of(entry))) write(entry, end, pin);
}

void PinnedTexts::write(const ChunkEntry& entry, const Digest& end, const TextPin& pin) {
  if (has_own_chain(entry.chunk.type) || !pins_.is_held(pin)) return;
  if (pins_.is_on_disk(end, pin)) return;
  writer_.write_behind(pin.owner, pin.chain, StoredName{entry.chunk.tenant, entry.chunk.id},
                       /*of_text=*/true);
}

bool PinnedTexts::is_on_disk(const ChunkEntry& entry) const {
  return std::ranges::all_of(pins_.of(name_of(entry)), [&](const auto& pin) {
    return !pins_.is_held(pin.second) || pins_.is_on_disk(pin.first, pin.second);
  });
}

void PinnedTexts::heal() {
  std::vector<std::pair<StoredName, Digest>> lost;
  pins_.for_each([&](const TextPins::ChunkName& chunk, const Digest& end, const TextPin& pin) {
    const auto found = registry_.find_own(chunk.first, chunk.second);
    if (found.ok()) write(**found, end, pin);
    if (pins_.is_held(pin) || pin.chain.empty()) return;
    const StoredName name = {chunk.first, chunk.second};
    if (!idle_.has_text(name, end)) lost.emplace_back(name, end);
  });
  for (const auto& [chunk, end] : lost) {
    TextPin again = *pins_.find({chunk.tenant, chunk.id}, end);
    if (again.promised == 0) {
      // Without room the chain would be computed only to be evicted again.
      again.promised = chain_pages(again.chain.size());
      if (!budget_.check("pinned", again.promised).ok()) continue;
    }
    queue(chunk, end, again);
    pins_.expect({chunk.tenant, chunk.id}, end, std::move(again));
  }
}

void PinnedTexts::unpin(const ChunkEntry& entry) {
  pins_.unpin(name_of(entry));
  if (has_own_chain(entry.chunk.type)) return;
  const StoredName name = {entry.chunk.tenant, entry.chunk.id};
  idle_.drop(name);
  writer_.drop_if(
      [&](const Writeback& writeback) { return writeback.chunk == name && writeback.of_text; });
}

int64_t PinnedTexts::pages_wanted(const ChunkUses::ChunkName& chunk) const {
  return pins_.pages_wanted(chunk, uses_.uses());
}

}  // namespace cascade
