// For each request: find its pages, compute the others page by page, finish.
#include "bench/cache/replay.h"

#include <algorithm>
#include <numeric>

#include "bench/speed/samples.h"
#include "cache/chain_sequence.h"

namespace cascade::speed {
namespace {

constexpr int64_t kPagesPerBlock = kTraceBlockTokens / kPageTokens;
constexpr size_t kPageBytes = 64;  // what a page holds does not matter here

// The Unix time of the trace's start: as in a daemon, times are large numbers.
constexpr int64_t kStartUs = int64_t{1'800'000'000} * 1'000'000;

// FLOP of one token of Qwen3-0.6B, and of its attention to each token before it.
constexpr double kTokenFlop = 8.81e8, kKeyFlop = 2.294e5;

double cost_of(int64_t page) {
  const double middle = (static_cast<double>(page) + 0.5) * kPageTokens;
  return (kTokenFlop + kKeyFlop * middle) / (kTokenFlop + kKeyFlop * kPageTokens / 2);
}

std::vector<int32_t> tokens_of(const TraceRequest& request) {
  std::vector<int32_t> tokens;
  tokens.reserve(request.blocks.size() * kTraceBlockTokens);
  for (const int64_t block : request.blocks) {
    for (int64_t page = 0; page < kPagesPerBlock; ++page) {
      tokens.push_back(static_cast<int32_t>(block * kPagesPerBlock + page));
      const size_t next = tokens.size();
      tokens.resize(next + kPageTokens - 1);
      std::iota(tokens.begin() + static_cast<ptrdiff_t>(next), tokens.end(), 0);
    }
  }
  return tokens;
}

}  // namespace

Result<ReplayResult> replay(const std::vector<TraceRequest>& trace, EvictionPolicy policy,
                            size_t capacity_pages) {
  ASSIGN_OR_RETURN(const PageArena arena, PageArena::create(kPageBytes, capacity_pages));
  PagePool pool(capacity_pages);
  ChainIndex index(Digest(), pool, policy);
  ReplayResult result;
  for (const TraceRequest& request : trace) {
    const std::vector<int32_t> tokens = tokens_of(request);
    const int64_t now_us = kStartUs + request.time_us;
    const double start_s = now_s();
    ChainSequence sequence(index, pool, arena, kPublic);
    const int64_t found = sequence.reuse(tokens, now_us) / kPageTokens;
    const auto pages = static_cast<int64_t>(tokens.size()) / kPageTokens;
    for (int64_t page = sequence.committed() / kPageTokens; page < pages; ++page) {
      if (!sequence.reserve((page + 1) * kPageTokens)) break;
      sequence.commit(std::span(tokens).subspan(
                          static_cast<size_t>(sequence.committed()),
                          static_cast<size_t>((page + 1) * kPageTokens - sequence.committed())),
                      now_us);
    }
    sequence.finish(now_us);
    result.seconds += now_s() - start_s;
    result.pages += pages;
    result.pages_found += found;
    for (int64_t page = 0; page < pages; ++page) {
      result.cost += cost_of(page);
      if (page < found) result.cost_saved += cost_of(page);
    }
  }
  result.evictions = static_cast<int64_t>(index.removed_count(Removal::kEvicted));
  result.premature_evictions = index.monitor().premature_evictions();
  result.thrash_alarms = index.monitor().thrash().alarms();
  return result;
}

}  // namespace cascade::speed
