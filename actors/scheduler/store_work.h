// The work that the scheduler has given to the store and that is not answered yet: plain data.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "actors/scheduler/request.h"
#include "base/hash.h"
#include "cache/chain_index.h"
#include "wire/messages.h"

namespace cascade {

// ---- Metadata -----------------------------------------------------------------------------------

enum class StoredKind { kChunk, kSession, kPolicy };

struct StoredName {
  std::string tenant;
  std::string id;  // a policy's key
  StoredKind kind = StoredKind::kChunk;
  auto operator<=>(const StoredName&) const = default;
};

// ---- Pages --------------------------------------------------------------------------------------

// How long no pages, or no states, are written after the disk refused some.
inline constexpr int64_t kWriteRetryUs = 2'000'000;

struct Writeback {
  TenantId owner;
  std::vector<int32_t> chain;
  // The chunk that the chain belongs to. An empty id stands for a prefix that a client asked to
  // keep, nullopt for a prompt.
  std::optional<StoredName> chunk;
  bool of_text = false;  // the beginning of a prompt, for a pin of the chunk's text in it
  bool grows = false;    // of a running request that waits for its pages

  bool is_of_prompt() const { return !chunk || chunk->id.empty() || of_text; }
};

// Tells the store for which chunk the chain's pages are kept. This lets fsck find pages that belong
// to no chunk any more.
inline wire::StoreUses ownership(const StoredName& chunk, const Digest& end) {
  wire::StoreUses stored;
  stored.owners.push_back({end.hex(), chunk.tenant, chunk.id});
  return stored;
}

struct NamedPage {
  Digest key, parent;
  TenantId owner;
  int64_t position;
  std::span<const int32_t> tokens;
  ChainIndex::Node* node;
};

// The pages of the one message that the store is writing.
struct Writing {
  struct Page {
    Digest key, parent;
    int32_t tokens;
  };
  // The owner's pages after the first `keep` tokens of the chain. They are forgotten once they are
  // written.
  struct End {
    TenantId owner;
    int64_t keep;
    Removal why;
    std::vector<int32_t> chain = {};  // only for pages of kPublic: the chain to forget
  };
  TenantId owner;        // of these pages: kPublic for public ones, with which the chain may begin
  TenantId chain_owner;  // as in Writeback
  std::vector<int32_t> chain;
  ChainIndex::Node* last;  // acquired: the run stays in memory
  ChainIndex::Use use;     // of `last`
  std::vector<Page> pages;
  std::vector<End> ends;                // noted while the pages are being written
  std::vector<StoredName> erased = {};  // chunks whose removal waits for this message
};

// A chunk whose tokens the store has been asked for.
struct ChainWanted {
  StoredName name;
  std::string key;                      // of the chain's last page
  std::optional<Removal> removed = {};  // set: its pages are to leave memory, too
  int64_t begin = 0;                    // tokens before the chunk's own
  std::optional<Digest> text_end = {};  // of a TextPin: its key in TextPins::of()
};

}  // namespace cascade
