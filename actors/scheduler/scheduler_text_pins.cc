// Pins of texts, wherever they stand. Contexts and queries have no chain of their own, so these
// pins are all that keeps their K and V: the store has them too, and a start brings them back.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <utility>

#include "actors/scheduler/scheduler_core.h"
#include "cache/chain_key.h"

namespace cascade {
namespace {

TextPins::ChunkName name_of(const ChunkEntry& entry) {
  return {entry.chunk.tenant, entry.chunk.id};
}

// The chain of a prompt in whose last page the chunk's text ends, up to this end.
TextPin text_pin(const ChunkEntry& entry, std::vector<int32_t>&& prompt) {
  const TokenSpan where = place_of_text(prompt, entry.chunk.token_ids);
  // Where the text stands twice, the first place may be the wrong one.
  const auto before = std::ssize(prompt) - 1 - (std::ssize(prompt) - 1) % kPageTokens;
  if (where.end > before) prompt.resize(static_cast<size_t>(where.end));
  return {.chain = std::move(prompt), .begin = static_cast<size_t>(where.begin), .end = {}};
}

}  // namespace

// The chunk is pinned: what is known of its text is, too.
void SchedulerCore::pin_texts(const ChunkEntry& entry) {
  for (const ChunkUses::Use& use : uses_.of(name_of(entry))) {
    if (!use.ends) continue;
    if (index_.find(use.page) != nullptr) {
      pin_text(entry, use.page);
    } else {
      expect_text(entry, use);
    }
  }
}

// The text ends in the page, which is in memory.
void SchedulerCore::pin_text(const ChunkEntry& entry, const Digest& page) {
  ChainIndex::Node* node = index_.find(page);
  if (node == nullptr) return;
  const ChainIndex::PageName last = ChainIndex::name_of(node);
  const TextPin* present = text_pins_.find(name_of(entry), last.parent);
  if (present != nullptr && text_pins_.is_held(*present)) return;
  TextPin pin = text_pin(entry, ChainIndex::chain_to(node));
  pin.owner = last.owner;
  // What the page has after the text is not the pin's, and is not written for it.
  const auto tokens = std::span(pin.chain).subspan(static_cast<size_t>(last.position));
  const std::vector<ChainIndex::Node*> path = ChainIndex::path_to(node);
  const ChainIndex::Node* before = path.size() > 1 ? path[path.size() - 2] : index_.root();
  pin.end = chain_key(last.parent, index_.tenant_key_behind(before, last.owner), tokens);
  const ChunkUses::Use use = {pin.end, last.position, /*ends=*/true};
  if (!text_pins_.hold(name_of(entry), last.parent, std::move(pin), entry.chunk.priority,
                       pages_pinned_max(), pin_pages_promised())) {
    // Its own chain is what such a chunk waits for.
    if (has_own_chain(entry.chunk.type)) text_pins_.give_up(name_of(entry), last.parent);
    return;
  }
  if (uses_.add(name_of(entry), use) && disk_.contains(use.page)) {
    wire::StoreUses stored;
    stored.uses.add({use.page.hex(), static_cast<int32_t>(use.position), entry.chunk.tenant,
                     entry.chunk.id, use.ends});
    send(Actor::kStore, std::move(stored));
  }
  write_text(entry, *text_pins_.find(name_of(entry), last.parent));
}

// The text ends in the page, which is on disk only, with all before it: its chain is read.
void SchedulerCore::expect_text(const ChunkEntry& entry, const ChunkUses::Use& use) {
  if (has_own_chain(entry.chunk.type)) return;
  const std::vector<DiskIndex::Step> path = disk_.path(use.page);
  if (std::ssize(path) != use.position / kPageTokens + 1) return;
  const Digest parent = path.size() > 1 ? path[1].key : ChainIndex::key_of(index_.root());
  if (text_pins_.find(name_of(entry), parent) != nullptr) return;
  text_pins_.expect(name_of(entry), parent,
                    {.chain = {}, .end = use.page, .promised = std::ssize(path)});
  read_chain({.name = {entry.chunk.tenant, entry.chunk.id},
              .key = use.page.hex(),
              .before_text_end = parent});
}

// The tokens up to the page in which the text ends; none if they could not be read.
void SchedulerCore::text_is_read(const ChainWanted& wanted, wire::StoredChain&& chain) {
  const TextPins::ChunkName chunk = {wanted.name.tenant, wanted.name.id};
  const Digest& parent = *wanted.before_text_end;
  const auto found = registry_.find_own(chunk.first, chunk.second);
  const TextPin* waiting = text_pins_.find(chunk, parent);
  if (!found.ok() || waiting == nullptr || !waiting->chain.empty()) return;  // unpinned, or held
  const bool is_own = chain.tenant.empty() || chain.tenant == chunk.first;
  if (chain.token_ids.empty() || !is_own) return text_pins_.give_up(chunk, parent);
  TextPin pin = text_pin(**found, std::move(chain.token_ids));
  pin.owner = tenant_id(chunk.first);
  pin.end = waiting->end;
  pin.promised = waiting->promised;
  queue_text(wanted.name, parent, pin);
  text_pins_.expect(chunk, parent, std::move(pin));
}

// Brings the chain into memory, from disk or by computing it, when nothing else is to do.
void SchedulerCore::queue_text(const StoredName& chunk, const Digest& parent, const TextPin& pin) {
  Reprefill text;
  text.tenant = chunk.tenant;
  text.chunk_id = chunk.id;
  text.chain = text.sampled_chain = pin.chain;
  text.prompt_tokens = pin.begin;
  text.before_text_end = parent;
  reprefills_.push_back(std::move(text));
}

// The chain is in memory from now on; or it is tried again: heal_text_pins().
void SchedulerCore::finish_text(ChunkEntry& entry, const Reprefill& text, bool complete) {
  if (!complete) return;
  const auto end = static_cast<int64_t>(text.chain.size());
  const TextUse use = {name_of(entry), {static_cast<int64_t>(text.prompt_tokens), end}};
  note_uses(text.tenant, text.chain, {&use, 1});
  const TextPin* pin = text_pins_.find(name_of(entry), *text.before_text_end);
  // Its pages have other names than on disk: they are a tenant's own now, and were public.
  if (pin != nullptr && pin->promised > 0)
    text_pins_.give_up(name_of(entry), *text.before_text_end);
  refresh(entry);
}

// Writes what the disk does not have of the chain.
void SchedulerCore::write_text(const ChunkEntry& entry, const TextPin& pin) {
  if (has_own_chain(entry.chunk.type) || !text_pins_.is_held(pin)) return;
  if (text_pins_.is_on_disk(pin)) return;
  write_behind(pin.owner, pin.chain, StoredName{entry.chunk.tenant, entry.chunk.id},
               /*of_text=*/true);
}

// Whether what the chunk's pin keeps in memory outlives the daemon.
bool SchedulerCore::is_pin_on_disk(const ChunkEntry& entry) const {
  if (has_own_chain(entry.chunk.type)) {
    return !entry.hold || !index_.is_held(*entry.hold) || is_on_disk(entry);
  }
  return std::ranges::all_of(text_pins_.of(name_of(entry)), [&](const auto& pin) {
    return !text_pins_.is_held(pin.second) || text_pins_.is_on_disk(pin.second);
  });
}

// What could not be brought into memory is tried again, and what is not on disk is written again.
void SchedulerCore::heal_text_pins() {
  std::vector<std::pair<StoredName, Digest>> lost;
  text_pins_.for_each(
      [&](const TextPins::ChunkName& chunk, const Digest& parent, const TextPin& pin) {
        const auto found = registry_.find_own(chunk.first, chunk.second);
        if (found.ok() && options_.keep_pages) write_text(**found, pin);
        if (text_pins_.is_held(pin) || pin.chain.empty()) return;
        const bool is_queued = std::ranges::any_of(reprefills_, [&](const Reprefill& queued) {
          return queued.before_text_end == parent && queued.chunk_id == chunk.second &&
                 queued.tenant == chunk.first;
        });
        if (!is_queued) lost.emplace_back(StoredName{chunk.first, chunk.second}, parent);
      });
  for (const auto& [chunk, parent] : lost) {
    TextPin again = *text_pins_.find({chunk.tenant, chunk.id}, parent);
    if (again.promised == 0) {
      // Without room it would be computed only to be evicted again.
      again.promised = chain_pages(again.chain.size());
      if (!check_pin_room("pinned", again.promised).ok()) continue;
    }
    queue_text(chunk, parent, again);
    text_pins_.expect({chunk.tenant, chunk.id}, parent, std::move(again));
  }
}

void SchedulerCore::unpin_texts(ChunkEntry& entry) {
  text_pins_.unpin(name_of(entry));
  if (has_own_chain(entry.chunk.type)) return;
  drop_reprefills(entry, Removal::kDead);
  std::erase_if(writebacks_, [&](const Writeback& writeback) {
    const bool dropped =
        writeback.chunk == StoredName{entry.chunk.tenant, entry.chunk.id} && writeback.of_text;
    if (dropped) writeback_tokens_ -= writeback.chain.size();
    return dropped;
  });
}

}  // namespace cascade
