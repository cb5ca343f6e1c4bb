// What must be there after a crash: chunks as they were acknowledged, and the one operation whose
// answer did not come, which has happened wholly or not at all.
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
  wire::ChunkUpdate settings;  // that it asks for, of the chunk `id`, of a new one or of an output
  int64_t begin_us = 0;
  int64_t end_us = 0;  // when nobody waited for an answer any more
  std::string id;      // the chunk that it changes or deletes
  bool deletes = false;
  bool puts = false;                                     // texts[0], with the settings
  std::vector<std::pair<ChunkType, std::string>> texts;  // that it may register
  std::optional<std::string> query;                      // it may retain an answer to this,
  std::vector<wire::ChunkRef> parents;                   // which is made of these
  std::optional<wire::Final> promised;  // it did, and nothing but this answer is known
  bool may_expire = false;              // that output was there, with a time
};

// The chunks of one worker. One thread at a time.
class Ledger {
 public:
  struct Entry {
    Chunk chunk;  // as acknowledged: hits and registrations are no fewer,
    int64_t hits_max = 0;
    int64_t registrations_max = 0;  // and no more than this
    bool may_be_brought = false;    // a request may have brought the text along since
  };

  // An operation is asked for; then exactly one of the next three says what became of it.
  void begin(Pending pending);
  // `seen` is the chunk as it was changed, registered or retained. Returns what is wrong with it.
  std::string acknowledge(const Chunk& seen);
  void acknowledge_removal();
  void refuse(const Error& error);
  // A reading of one's own ends; nothing was to be changed.
  void forget() { pending_.reset(); }
  void leave_open();
  // As leave_open(), but that an output was retained was acknowledged.
  void promise(wire::Final answer);

  // While the daemon runs: what is wrong with a chunk as it is shown.
  std::string check_shown(const Chunk& seen) const;
  // Something that the operation before has registered on its way, too.
  std::string learn(const Chunk& seen);

  // The chunk is used: by a request that may not be durable, or by one that was acknowledged.
  void may_be_used(const std::string& id) { change_max(id, 1); }
  void was_used(const std::string& id);

  const std::map<std::string, Entry>& entries() const { return entries_; }
  const Entry* find(const std::string& id) const;
  const Entry* find(ChunkType type, const std::string& text) const;
  // Whether nothing of this text is about to end.
  bool is_usable(ChunkType type, const std::string& text) const;
  // Whether it is there for a while yet.
  static bool lasts(const Chunk& chunk);

  // After a restart: the chunk `id` is not there, or is as `seen`. Returns what is wrong.
  // `asked_us`: before the daemon was asked.
  std::string check_missing(const std::string& id);
  std::string check_there(const Chunk& seen, int64_t asked_us);
  // A chunk of no ledger: takes it if the open operation can have made it, and made it wholly.
  // Returns what is wrong.
  std::string adopt(const Chunk& seen);
  // All of the above was done. Returns what is wrong with what was promised.
  std::string close();

  // The latest operations and what became of them, a line each: for the report of a fault.
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
