// Plain data of the work that the scheduler has begun, for clients or by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "actors/scheduler/chunk_settings.h"
#include "actors/scheduler/request.h"
#include "actors/scheduler/store_work.h"
#include "cache/chain_index.h"
#include "cache/holders.h"
#include "cache/prefill_time.h"
#include "wire/messages.h"

namespace cascade {

struct InFlight {
  std::vector<uint64_t> requests;  // handles
  bool idle = false;               // works on the first re-prefill
  std::vector<int32_t> tokens;     // a prefill's slice
  int64_t position = 0;            // of its first token
  // A lost page of the request that is computed again: its place in the chain, and its memory.
  struct Repair {
    size_t page;
    PageIndex memory;
  };
  std::optional<Repair> repair = {};
  bool moved = false;  // K and V are moved, not computed
};
// A prompt that is being tokenized.
struct EncodingRequest {
  uint64_t handle;
};
struct ChunkPutJob {
  std::optional<Client> client;  // none: a request brought the text along
  wire::RequestId id;
  Chunk chunk;
  ChunkSettings settings = {};
  std::vector<int32_t> given_ids = {};  // that the text was decoded from
};
// A prompt whose pages have a priority for a while.
struct Lease {
  std::string tenant;
  std::vector<int32_t> prompt;
  std::vector<TextUse> texts;  // in the prompt: the lease ends when one of them is deleted
  ChainIndex::HoldId hold;
  int32_t priority;
  int64_t since_us;  // Unix time
};
// A chunk as it was before a request. If the request's pin is refused, the chunk becomes this
// again.
struct ChunkBefore {
  std::vector<Holder> holders;  // empty: it did not exist
  int64_t registrations = 0;
  bool published = false;
};
// A client's change of a chunk; one that pins it is answered when its pages are on disk.
struct PinReply {
  StoredName chunk;
  Client client;
  wire::RequestId id;
  EndedHolders ended;  // by the request
  ChunkBefore before;
  std::vector<Holder> after = {};  // the chunk's holders after the request
};
struct Counters {
  int64_t done = 0, failed = 0, cancelled = 0;
  int64_t preempted = 0;
  int64_t tokens_reused = 0, tokens_prefilled = 0, tokens_generated = 0;
  int64_t tokens_selected = 0;  // as in wire::StatusReply, like the next two
  int64_t tokens_drafted = 0, tokens_accepted = 0;
  int64_t tokens_approximate = 0;
  double reused_work = 0;     // of all tokens_reused (attention_work())
  int64_t tokens_shared = 0;  // of tokens_reused, those in pages that others share

  // Counts the tokens [begin, end) of a prompt as reused: they are not computed. `in_shared_pages`
  // of them are in pages that existed already. `work` is that of their attention.
  void count_reused(int64_t begin, int64_t end, int64_t in_shared_pages, double work) {
    tokens_reused += end - begin;
    reused_work += work;
    tokens_shared += in_shared_pages;
  }
};

// The pages that hold own tokens of one or several chunks.
struct PagesOfChunk {
  std::unordered_set<const ChainIndex::Node*> in_memory;
  std::unordered_set<Digest> on_disk;

  void add(PagesOfChunk&& others) {
    in_memory.merge(others.in_memory);
    on_disk.merge(others.on_disk);
  }
};

}  // namespace cascade
