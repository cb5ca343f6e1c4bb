// Conversations and other things that clients keep under a name: plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"

namespace cascade {

// One turn of a session.
struct SessionTurn {
  int64_t number = 0;     // from 0
  std::string output_id;  // the chunk of its answer; that chunk may be deleted since
  Digest end_key;         // the chain key of the last page of the conversation after this turn
  bool operator==(const SessionTurn&) const = default;
};

// Keyed by (tenant, id).
struct Session {
  std::string id;
  std::string tenant;
  int64_t created_us = 0;          // Unix time
  int64_t last_used_us = 0;        // Unix time
  std::vector<SessionTurn> turns;  // by number
  bool operator==(const Session&) const = default;
};

// A setting that was made at run time. Keyed by (tenant, key); an empty tenant is all of them.
struct Policy {
  std::string tenant;
  std::string key;
  std::string value;
  bool operator==(const Policy&) const = default;
};

// A model and everything about it that K and V depend on.
struct ModelRecord {
  Digest digest;  // the root key of its chains
  std::string name;
  std::string weight_type;
  std::string kv_type;
  int64_t layout_version = 0;
  int64_t numerics_version = 0;
  bool operator==(const ModelRecord&) const = default;
};

}  // namespace cascade
