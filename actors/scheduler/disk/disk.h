// The rooms between memory and disk.
#pragma once

#include "actors/scheduler/disk/chain_restores.h"
#include "actors/scheduler/disk/chunk_chains.h"
#include "actors/scheduler/disk/disk_room.h"
#include "actors/scheduler/disk/erasures.h"
#include "actors/scheduler/disk/page_loader.h"
#include "actors/scheduler/disk/page_spills.h"
#include "actors/scheduler/disk/page_writer.h"
#include "actors/scheduler/disk/stored_pages.h"
#include "actors/scheduler/disk/stored_states.h"

namespace cascade {

// One thread. Members lose their jobs in this order when the store is restarted.
struct Disk {
  PageLoader loader;
  PageWriter writer;
  ChunkChains chains;
  StoredPages stored;
  Erasures erasures;
  PageSpills spills;
  DiskRoom room;
  StoredStates states;
  ChainRestores restores;
};

}  // namespace cascade
