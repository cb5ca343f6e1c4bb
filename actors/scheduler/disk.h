// The rooms between memory and disk.
#pragma once

#include "actors/scheduler/chunk_chains.h"
#include "actors/scheduler/erasures.h"
#include "actors/scheduler/page_loader.h"
#include "actors/scheduler/page_writer.h"
#include "actors/scheduler/stored_pages.h"

namespace cascade {

// One thread.
struct Disk {
  PageLoader loader;
  PageWriter writer;
  ChunkChains chains;
  StoredPages stored;
  Erasures erasures = {};
};

}  // namespace cascade
