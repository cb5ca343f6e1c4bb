// A run of tokens is moved in jobs; each job is turned by one number of positions.
#include "actors/scheduler/thought_removal.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "actors/scheduler/chunk_settings.h"
#include "base/check.h"

namespace cascade {
namespace {

// The run that has the token `place` of the chain, or nullptr.
const TokenRun* run_at(const Reprefill& chain, int64_t place) {
  const std::vector<TokenRun>& runs = chain.removal->runs;
  const auto run = std::ranges::find_if(
      runs, [&](const TokenRun& of) { return place >= of.begin && place < of.end; });
  return run == runs.end() ? nullptr : &*run;
}

}  // namespace

int64_t pages_for_removal(const ChainIndex& index, TenantId owner, TenantId sampled,
                          const Reprefill& chain) {
  const ChainIndex::Match source = index.match(sampled, chain.sampled_chain);
  const ChainIndex::Match known = index.match(owner, chain.chain);
  // Both chains begin alike, so some pages count twice.
  return static_cast<int64_t>(index.taken_by(source.last()) + index.taken_by(known.last())) +
         chain_pages(chain.chain.size()) - std::ssize(known.pages);
}

bool take_source(ChainIndex& index, TenantId sampled, Reprefill& chain) {
  if (chain.removal->source != nullptr) return true;
  if (run_at(chain, chain.sequence->committed()) == nullptr) return false;
  const ChainIndex::Match source = index.match(sampled, chain.sampled_chain);
  const TokenRun& last = chain.removal->runs.back();
  if (source.tokens() < last.sampled_begin + last.end - last.begin) return false;
  chain.removal->source = source.last();
  index.acquire(chain.removal->source);
  return true;
}

void release_source(ChainIndex& index, Reprefill& chain) {
  ChainIndex::Node* const source = std::exchange(chain.removal->source, nullptr);
  if (source != nullptr) index.release(source);
}

void put_move(ChainSequence& sequence, const Reprefill& chain, wire::PrefillJob& job) {
  const TokenRun* const run = run_at(chain, job.position);
  CHECK(run != nullptr && chain.removal->source != nullptr);
  const std::vector<ChainIndex::Node*> nodes = path_to(chain.removal->source);
  wire::MovedRows& moved = job.moved.emplace();
  for (const ChainIndex::Node* node : nodes) moved.pages.push_back(page_of(node));
  moved.begin = run->sampled_begin + job.position - run->begin;
  const auto free_at = [&](int64_t token) {
    const auto page = static_cast<size_t>(token / kPageTokens);
    const TakenOut& out = taken_out(nodes[page]);
    if (token >= out.free_begin) return out.free;
    return page == 0 ? 0 : taken_out(nodes[page - 1]).free;
  };
  const int64_t free = free_at(moved.begin);
  int64_t count = 0;
  const int64_t most = std::min(std::ssize(job.token_ids), run->end - job.position);
  while (count < most && free_at(moved.begin + count) == free) ++count;
  job.token_ids.resize(static_cast<size_t>(count));
  const int64_t from = moved.begin + free;  // where the first token stands now, for RoPE
  if (chain.attention.approximation == Approximation::kMask) {
    sequence.set_free_positions(from - job.position);
  }
  moved.turn = job.position + sequence.free_positions() - from;
}

}  // namespace cascade
