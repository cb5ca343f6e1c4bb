// The state of the daemon, and what chunks and pages take.
#include <algorithm>
#include <map>

#include "actors/scheduler/scheduler_core.h"
#include "base/tenant.h"

namespace cascade {
namespace {

// What was used within so long is the working set.
constexpr int64_t kWorkingSetUs = int64_t{10} * 60 * 1'000'000;

std::string mebibytes(int64_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

std::string thrash_warning(const wire::CacheStats& cache) {
  const auto percent = static_cast<int>(100 * cache.refault_share + 0.5);
  return "the cache thrashes: " + std::to_string(percent) +
         " % of the latest pages were evicted shortly before they were needed; the working set "
         "of 10 minutes is " +
         mebibytes(cache.working_set_bytes) + ", --kv-memory is " +
         mebibytes(cache.page_bytes * cache.pages_max);
}

}  // namespace

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       const wire::StatusRequest&) {
  wire::StatusReply status;
  status.version = options_.version;
  status.boot_id = outbox_.boot_id();
  status.state = stopping_since_us_ ? "stopping" : "serving";
  status.uptime_us = clock_.monotonic_us() - start_us_;
  status.model = model_.name;
  status.model_type = model_.config.model_type;
  status.weight_type = to_string(model_.options.weight_type);
  status.kv_type = to_string(model_.options.kv_type);
  status.isa = to_string(model_.options.isa);
  status.threads = options_.threads;
  status.context_tokens_max = model_.config.context_tokens_max;
  status.weight_bytes = static_cast<int64_t>(model_.weights.bytes());
  const auto page_bytes = static_cast<int64_t>(arena_.page_bytes());
  status.kv_bytes_max = page_bytes * static_cast<int64_t>(pool_.page_count());
  status.kv_pages_used = static_cast<int64_t>(pool_.used_count());
  status.kv_bytes_used = page_bytes * status.kv_pages_used;
  status.kv_bytes_per_token = page_bytes / kPageTokens;
  status.requests_running = static_cast<int32_t>(requests_.running());
  status.requests_waiting =
      static_cast<int32_t>(requests_.waiting().size() + encoding_requests_.size());
  status.requests_waiting_max = options_.requests_waiting_max;
  status.tokens_waiting = admission_.tokens_waiting();
  status.tokens_waiting_max = options_.tokens_waiting_max;
  status.requests_preempted = counters_.preempted;
  status.requests_done = counters_.done;
  status.requests_failed = counters_.failed;
  status.requests_cancelled = counters_.cancelled;
  status.tokens_reused = counters_.tokens_reused;
  status.tokens_prefilled = counters_.tokens_prefilled;
  status.tokens_reprefilled = idle_.tokens_computed();
  status.tokens_generated = counters_.tokens_generated;
  status.pages_evicted = static_cast<int64_t>(index_.removed_count(Removal::kEvicted));
  status.chunks_input = static_cast<int32_t>(registry_.count(false));
  status.chunks_output = static_cast<int32_t>(registry_.count(true));
  status.reprefills_pending =
      static_cast<int32_t>(idle_.queue().size() + idle_.tokenizing().size());
  const auto per_second = [](double us) { return us > 0 ? 1e6 / us : 0; };
  status.prefill_tokens_per_s = per_second(compute_.speed.prefill_token_us());
  status.decode_tokens_per_s = per_second(compute_.speed.decode_token_us());
  status.actors_restarted = outbox_.actors_restarted();
  status.warnings = warnings();
  if (client.tenant != kLocalTenant) keep_own(client.tenant, status);
  outbox_.reply(client, id, std::move(status));
}

// What others do together is nobody's business but the administrator's.
void SchedulerCore::keep_own(const std::string& tenant, wire::StatusReply& status) {
  status.kv_pages_used = static_cast<int64_t>(index_.node_count(tenants_.id(tenant)));
  status.kv_bytes_used = status.kv_pages_used * static_cast<int64_t>(arena_.page_bytes());
  status.requests_running = status.requests_waiting = 0;
  for (const auto& [handle, request] : requests_.all()) {
    if (request->client.tenant != tenant) continue;
    ++(request->running() ? status.requests_running : status.requests_waiting);
  }
  status.chunks_input = status.chunks_output = 0;
  registry_.for_each(tenant, [&](const ChunkEntry& entry) {
    ++(entry.chunk.type == ChunkType::kOutput ? status.chunks_output : status.chunks_input);
  });
  status.tokens_waiting = status.requests_preempted = 0;
  status.requests_done = status.requests_failed = status.requests_cancelled = 0;
  status.tokens_reused = status.tokens_prefilled = status.tokens_reprefilled = 0;
  status.tokens_generated = status.pages_evicted = 0;
  status.reprefills_pending = 0;
  status.actors_restarted.clear();
  status.warnings.clear();
}

SchedulerLoad SchedulerCore::load() const {
  SchedulerLoad load;
  load.running = static_cast<int64_t>(requests_.running());
  load.waiting = static_cast<int64_t>(requests_.waiting().size() + encoding_requests_.size());
  load.prefill_owes = jobs_.owes(Actor::kPrefill);
  load.decode_owes = jobs_.owes(Actor::kDecode);
  load.store_owes = !gate_.is_open() || jobs_.owes(Actor::kStore);
  return load;
}

void SchedulerCore::set_limits(const SchedulerOptions& limits) {
  options_.requests_waiting_max = limits.requests_waiting_max;
  options_.tokens_waiting_max = limits.tokens_waiting_max;
  admission_.set_limits(limits.requests_waiting_max, limits.tokens_waiting_max);
  options_.requests_running_max = limits.requests_running_max;
  options_.max_tokens_default = limits.max_tokens_default;
  options_.think_policy = limits.think_policy;
  keep_.pin_budget.set_max_pinned(limits.max_pinned);
  keep_.holds.set_memory_ratio(limits.chunk_memory_ratio);
  options_.stop_us = limits.stop_us;
  keep_.holds.trim();
  plan();
}

std::vector<std::string> SchedulerCore::warnings() const {
  std::vector<std::string> warnings;
  if (metadata_.error()) {
    warnings.push_back(
        "the store cannot write, so " + std::to_string(metadata_.unsaved()) +
        " chunks would not outlive the daemon as they are: " + metadata_.error()->to_string());
  }
  if (disk_.writer.error()) {
    warnings.push_back("K and V are not written to disk: " + disk_.writer.error()->to_string());
  }
  const size_t pins_lost = keep_.pins.without_room() + keep_.text_pins.without_room();
  if (pins_lost > 0) {
    warnings.push_back("pages of " + std::to_string(pins_lost) +
                       " pinned chunks can be evicted: --max-pinned has no room for them");
  }
  if (index_.monitor().thrash().alarm()) {
    warnings.push_back(thrash_warning(cache_stats()));
  }
  return warnings;
}

wire::CacheStats SchedulerCore::cache_stats() const {
  const ReuseMonitor& monitor = index_.monitor();
  const auto removed = [&](Removal why) { return static_cast<int64_t>(index_.removed_count(why)); };
  wire::CacheStats cache;
  cache.policy = to_string(index_.policy());
  cache.page_bytes = static_cast<int64_t>(arena_.page_bytes());
  cache.pages_max = static_cast<int64_t>(pool_.page_count());
  cache.pages_used = static_cast<int64_t>(pool_.used_count());
  cache.pages_pinned = static_cast<int64_t>(index_.pinned_count());
  cache.pages_pin_promised = keep_.pin_budget.pages_promised();
  cache.pages_pinned_max = keep_.pin_budget.pages_max();
  cache.pages_held = static_cast<int64_t>(index_.held_count());
  cache.pages_held_max = keep_.holds.pages_max();
  cache.page_hits = monitor.hits();
  cache.page_misses = monitor.misses();
  cache.evicted = removed(Removal::kEvicted);
  cache.removed_dead = removed(Removal::kDead);
  cache.removed_deleted = removed(Removal::kDeleted);
  cache.removed_expired = removed(Removal::kExpired);
  cache.evicted_early = monitor.premature_evictions();
  const int64_t since_us = clock_.wall_us() - kWorkingSetUs;
  cache.working_set_bytes = cache.page_bytes * static_cast<int64_t>(index_.working_set(since_us));
  cache.thrashing = monitor.thrash().alarm();
  cache.thrash_alarms = monitor.thrash().alarms();
  cache.refault_share = monitor.thrash().refault_share();
  cache.recompute_bonus_s = monitor.bonus_s(index_.policy());
  cache.saved_tokens = counters_.tokens_reused;
  cache.saved_us = static_cast<int64_t>(compute_.speed.prefill_time().us_of(
      static_cast<double>(counters_.tokens_reused), counters_.reused_positions));
  cache.saved_bytes = counters_.tokens_shared / kPageTokens * cache.page_bytes;
  return cache;
}

// Of all tenants for the administrator, of the asking one for others.
std::vector<wire::ChunkGroup> SchedulerCore::chunk_groups(const std::string& tenant,
                                                          PagesOfChunk& all) {
  struct Group {
    wire::ChunkGroup sums;
    PagesOfChunk pages;  // of all its chunks, each once
  };
  std::map<std::pair<std::string, ChunkType>, Group> groups;
  std::optional<std::string_view> whose;
  if (tenant != kLocalTenant) whose = tenant;
  registry_.for_each(whose, [&](ChunkEntry& entry) {
    keep_.holds.refresh(entry);
    const Chunk& chunk = entry.chunk;
    auto& [sums, pages] = groups[{chunk.tenant, chunk.type}];
    ++sums.chunks;
    sums.pinned += chunk.pinned ? 1 : 0;
    sums.hits += chunk.hits;
    sums.registrations += chunk.registrations;
    sums.text_bytes += static_cast<int64_t>(entry.bytes);
    pages.add(keep_.holds.pages_of(entry));
  });
  const auto page_bytes = static_cast<int64_t>(arena_.page_bytes());
  std::vector<wire::ChunkGroup> listed;
  for (auto& [key, group] : groups) {
    group.sums.tenant = key.first;
    group.sums.type = key.second;
    group.sums.kv_bytes = page_bytes * std::ssize(group.pages.in_memory);
    group.sums.kv_disk_bytes = page_bytes * std::ssize(group.pages.on_disk);
    all.add(std::move(group.pages));
    listed.push_back(std::move(group.sums));
  }
  return listed;
}

wire::DiskStats SchedulerCore::disk_stats() const {
  return {.pages = static_cast<int64_t>(disk_.stored.disk().size()),
          .page_bytes = static_cast<int64_t>(arena_.page_bytes()),
          .pages_written = disk_.stored.counters().pages_written,
          .pages_loaded = disk_.stored.counters().pages_loaded,
          .pages_bad = disk_.stored.counters().pages_bad,
          .pages_removed = disk_.stored.counters().pages_removed,
          .load_bytes_per_s = static_cast<int64_t>(disk_.loader.bytes_per_us() * 1e6)};
}

void SchedulerCore::on(const Client& client, const wire::RequestId& id, const wire::StatsRequest&) {
  wire::StatsReply stats;
  PagesOfChunk pages;
  stats.groups = chunk_groups(client.tenant, pages);
  stats.chunks_max = static_cast<int64_t>(ChunkRegistry::kChunksMax);
  stats.text_bytes_max = static_cast<int64_t>(registry_.bytes_max());
  stats.pages_of_tenant = static_cast<int64_t>(index_.node_count(tenants_.id(client.tenant)));
  if (client.tenant == kLocalTenant) {
    stats.cache = cache_stats();
    stats.cache->chunk_bytes = stats.cache->page_bytes * std::ssize(pages.in_memory);
    stats.cache->chunk_disk_bytes = stats.cache->page_bytes * std::ssize(pages.on_disk);
    if (options_.keep_pages) stats.disk = disk_stats();
  }
  outbox_.reply(client, id, std::move(stats));
}

}  // namespace cascade
