// Numbers that only the administrator is told are 0 for other tenants.
#include "actors/scheduler/doors/status_door.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "base/tenant.h"
#include "cache/attention_pages.h"

namespace cascade {
namespace {

// The working set is what was used within this time.
constexpr int64_t kWorkingSetUs = int64_t{10} * 60 * 1'000'000;

std::string mebibytes(int64_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

std::string thrash_warning(const wire::CacheStats& cache) {
  const auto percent = static_cast<int>(100 * cache.refault_share + 0.5);
  return "the cache thrashes: " + std::to_string(percent) +
         " % of the pages used lately had been evicted shortly before; the working set of 10 "
         "minutes is " +
         mebibytes(cache.working_set_bytes) + ", --kv-memory is " +
         mebibytes(cache.page_bytes * cache.pages_max);
}

// The model's name stands for its tokenizer and its templates.
std::string fingerprint_of(const Model& model, const std::string& version) {
  Hasher hasher;
  hasher.field("version", version).field("model", model.name);
  hasher.field("answers", model.answer_key());
  return "fp_" + hasher.finish().hex().substr(0, 16);
}

}  // namespace

StatusDoor::StatusDoor(const Sources& from)
    : from_(from),
      start_us_(from.clock.monotonic_us()),
      fingerprint_(fingerprint_of(from.model, from.options.version)) {}

void StatusDoor::on(const Client& client, const wire::RequestId& id, const wire::StatusRequest&) {
  wire::StatusReply answer = status();
  if (client.tenant != kLocalTenant) keep_own(client.tenant, answer);
  from_.outbox.reply(client, id, std::move(answer));
}

wire::StatusReply StatusDoor::status() const {
  wire::StatusReply status;
  status.version = from_.options.version;
  status.boot_id = from_.outbox.boot_id();
  status.state = from_.stopping_since_us ? "stopping" : "serving";
  status.uptime_us = from_.clock.monotonic_us() - start_us_;
  status.model = from_.model.name;
  status.model_type = from_.model.config.model_type;
  status.weight_type = weight_types(from_.model);
  status.kv_type = to_string(from_.model.options.kv_type);
  status.fingerprint = fingerprint_;
  status.isa = to_string(from_.model.options.isa);
  status.threads = from_.options.threads;
  status.context_tokens_max = from_.model.config.context_tokens_max;
  status.weight_bytes = static_cast<int64_t>(from_.model.weights.bytes());
  status.kv_bytes_max = page_bytes() * static_cast<int64_t>(from_.pool.page_count());
  status.kv_pages_used = static_cast<int64_t>(from_.pool.used_count());
  status.kv_bytes_used = page_bytes() * status.kv_pages_used;
  status.kv_bytes_per_token = page_bytes() / kPageTokens;
  if (from_.options.keep_pages) {
    status.kv_disk_bytes = from_.disk_room.used_bytes();
    status.kv_disk_bytes_max = from_.disk_room.bytes();
  }
  status.states = state_stats();
  status.attention = to_string(from_.options.attention);
  status.sequence_tokens_max = sequence_tokens_max();
  status.requests_running = static_cast<int32_t>(from_.requests.running());
  status.requests_waiting = static_cast<int32_t>(from_.requests.not_running());
  status.requests_waiting_max = from_.options.requests_waiting_max;
  status.tokens_waiting = from_.admission.tokens_waiting();
  status.tokens_waiting_max = from_.options.tokens_waiting_max;
  status.requests_preempted = from_.counters.preempted;
  status.requests_done = from_.counters.done;
  status.requests_failed = from_.counters.failed;
  status.requests_cancelled = from_.counters.cancelled;
  status.tokens_reused = from_.counters.tokens_reused;
  status.tokens_prefilled = from_.counters.tokens_prefilled;
  status.tokens_reprefilled = from_.idle.tokens_computed();
  status.tokens_generated = from_.counters.tokens_generated;
  status.tokens_selected = from_.counters.tokens_selected;
  status.tokens_drafted = from_.counters.tokens_drafted;
  status.tokens_accepted = from_.counters.tokens_accepted;
  status.tokens_approximate = from_.counters.tokens_approximate;
  status.tokens_moved = from_.idle.tokens_moved();
  status.pages_evicted = static_cast<int64_t>(from_.index.removed_count(Removal::kEvicted));
  status.chunks_input = static_cast<int32_t>(from_.registry.count(false));
  status.chunks_output = static_cast<int32_t>(from_.registry.count(true));
  status.reprefills_pending =
      static_cast<int32_t>(from_.idle.queue().size() + from_.idle.tokenizing().size());
  const auto per_second = [](double us) { return us > 0 ? 1e6 / us : 0; };
  status.prefill_tokens_per_s = per_second(from_.speed.prefill_token_us());
  status.decode_tokens_per_s = per_second(from_.speed.decode_token_us());
  status.actors_restarted = from_.outbox.actors_restarted();
  status.warnings = warnings();
  return status;
}

int64_t StatusDoor::pages_of_tenant(const std::string& tenant) const {
  size_t pages = 0;
  for (const TenantId owner : from_.tenants.owners(tenant))
    pages += from_.index.tenant(owner).nodes;
  return static_cast<int64_t>(pages);
}

void StatusDoor::keep_own(const std::string& tenant, wire::StatusReply& status) const {
  status.kv_pages_used = pages_of_tenant(tenant);
  status.kv_bytes_used = status.kv_pages_used * page_bytes();
  status.requests_running = status.requests_waiting = 0;
  for (const auto& [handle, request] : from_.requests.all()) {
    if (request->client.tenant != tenant) continue;
    ++(request->running() ? status.requests_running : status.requests_waiting);
  }
  status.kv_disk_bytes.reset();
  status.kv_disk_bytes_max.reset();
  status.states.reset();
  status.sequence_tokens_max = 0;  // it depends on others' pins
  status.chunks_input = status.chunks_output = 0;
  from_.registry.for_each(tenant, [&](const ChunkEntry& entry) {
    ++(entry.chunk.type == ChunkType::kOutput ? status.chunks_output : status.chunks_input);
  });
  status.tokens_waiting = status.requests_preempted = 0;
  status.requests_done = status.requests_failed = status.requests_cancelled = 0;
  status.tokens_reused = status.tokens_prefilled = status.tokens_reprefilled = 0;
  status.tokens_generated = status.tokens_selected = status.pages_evicted = 0;
  status.tokens_drafted = status.tokens_accepted = 0;
  status.tokens_approximate = status.tokens_moved = 0;
  status.reprefills_pending = 0;
  status.actors_restarted.clear();
  status.warnings.clear();
}

std::vector<std::string> StatusDoor::warnings() const {
  std::vector<std::string> warnings;
  if (from_.metadata.error()) {
    warnings.push_back("the store cannot write, so a crash would lose the latest changes of " +
                       std::to_string(from_.metadata.unsaved()) +
                       " chunks: " + from_.metadata.error()->to_string());
  }
  if (from_.writer.error()) {
    warnings.push_back("K and V are not written to disk: " + from_.writer.error()->to_string());
  }
  if (from_.stored_states.error()) {
    warnings.push_back("states of recurrent layers are not written to disk: " +
                       from_.stored_states.error()->to_string());
  }
  const size_t pins_lost = from_.keep.pins.without_room() + from_.keep.text_pins.without_room();
  if (pins_lost > 0) {
    warnings.push_back("pages of " + std::to_string(pins_lost) +
                       " pinned chunks can be evicted: --max-pinned has no room for them");
  }
  if (from_.index.monitor().thrash().alarm()) {
    warnings.push_back(thrash_warning(cache_stats()));
  }
  return warnings;
}

wire::CacheStats StatusDoor::cache_stats() const {
  const ReuseMonitor& monitor = from_.index.monitor();
  const auto removed = [&](Removal why) {
    return static_cast<int64_t>(from_.index.removed_count(why));
  };
  wire::CacheStats cache;
  cache.policy = to_string(from_.index.policy());
  cache.page_bytes = page_bytes();
  cache.pages_max = static_cast<int64_t>(from_.pool.page_count());
  cache.pages_used = static_cast<int64_t>(from_.pool.used_count());
  cache.pages_pinned = static_cast<int64_t>(from_.index.pinned_count());
  cache.pages_pin_promised = from_.keep.pin_budget.pages_promised();
  cache.pages_pinned_max = from_.keep.pin_budget.pages_max();
  cache.pages_held = static_cast<int64_t>(from_.index.held_count());
  cache.pages_held_max = from_.keep.holds.pages_max();
  cache.page_hits = monitor.hits();
  cache.page_misses = monitor.misses();
  cache.evicted = removed(Removal::kEvicted);
  cache.removed_dead = removed(Removal::kDead);
  cache.removed_deleted = removed(Removal::kDeleted);
  cache.removed_expired = removed(Removal::kExpired);
  cache.evicted_early = monitor.premature_evictions();
  const int64_t since_us = from_.clock.wall_us() - kWorkingSetUs;
  cache.working_set_bytes =
      cache.page_bytes * static_cast<int64_t>(working_set(from_.index, since_us));
  cache.thrashing = monitor.thrash().alarm();
  cache.thrash_alarms = monitor.thrash().alarms();
  cache.refault_share = monitor.thrash().refault_share();
  cache.recompute_bonus_s = monitor.bonus_s(from_.index.policy());
  cache.saved_tokens = from_.counters.tokens_reused;
  cache.saved_us = static_cast<int64_t>(from_.speed.prefill_time().us_of(
      static_cast<double>(from_.counters.tokens_reused), from_.counters.reused_work));
  cache.saved_bytes = from_.counters.tokens_shared / kPageTokens * disk_page_bytes();
  return cache;
}

// Returns the groups of all tenants for the administrator; other tenants get their own groups only.
std::vector<wire::ChunkGroup> StatusDoor::chunk_groups(const std::string& tenant,
                                                       PagesOfChunk& all) {
  struct Group {
    wire::ChunkGroup sums;
    PagesOfChunk pages;  // pages of all its chunks, each page once
  };
  std::map<std::pair<std::string, ChunkType>, Group> groups;
  std::optional<std::string_view> whose;
  if (tenant != kLocalTenant) whose = tenant;
  from_.registry.for_each(whose, [&](ChunkEntry& entry) {
    from_.keep.holds.refresh(entry);
    const Chunk& chunk = entry.chunk;
    auto& [sums, pages] = groups[{chunk.tenant, chunk.type}];
    ++sums.chunks;
    sums.pinned += chunk.pinned ? 1 : 0;
    sums.hits += chunk.hits;
    sums.registrations += chunk.registrations;
    sums.text_bytes += static_cast<int64_t>(entry.bytes);
    pages.add(from_.keep.holds.pages_of(entry));
  });
  std::vector<wire::ChunkGroup> listed;
  for (auto& [key, group] : groups) {
    group.sums.tenant = key.first;
    group.sums.type = key.second;
    group.sums.kv_bytes = page_bytes() * std::ssize(group.pages.in_memory);
    group.sums.kv_disk_bytes = disk_page_bytes() * std::ssize(group.pages.on_disk);
    all.add(std::move(group.pages));
    listed.push_back(std::move(group.sums));
  }
  return listed;
}

// A sequence with a window needs no more memory as it grows.
int64_t StatusDoor::sequence_tokens_max() const {
  const AttentionMode& mode = from_.options.attention.mode;
  const auto pages = static_cast<int64_t>(from_.pool.page_count());
  const int64_t context = from_.model.config.context_tokens_max;
  int64_t most = pages * kPageTokens;
  most = std::max(most, from_.disk_room.tokens(mode));
  const int64_t working =
      working_pages(from_.tenants.widest(mode), context, from_.options.planner.slice_tokens_max);
  return working <= pages ? context : std::min(most, context);
}

int64_t StatusDoor::page_bytes() const {
  return static_cast<int64_t>(from_.arena.page_bytes());
}

int64_t StatusDoor::disk_page_bytes() const {
  return static_cast<int64_t>(from_.model.kv_layout.page_bytes());
}

wire::DiskStats StatusDoor::disk_stats() const {
  return {.pages = static_cast<int64_t>(from_.stored.disk().size()),
          .page_bytes = disk_page_bytes(),
          .pages_written = from_.stored.counters().pages_written,
          .pages_loaded = from_.stored.counters().pages_loaded,
          .pages_bad = from_.stored.counters().pages_bad,
          .pages_removed = from_.stored.counters().pages_removed,
          .load_bytes_per_s = static_cast<int64_t>(from_.loader.bytes_per_us() * 1e6)};
}

std::optional<wire::StateStats> StatusDoor::state_stats() const {
  if (!from_.states.is_needed()) return std::nullopt;
  const StateTable::Counts& counts = from_.states.counts();
  return wire::StateStats{.state_bytes = static_cast<int64_t>(from_.options.states->page_bytes()),
                          .states_max = static_cast<int64_t>(from_.states.slots()),
                          .states_used = static_cast<int64_t>(from_.states.slots_used()),
                          .states_kept = static_cast<int64_t>(counts.checkpoints),
                          .states_dropped = static_cast<int64_t>(counts.dropped),
                          .on_disk = static_cast<int64_t>(from_.stored_states.count()),
                          .written = from_.stored_states.written(),
                          .loaded = from_.restores.restored()};
}

void StatusDoor::on(const Client& client, const wire::RequestId& id, const wire::StatsRequest&) {
  wire::StatsReply stats;
  PagesOfChunk pages;
  stats.groups = chunk_groups(client.tenant, pages);
  stats.chunks_max = static_cast<int64_t>(ChunkRegistry::kChunksMax);
  stats.text_bytes_max = static_cast<int64_t>(from_.registry.bytes_max());
  stats.pages_of_tenant = pages_of_tenant(client.tenant);
  if (client.tenant == kLocalTenant) {
    stats.cache = cache_stats();
    stats.cache->chunk_bytes = stats.cache->page_bytes * std::ssize(pages.in_memory);
    stats.cache->chunk_disk_bytes = disk_page_bytes() * std::ssize(pages.on_disk);
    if (from_.options.keep_pages) stats.disk = disk_stats();
    stats.states = state_stats();
  }
  from_.outbox.reply(client, id, std::move(stats));
}

void StatusDoor::on(const Client& client, const wire::RequestId& id,
                    const wire::EventsRequest& request) {
  from_.outbox.reply(client, id, from_.outbox.events(client.tenant, request));
}

}  // namespace cascade
