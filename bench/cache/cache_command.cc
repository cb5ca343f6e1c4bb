// Replays each trace with each capacity and policy.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "bench/cache/commands.h"
#include "bench/cache/replay.h"
#include "bench/speed/bench_setup.h"
#include "cache/kv_view.h"

namespace cascade::speed {
namespace {

constexpr double kPagesMax = 1 << 30;

// The capacity that `text` says: "5%" of `unique_pages`, or a number of pages.
Result<size_t> capacity_of(const std::string& text, int64_t unique_pages) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const bool known = error == std::errc() && (unit.empty() || unit == "%");
  const double pages = unit == "%" ? number / 100 * static_cast<double>(unique_pages) : number;
  if (known && pages >= 1 && pages <= kPagesMax) return static_cast<size_t>(pages);
  return invalid_argument("--capacity", "must be a percentage of the trace's pages (5%) or a " +
                                            std::string("number of pages, from 1 to 2^30 pages; ") +
                                            "got \"" + text + '"');
}

Result<std::vector<EvictionPolicy>> policies_of(const std::vector<std::string>& names) {
  std::vector<EvictionPolicy> policies;
  for (const std::string& name : names) {
    const auto policy = eviction_policy_from_string(name);
    if (!policy) {
      return invalid_argument(
          "--policy", "must be one of lru, lfu, priority, hybrid, adaptive; got \"" + name + '"');
    }
    policies.push_back(*policy);
  }
  return policies;
}

OrderedJson row_of(const std::string& trace, const std::string& capacity, EvictionPolicy policy,
                   const ReplayResult& result) {
  OrderedJson row;
  row["trace"] = trace;
  row["capacity"] = capacity;
  row["policy"] = to_string(policy);
  row["hit_percent"] = 100 * result.hit_rate();
  row["saved_percent"] = 100 * result.saved();
  row["evictions"] = result.evictions;
  row["premature_percent"] = result.evictions == 0
                                 ? 0.0
                                 : 100 * static_cast<double>(result.premature_evictions) /
                                       static_cast<double>(result.evictions);
  row["thrash_alarms"] = result.thrash_alarms;
  row["pages_per_s"] = std::round(static_cast<double>(result.pages) / result.seconds);
  return row;
}

}  // namespace

Status cache(const CacheOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<EvictionPolicy> policies, policies_of(options.policies));
  for (const std::string& capacity : options.capacities) {
    // Wrong capacities are found before a trace is read.
    const auto pages = capacity_of(capacity, static_cast<int64_t>(kPagesMax));
    if (!pages.ok()) return pages.error();
  }
  OrderedJson header;
  header["command"] = "cache";
  header["page_tokens"] = kPageTokens;
  Report report(std::move(header));
  for (const std::string& path : options.traces) {
    ASSIGN_OR_RETURN(const std::vector<TraceRequest> trace, read_trace(path));
    const int64_t unique_pages = unique_blocks(trace) * (kTraceBlockTokens / kPageTokens);
    for (const std::string& capacity : options.capacities) {
      ASSIGN_OR_RETURN(const size_t pages, capacity_of(capacity, unique_pages));
      for (const EvictionPolicy policy : policies) {
        ASSIGN_OR_RETURN(const ReplayResult result, replay(trace, policy, pages));
        report.add(row_of(std::filesystem::path(path).stem().string(), capacity, policy, result));
      }
    }
  }
  CommonOptions common;
  common.json = options.json;
  return print(report, common);
}

}  // namespace cascade::speed
