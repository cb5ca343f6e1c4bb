// The chains that pins of texts keep. A pinned chunk keeps the pages of every prompt that has its
// text, from the first token to the text's end. Prompts that differ only after the text share one
// chain.
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
  size_t begin = 0;            // the place of the text's first token in `chain`
  int64_t promised = 0;        // pages that are set aside until there is a hold
  std::optional<ChainIndex::HoldId> hold{};  // none: its pages are not in memory, or have no room
};

// One thread. `index`, which has the pins, and `disk` must outlive this.
class TextPins {
 public:
  using ChunkName = ChunkUses::ChunkName;
  // The chains of a chunk. The key is the name on disk of the chain's last page, which has no token
  // after the text.
  using OfChunk = std::map<Digest, TextPin>;

  TextPins(ChainIndex& index, const DiskIndex& disk) : index_(index), disk_(disk) {}

  // Returns the name on disk of the first `tokens` tokens of a page in memory.
  Digest end_of(ChainIndex::Node* node, size_t tokens) const;
  // Returns the chains that the chunk's pin keeps or waits for.
  const OfChunk& of(const ChunkName& chunk) const;
  // nullptr: there is none.
  const TextPin* find(const ChunkName& chunk, const Digest& end) const;
  bool is_held(const TextPin& pin) const { return pin.hold && index_.is_held(*pin.hold); }
  // Whether all pages of the pin's chain are on disk. Precondition: the chain is known.
  bool is_on_disk(const Digest& end, const TextPin& pin) const;
  // Returns what clients are told of a pinned chunk: kReady if one of its chains is held, kPending
  // if it only waits for chains, kNone if it has none.
  KvState state_of(const ChunkName& chunk) const;
  // Returns how many pages would be kept only by a pin of this chunk, and by no other pin, as far
  // as `uses` knows the places of its text.
  int64_t pages_wanted(const ChunkName& chunk, const ChunkUses& uses) const;

  // Pins the chain, which takes the place of the same chain if that was waited for. At most
  // `pages_max` pages may be pinned in all; the `promised` pages count as pinned, unless this chain
  // had pages promised to it. Without room nothing is pinned, and without_room() counts the chunk;
  // the chain then waits, if it waited before or is the only one of the chunk. False without room,
  // or if the chain's pages are not in memory.
  bool hold(const ChunkName& chunk, const Digest& end, TextPin&& pin, int32_t priority,
            int64_t pages_max, int64_t promised);
  // The chain is on its way into memory. It takes the place of the same chain if that waits.
  void expect(const ChunkName& chunk, const Digest& end, TextPin&& pin);
  // The chain is not waited for any more. Does nothing if it is held or does not exist.
  void give_up(const ChunkName& chunk, const Digest& end);
  // Drops the chunk's pins.
  void unpin(const ChunkName& chunk);
  // Drops every chain, whichever chunk it belongs to, that contains the tokens `text` with their
  // end in one of the pages `ends`.
  void drop_behind(const std::set<Digest>& ends, std::span<const int32_t> text);

  // Calls visit(chunk, end, pin) for each pin.
  void for_each(
      const std::function<void(const ChunkName&, const Digest&, const TextPin&)>& visit) const;
  // The number of pages that are promised to chains without a hold.
  int64_t pages_promised() const;
  // Whether a chain ends with the page that has this name on disk.
  bool ends_with(const Digest& page) const { return ends_.contains(page); }
  // The number of pinned chunks for which there was no room: pages with their text can be evicted.
  size_t without_room() const { return without_room_.size(); }

 private:
  void put(const ChunkName& chunk, const Digest& end, TextPin&& pin);
  void release(const Digest& end, const TextPin& pin);

  std::vector<Digest> pages_of(const Digest& end, const TextPin& pin) const;

  ChainIndex& index_;
  const DiskIndex& disk_;
  std::map<ChunkName, OfChunk> pins_;
  std::map<Digest, int> ends_;  // how many chains end with the page
  std::set<ChunkName> without_room_;
};

}  // namespace cascade
