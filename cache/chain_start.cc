// A state stands for exactly the tokens before it, so pages are found up to there.
#include "cache/chain_start.h"

#include <utility>

#include "base/check.h"

namespace cascade {

std::optional<StartedChain> start_chain(const ChainCaches& caches, TenantId tenant,
                                        std::span<const int32_t> tokens,
                                        const ChainStartOptions& options, int64_t now_us) {
  if (!caches.states.has_room()) return std::nullopt;
  while (true) {
    const StateTable::Start start = caches.states.find(tenant, tokens);
    auto sequence = std::make_unique<ChainSequence>(caches.index, caches.pool, caches.arena, tenant,
                                                    options.use);
    if (options.prepare) options.prepare(*sequence);
    const int64_t reused =
        sequence->reuse(tokens.first(static_cast<size_t>(start.tokens)), now_us, options.observed);
    if (reused == start.tokens || !caches.states.is_needed()) {
      auto recurrent = std::make_unique<RunningState>(caches.states);
      CHECK(recurrent->begin(start, now_us));
      return StartedChain{std::move(sequence), std::move(recurrent)};
    }
    // There was no room to copy the last page, which the sequence needs in part: it begins at an
    // earlier state.
    tokens = tokens.first(static_cast<size_t>(reused));
  }
}

void advance_chain(ChainSequence& sequence, RunningState& recurrent,
                   std::span<const int32_t> tokens, int64_t now_us) {
  sequence.commit(tokens, now_us);
  recurrent.advanced(sequence.committed());
  recurrent.settle(sequence, now_us);
}

void finish_chain(ChainSequence& sequence, RunningState& recurrent, int64_t now_us) {
  sequence.finish(now_us);
  recurrent.settle(sequence, now_us);
}

}  // namespace cascade
