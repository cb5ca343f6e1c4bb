// The settings that the scheduler gets when it starts; its limits may change while it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/attention_mode.h"
#include "base/chunk.h"
#include "base/random.h"
#include "cache/eviction.h"
#include "cache/page_arena.h"
#include "cache/planner.h"
#include "cache/reader_slices.h"
#include "model/stand_in.h"

namespace cascade {

// The disk that pages are kept on.
struct DiskLimits {
  int64_t page_bytes = 0;         // that a page takes there; 0: there is no limit
  int64_t bytes_max = INT64_MAX;  // of all pages
  // Returns how many bytes more pages may take. If it is unset, bytes_max is the only limit.
  std::function<int64_t()> free_bytes;
};

struct SchedulerOptions {
  std::string version;
  int threads = 1;
  uint64_t incarnation = 1;  // of the scheduler actor
  // Each tenant has a part of the places, bytes and tokens of the queue, and of chunk puts,
  // prefixes and searches (cache/tenant_parts.h).
  int requests_waiting_max = 64;  // further ones are refused with retry_after_ms
  int64_t text_bytes_waiting_max = int64_t{64} << 20;  // of all requests that have not started
  int64_t tokens_waiting_max = 131'072;  // of their prompts; one prompt alone may have more
  int requests_running_max = 16;
  int32_t max_tokens_default = 2048;
  int reprefills_max = 256;      // further outputs are kept as text only
  int chunk_puts_max = 64;       // being tokenized; also the limit for texts of clients
  int64_t stop_us = 10'000'000;  // how long stop() may take
  PlannerLimits planner;
  ReaderSliceLimits reader_slices;
  EvictionPolicy eviction = EvictionPolicy::kHybrid;
  ThinkPolicy think_policy = ThinkPolicy::kReprefill;  // of outputs whose request names none
  bool heal = false;                                   // of requests that do not say
  std::string summary_prompt = kSummaryPrompt;         // as in SummaryOptions, like the next one
  int64_t summary_divisor = 8;
  AttentionChoice attention;        // of requests that name none
  double max_pinned = 0.5;          // share of the pool's pages that pins may keep from eviction
  double chunk_memory_ratio = 0.9;  // share of the pool's pages that retained chunks may hold
  int prompt_leases_max = 1024;     // prompts that have a priority of their own
  int prefixes_max = 1024;          // that clients of all tenants keep
  bool keep_pages = false;          // the store keeps K and V
  bool keep_states = false;         // and states of recurrent layers
  // The slots of recurrent states, which belong to the scheduler alone; nullptr: the model needs no
  // states. Outlives the scheduler.
  const PageArena* states = nullptr;
  DiskLimits disk;
  int searches_max = 64;           // under way
  size_t events_max = 4096;        // kept of each tenant
  size_t page_uses_max = 262'144;  // notes that a page has text of a chunk
  // 64 bits a call, for ids and for the seeds of requests that name none.
  std::function<uint64_t()> random = system_random;
};

}  // namespace cascade
