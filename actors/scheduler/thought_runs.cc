// The history goes on where a thought of the sampled chain ends, or a few tokens later.
#include "actors/scheduler/thought_runs.h"

#include <algorithm>
#include <utility>

#include "cache/chain_index.h"

namespace cascade {
namespace {

// How many tokens a template may put between a thought and what follows it: line breaks, or the
// header of the answer's message.
constexpr size_t kTokensBetween = 8;
// The fewest tokens that count as found again, unless the history has fewer left.
constexpr size_t kTokensFound = 4;

// The places of the sampled chain at which a thought has just ended, in ascending order.
std::vector<size_t> thought_ends(const SampledChain& sampled) {
  std::vector<size_t> ends;
  for (size_t i = 0; i < sampled.prompt_tokens && i < sampled.tokens.size(); ++i) {
    if (sampled.tokens[i] == sampled.think_end) ends.push_back(i + 1);
  }
  ends.push_back(sampled.prompt_tokens);
  for (const ThinkSpan& span : sampled.think_spans) {
    if (span.closed) ends.push_back(sampled.prompt_tokens + static_cast<size_t>(span.end));
  }
  return ends;
}

}  // namespace

std::vector<TokenRun> runs_after_thoughts(const SampledChain& sampled,
                                          std::span<const int32_t> history) {
  std::vector<TokenRun> runs;
  size_t done = common_prefix(sampled.tokens, history);
  size_t read = done;  // tokens of the sampled chain
  for (const size_t end : thought_ends(sampled)) {
    const std::span<const int32_t> left = history.subspan(done);
    if (left.empty()) break;
    if (end <= read) continue;
    TokenRun best;
    for (size_t begin = end; begin <= end + kTokensBetween && begin < sampled.tokens.size();
         ++begin) {
      const size_t found = common_prefix(sampled.tokens.subspan(begin), left);
      if (std::cmp_greater(found, best.end - best.begin)) {
        best = {std::ssize(history) - std::ssize(left),
                std::ssize(history) - std::ssize(left) + static_cast<int64_t>(found),
                static_cast<int64_t>(begin)};
      }
    }
    const int64_t found = best.end - best.begin;
    if (found < static_cast<int64_t>(std::min(kTokensFound, left.size()))) continue;
    runs.push_back(best);
    done = static_cast<size_t>(best.end);
    read = static_cast<size_t>(best.sampled_begin + found);
  }
  return runs;
}

}  // namespace cascade
