// The text of an estimate, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/memory_estimate.h"

namespace cascade::eval {

struct EstimateFacts {
  std::string model;    // as the user named it
  MemoryDemand types;   // its numbers of tokens are not used
  std::string weights;  // their types
  std::string why;      // why the weights have these types; empty: the type was asked for
  int64_t context_tokens_max = 0;
  // The bytes that the daemon gives to K and V, by default or as asked for; the bytes of memory of
  // which the default is half; and the control group's file that sets this memory (empty: the
  // machine sets it).
  int64_t kv_bytes_max = 0;
  bool kv_memory_is_set = false;  // kv_bytes_max was asked for
  int64_t memory_bytes = 0;
  std::string memory_set_by;
  // The bytes that the daemon gives to states of recurrent layers by default.
  int64_t state_memory_bytes = 0;
};

// One length of a sequence.
struct EstimateRow {
  int64_t tokens = 0;
  MemoryEstimate needed;
  // The part of needed.kv_bytes that is in memory: all, or as much as the daemon gives to K and V.
  uint64_t kv_in_memory_bytes = 0;
  uint64_t kv_disk_bytes = 0;  // of all pages, as the daemon keeps them
  // The memory of weights, working space and K and V. If these do not fit memory, that includes
  // longer slices and the buffers that pages are read into.
  uint64_t memory_bytes = 0;
};

// "2,112"
std::string with_commas(int64_t number);
// "512 B", "1.5 KiB", "30.7 MiB"
std::string in_units(uint64_t bytes);

// Several lines, each with its newline. Precondition: there is at least one row.
std::string estimate_text(const EstimateFacts& facts, const std::vector<EstimateRow>& rows);

}  // namespace cascade::eval
