// Chunks that are being removed: what is still to be done until nothing of them is on the disk, and
// who is told then. Plain bookkeeping.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "actors/scheduler/request.h"
#include "actors/scheduler/store_work.h"
#include "base/result.h"
#include "cache/chain_index.h"
#include "wire/messages.h"

namespace cascade {

// A chain that had K and V of the chunk.
struct ErasedChain {
  std::vector<int32_t> tokens;
  size_t begin = 0;  // tokens before the chunk's own
};

struct Erasure {
  Removal why = Removal::kDeleted;
  std::vector<ErasedChain> chains;
  // The number of pieces of work that the removal waits for. They were under way when it began, or
  // were begun for it: writes, removals and reads of the store, texts that are tokenized, idle
  // work. When a piece ends, the chains are looked for again.
  int64_t pieces = 0;
  bool row_removed = false;    // the store was told to delete the chunk's row
  std::optional<Error> error;  // of a removal that failed, and is tried again
};

// The answer to a client that waits for removals.
struct ErasureReply {
  std::set<StoredName> chunks;    // that are not gone yet
  std::vector<StoredName> names;  // whose changes must be durable, too
  Client client;
  wire::RequestId id;
  wire::Message message;
};

// The removal of a chunk has ended: which clients are answered, and what is removed next.
struct ErasureEnd {
  std::vector<ErasureReply> replies;  // that wait for no other chunk any more
  std::vector<StoredName> sessions;   // whose rows are to be removed now
};

// One thread.
class Erasures {
 public:
  // Notes that the removal of a chunk begins. It begins a second time if a restarted store has
  // given out the chunk once more.
  Erasure& begin(const StoredName& chunk, Removal why);
  // nullptr if the chunk is not being removed.
  Erasure* find(const StoredName& chunk);
  // The chunk is gone.
  ErasureEnd end(const StoredName& chunk);
  // The chunk's removal failed for now. Returns the replies that waited for it.
  std::vector<ErasureReply> fail(const StoredName& chunk, const Error& error);

  // True if some of `reply.chunks` are being removed: the reply is kept. end() returns it once all
  // of them are gone, or fail() once a removal fails.
  bool wait(ErasureReply& reply);
  // True if some of `outputs` are being removed: end() returns the session when they are gone, even
  // if a removal failed before. A crash before that brings the session back, so that it can be
  // deleted again.
  bool remove_after(const StoredName& session, std::set<StoredName> outputs);

  bool empty() const { return erasures_.empty(); }
  std::vector<StoredName> names() const;

 private:
  std::map<StoredName, Erasure> erasures_;
  std::vector<ErasureReply> waiting_;
  std::vector<std::pair<StoredName, std::set<StoredName>>> sessions_;  // with outputs not yet gone
};

}  // namespace cascade
