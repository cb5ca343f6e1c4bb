// How much of the K and V of long prompts the disk can take.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "actors/scheduler/disk/page_spills.h"
#include "actors/scheduler/disk/stored_pages.h"
#include "actors/scheduler/request.h"
#include "actors/scheduler/scheduler_options.h"
#include "actors/scheduler/tenants.h"
#include "cache/chain_index.h"

namespace cascade {

// All numbers are about right: the store alone knows what its files take, and other programs may
// fill the disk. One thread.
class DiskRoom {
 public:
  // The references outlive this.
  DiskRoom(const DiskLimits& limits, const StoredPages& stored, const PageSpills& spills,
           const ChainIndex& index, Tenants& tenants);

  // What the pages on disk take.
  int64_t used_bytes() const;
  // What they may take at most, at the present free space.
  int64_t bytes() const;
  // The most tokens that a sequence in `mode` may have on disk, if none of its pages is there yet.
  // 0: no sequence may be longer than memory.
  int64_t tokens(const AttentionMode& mode) const;
  // The same for prompt and answer of a request, some of which may be there already. nullopt: the
  // request must fit memory.
  std::optional<int64_t> tokens_for(const Request& request) const;
  // The same if only the beginning of its prompt is known.
  std::optional<int64_t> tokens_for(const Request& request, std::span<const int32_t> known) const;

 private:
  int64_t free_bytes() const;
  int64_t tokens_with(int64_t stored_pages, int64_t own_pins) const;

  const DiskLimits& limits_;
  const StoredPages& stored_;
  const PageSpills& spills_;
  const ChainIndex& index_;
  Tenants& tenants_;
};

}  // namespace cascade
