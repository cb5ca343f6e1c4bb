// A table of chunks, and the pool's figures below it.
#include "clients/ctl/stats_text.h"

#include <vector>

#include "base/counted.h"
#include "clients/ctl/facts.h"
#include "clients/ctl/table.h"
#include "clients/ctl/units.h"

namespace cascade::ctl {
namespace {

std::string number(int64_t value) {
  return std::to_string(value);
}

std::string percent(double share) {
  return std::to_string(static_cast<int>(100 * share + 0.5)) + " %";
}

std::string render_cache(const wire::CacheStats& cache, const Style& style) {
  Facts facts;
  const auto pages = [&](int64_t count) {
    return counted(count, "page") + ", " + format_bytes(count * cache.page_bytes);
  };
  const int64_t accesses = cache.page_hits + cache.page_misses;
  const double hits = accesses > 0 ? static_cast<double>(cache.page_hits) / double(accesses) : 0;
  facts.add("pool", pages(cache.pages_used) + " of " + pages(cache.pages_max));
  facts.add("of chunks", format_bytes(cache.chunk_bytes) + ", and " +
                             format_bytes(cache.chunk_disk_bytes) + " on disk");
  facts.add("held by chunks", pages(cache.pages_held) + " of " + number(cache.pages_held_max));
  facts.add("pinned", pages(cache.pages_pinned) + " and " + number(cache.pages_pin_promised) +
                          " promised, of " + number(cache.pages_pinned_max));
  facts.add("working set", format_bytes(cache.working_set_bytes) + " in 10 minutes");
  facts.add("page hits",
            number(cache.page_hits) + " of " + number(accesses) + " (" + percent(hits) + ")");
  facts.add("saved", counted(cache.saved_tokens, "token") + ", some " +
                         number(cache.saved_us / 1'000'000) + " s of computing, " +
                         format_bytes(cache.saved_bytes));
  facts.add("evicted", counted(cache.evicted, "page") + ", " + number(cache.evicted_early) +
                           " of them too early");
  facts.add("removed", number(cache.removed_dead) + " on dead branches, " +
                           number(cache.removed_deleted) + " deleted, " +
                           number(cache.removed_expired) + " expired");
  facts.add("eviction", cache.policy + ", costly pages count as used up to " +
                            number(static_cast<int64_t>(cache.recompute_bonus_s)) +
                            " s later for each doubling");
  facts.add("thrashing", std::string(cache.thrashing ? "yes" : "no") + ", " +
                             counted(cache.thrash_alarms, "time") + ", refaults " +
                             percent(cache.refault_share) + " of the latest accesses");
  return facts.render(style);
}

std::string render_disk(const wire::DiskStats& disk, const Style& style) {
  Facts facts;
  const auto pages = [&](int64_t count) {
    return counted(count, "page") + ", " + format_bytes(count * disk.page_bytes);
  };
  facts.add("on disk", pages(disk.pages));
  facts.add("written", pages(disk.pages_written));
  facts.add(
      "loaded",
      pages(disk.pages_loaded) +
          (disk.load_bytes_per_s > 0 ? ", " + format_bytes(disk.load_bytes_per_s) + "/s" : ""));
  facts.add("damaged", counted(disk.pages_bad, "page") + ", computed again");
  facts.add("removed", counted(disk.pages_removed, "page"));
  return facts.render(style);
}

std::string render_states(const wire::StateStats& states, const Style& style) {
  Facts facts;
  facts.add("states", number(states.states_used) + " of " + number(states.states_max) + ", " +
                          format_bytes(states.state_bytes) + " each");
  facts.add("kept", number(states.states_kept) + ", " + number(states.states_dropped) +
                        " dropped to make room");
  facts.add("on disk", number(states.on_disk) + ", " + number(states.written) + " written, " +
                           number(states.loaded) + " loaded");
  return facts.render(style);
}

}  // namespace

std::string render_stats(const wire::StatsReply& stats, const Style& style) {
  std::vector<std::vector<Cell>> rows;
  for (const wire::ChunkGroup& group : stats.groups) {
    rows.push_back({{group.tenant},
                    {std::string(to_string(group.type))},
                    {number(group.chunks)},
                    {number(group.pinned)},
                    {number(group.hits)},
                    {number(group.registrations)},
                    {format_bytes(group.text_bytes)},
                    {format_bytes(group.kv_bytes)},
                    {format_bytes(group.kv_disk_bytes)}});
  }
  std::string text = render_table({{"Tenant"},
                                   {"Type"},
                                   {"Chunks", Align::kRight},
                                   {"Pinned", Align::kRight},
                                   {"Hits", Align::kRight},
                                   {"Registered", Align::kRight},
                                   {"Text", Align::kRight},
                                   {"KV", Align::kRight},
                                   {"On disk", Align::kRight}},
                                  rows, style);
  if (stats.cache.has_value()) text += "\n" + render_cache(*stats.cache, style);
  if (stats.disk.has_value()) text += "\n" + render_disk(*stats.disk, style);
  if (stats.states.has_value()) text += "\n" + render_states(*stats.states, style);
  return text;
}

}  // namespace cascade::ctl
