// The chains that pins of texts keep: a pinned chunk keeps the pages of every prompt in which its
// text stands, from the first token to the text's end. Prompts that part after it are one chain.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/chunk.h"
#include "base/hash.h"
#include "cache/chain_index.h"
#include "cache/chunk_uses.h"
#include "cache/disk_index.h"

namespace cascade {

struct TextPin {
  TenantId owner = kPublic;    // of the chain's last page
  std::vector<int32_t> chain;  // a prompt up to the text's end; empty: it is not read yet
  size_t begin = 0;            // the text's first token in it
  int64_t promised = 0;        // pages that are set aside until there is a hold
  std::optional<ChainIndex::HoldId> hold{};  // none: its pages are not in memory, or have no room
};

// One thread. `index`, which has the pins, and `disk` must outlive this.
class TextPins {
 public:
  using ChunkName = ChunkUses::ChunkName;
  // By the chain's last page, as it is called on disk: it has no token after the text.
  using OfChunk = std::map<Digest, TextPin>;

  TextPins(ChainIndex& index, const DiskIndex& disk) : index_(index), disk_(disk) {}

  // What the first `tokens` tokens of a page in memory are called on disk.
  Digest end_of(ChainIndex::Node* node, size_t tokens) const;
  // What the chunk's pin keeps or waits for.
  const OfChunk& of(const ChunkName& chunk) const;
  // nullptr: there is none.
  const TextPin* find(const ChunkName& chunk, const Digest& end) const;
  bool is_held(const TextPin& pin) const { return pin.hold && index_.is_held(*pin.hold); }
  // Whether all pages of its chain, which is known, are on disk.
  bool is_on_disk(const Digest& end, const TextPin& pin) const;
  // What clients are told of a pinned chunk: kReady if a chain of it is held, kPending if one is
  // waited for.
  KvState state_of(const ChunkName& chunk) const;
  // Pages that a pin of the chunk would keep and no other pin does, as far as `uses` know where its
  // text stands.
  int64_t pages_wanted(const ChunkName& chunk, const ChunkUses& uses) const;

  // Pins the chain, in place of the same that was waited for. At most `pages_max` pages are
  // pinned in all; `promised` of them are others', which a chain that has pages of its own promised
  // does not look at. Without room nothing is pinned, and the chunk is one of without_room(); the
  // chain waits if it is the only one of the chunk. False then, or if its pages are not in memory.
  bool hold(const ChunkName& chunk, const Digest& end, TextPin&& pin, int32_t priority,
            int64_t pages_max, int64_t promised);
  // The chain is on its way into memory. It takes the place of one that waits.
  void expect(const ChunkName& chunk, const Digest& end, TextPin&& pin);
  // The chain is not waited for any more. Nothing if it is held, or not there.
  void give_up(const ChunkName& chunk, const Digest& end);
  // Drops the chunk's pins.
  void unpin(const ChunkName& chunk);
  // Drops the chains of all chunks that have a text which ends in one of the pages `ends`, and has
  // these tokens.
  void drop_behind(const std::set<Digest>& ends, std::span<const int32_t> text);

  // Calls visit(chunk, end, pin) for each.
  void for_each(
      const std::function<void(const ChunkName&, const Digest&, const TextPin&)>& visit) const;
  // The sum of what is promised to those without a hold.
  int64_t pages_promised() const;
  // Whether a chain ends with the page, as it is called on disk.
  bool ends_with(const Digest& page) const { return ends_.contains(page); }
  // Chunks whose pages with their text can be evicted, for want of room.
  size_t without_room() const { return without_room_.size(); }

 private:
  void put(const ChunkName& chunk, const Digest& end, TextPin&& pin);
  void release(const Digest& end, const TextPin& pin);

  std::vector<Digest> pages_of(const Digest& end, const TextPin& pin) const;

  ChainIndex& index_;
  const DiskIndex& disk_;
  std::map<ChunkName, OfChunk> pins_;
  std::map<Digest, int> ends_;  // of how many chains
  std::set<ChunkName> without_room_;
};

}  // namespace cascade
