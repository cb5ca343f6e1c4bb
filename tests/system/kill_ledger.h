// The state that must exist after a crash: chunks as they were acknowledged, and the one operation
// whose answer did not come, which has happened wholly or not at all.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wire/messages.h"

namespace cascade::testing {

int64_t now_us();  // Unix time

// An operation between its request and its answer.
struct Pending {
  wire::ChunkUpdate settings;  // requested for chunk `id`, a new chunk, or an output
  int64_t begin_us = 0;
  int64_t end_us = 0;  // when the wait for an answer ended
  std::string id;      // the chunk that the operation changes or deletes
  bool deletes = false;
  bool puts = false;                                     // registers texts[0] with the settings
  std::vector<std::pair<ChunkType, std::string>> texts;  // texts that the operation may register
  std::optional<std::string> query;                      // it may retain an answer to this query
  std::vector<wire::ChunkRef> parents;                   // the parents of that answer
  std::optional<wire::Final> promised;  // the only thing known of an output that was retained
  bool may_expire = false;              // the output existed before and had an expiry time
};

// The chunks of one worker. Used by one thread at a time.
class Ledger {
 public:
  struct Entry {
    Chunk chunk;  // as acknowledged; its hits and registrations may be higher,
    int64_t hits_max = 0;
    int64_t registrations_max = 0;  // but not above hits_max and registrations_max
    bool may_be_brought = false;    // a request may have brought the text along since
  };

  // Begins an operation that is about to be requested. Exactly one of the functions down to
  // promise() must then say how it ended.
  void begin(Pending pending);
  // `seen` is the chunk after it was changed, registered or retained. Returns what is wrong.
  std::string acknowledge(const Chunk& seen);
  void acknowledge_removal();
  void refuse(const Error& error);
  // The pending operation was a read: drop it.
  void forget() { pending_.reset(); }
  void leave_open();
  // Like leave_open(), but the daemon has acknowledged that an output was retained.
  void promise(wire::Final answer);

  // While the daemon runs: returns what is wrong with a chunk as it is shown.
  std::string check_shown(const Chunk& seen) const;
  // Takes in a chunk that the same operation has registered on its way.
  std::string learn(const Chunk& seen);

  // The chunk may be used by a request that may not be durable (may_be_used), or was used by an
  // acknowledged request (was_used).
  void may_be_used(const std::string& id) { change_max(id, 1); }
  void was_used(const std::string& id);

  const std::map<std::string, Entry>& entries() const { return entries_; }
  const Entry* find(const std::string& id) const;
  const Entry* find(ChunkType type, const std::string& text) const;
  // Whether no chunk of the ledger with this text is about to end.
  bool is_usable(ChunkType type, const std::string& text) const;
  // Whether the chunk will exist for a while yet.
  static bool lasts(const Chunk& chunk);

  // These two functions are called after a restart: check_missing() if the chunk `id` is missing,
  // check_there() if it exists as `seen`. They return what is wrong. `asked_us`: a time before the
  // daemon was asked.
  std::string check_missing(const std::string& id);
  std::string check_there(const Chunk& seen, int64_t asked_us);
  // Handles a chunk that no ledger has: takes it if the open operation can have made this chunk and
  // has made it wholly. Returns what is wrong.
  std::string adopt(const Chunk& seen);
  // Called after all of the above. Returns what is wrong with the promised output.
  std::string close();

  // The latest operations and how they ended, one per line, for the report of a fault.
  std::string history() const;

 private:
  void change_max(const std::string& id, int64_t hits);
  bool may_have_parents(const Chunk& before, const Pending& change, const Chunk& seen) const;
  bool may_change(const Entry& entry) const;
  bool may_make(const Chunk& seen) const;
  std::string compare(const Entry& entry, const Pending* change, const Chunk& seen) const;
  std::string compare_with(const Entry& entry, const Pending* change, const Chunk& seen,
                           Chunk want) const;
  void keep(const Chunk& seen);
  void note(const std::string& what);

  std::map<std::string, Entry> entries_;  // by id
  std::optional<Pending> pending_;
  std::deque<std::string> history_;
};

}  // namespace cascade::testing
