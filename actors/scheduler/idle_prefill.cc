// A queue of chains; the first one is computed.
#include "actors/scheduler/idle_prefill.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"

namespace cascade {
namespace {

bool is_of(const Reprefill& reprefill, const StoredName& chunk) {
  return reprefill.chunk_id == chunk.id && reprefill.tenant == chunk.tenant;
}

}  // namespace

IdlePrefill::IdlePrefill(int reprefills_max, const Clock& clock, Jobs& jobs, Outbox& outbox,
                         ChainIndex& index, PagePool& pool, const PageArena& arena,
                         Tenants& tenants, ChunkRegistry& registry, PageLoader& loader,
                         Callbacks callbacks)
    : reprefills_max_(static_cast<size_t>(reprefills_max)),
      clock_(clock),
      jobs_(jobs),
      outbox_(outbox),
      index_(index),
      pool_(pool),
      arena_(arena),
      tenants_(tenants),
      registry_(registry),
      loader_(loader),
      callbacks_(std::move(callbacks)),
      tokenizing_(jobs, {Actor::kPrefill},
                  [this](Tokenizing&& lost) { callbacks_.lost(std::move(lost)); }) {}

void IdlePrefill::tokenize(wire::EncodeJob&& job, Reprefill&& reprefill) {
  job.job = jobs_.next();
  job.mode = wire::EncodeJob::Mode::kHistory;
  job.now_unix_s = clock_.wall_us() / 1'000'000;
  tokenizing_.put(job.job, std::move(reprefill));
  outbox_.send(Actor::kPrefill, std::move(job));
}

bool IdlePrefill::tokenize_prefix(const Chunk& chunk) {
  if (tokenizing_.size() + queue_.size() >= reprefills_max_) return false;
  wire::EncodeJob job;
  job.messages.push_back({.role = "system", .content = chunk.text, .reasoning = {}});
  Reprefill prefix;
  prefix.tenant = chunk.tenant;
  prefix.chunk_id = chunk.id;
  tokenize(std::move(job), std::move(prefix));
  return true;
}

bool IdlePrefill::has(const StoredName& chunk) const {
  return std::ranges::any_of(queue_,
                             [&](const Reprefill& reprefill) { return is_of(reprefill, chunk); });
}

bool IdlePrefill::has_text(const StoredName& chunk, const Digest& end) const {
  return std::ranges::any_of(queue_, [&](const Reprefill& reprefill) {
    return is_of(reprefill, chunk) && reprefill.text_end == end;
  });
}

std::vector<Reprefill> IdlePrefill::drop(const StoredName& chunk) {
  std::vector<Reprefill> dropped;
  for (size_t i = is_computed() ? 1 : 0; i < queue_.size();) {
    if (!is_of(queue_[i], chunk)) {
      ++i;
      continue;
    }
    dropped.push_back(std::move(queue_[i]));
    queue_.erase(queue_.begin() + static_cast<ptrdiff_t>(i));
    if (dropped.back().sequence) dropped.back().sequence->finish(clock_.wall_us());
  }
  return dropped;
}

bool IdlePrefill::start() {
  while (!queue_.empty() && !loading_) {
    Reprefill& first = queue_.front();
    if (first.chain.size() > pool_.page_count() * kPageTokens) {  // it is longer than memory
      end(/*complete=*/false);
      continue;
    }
    if (!first.sequence) {
      start_sequence(first);
      continue;
    }
    const auto size = static_cast<int64_t>(first.chain.size());
    const bool complete = first.sequence->committed() == size;
    if (!complete && first.sequence->reserve(size)) return true;
    end(complete);
  }
  return false;
}

// Starts with the pages in memory. Pages on disk are added when they have been read.
void IdlePrefill::start_sequence(Reprefill& first) {
  const TenantId owner = first.for_all ? kPublic : tenants_.id(first.tenant);
  const std::span<const int32_t> chain = first.chain;
  const ChainIndex::Match match = index_.match(owner, chain);
  const DiskIndex::Match stored = loader_.worth_loading(owner, chain, match);
  first.sequence = std::make_unique<ChainSequence>(index_, pool_, arena_, owner);
  const auto known = stored.tokens > 0 ? match.pages.size() * kPageTokens : chain.size();
  first.sequence->reuse(chain.first(known), clock_.wall_us(), /*observed=*/false);
  loading_ = loader_.start(*first.sequence, 0, chain, stored);
}

wire::PrefillJob IdlePrefill::slice(int64_t end) {
  Reprefill& first = queue_.front();
  CHECK(first.sequence->reserve(end));
  wire::PrefillJob job;
  job.job = jobs_.next();
  job.position = first.sequence->committed();
  job.token_ids.assign(first.chain.begin() + job.position, first.chain.begin() + end);
  job.pages = first.sequence->pages();
  computing_ = true;
  return job;
}

void IdlePrefill::computed(std::span<const int32_t> tokens, bool failed) {
  computing_ = false;
  const Reprefill& first = queue_.front();
  if (failed || is_gone()) return end(/*complete=*/false);
  first.sequence->commit(tokens, clock_.wall_us());
  tokens_computed_ += std::ssize(tokens);
  if (first.sequence->committed() == std::ssize(first.chain)) end(/*complete=*/true);
}

const ChainSequence* IdlePrefill::loaded(std::span<const int32_t> tokens, bool more) {
  ChainSequence* sequence = queue_.front().sequence.get();
  sequence->commit(tokens, clock_.wall_us());
  const bool gone = is_gone();
  loading_ = more && !gone;
  if (loading_) return sequence;
  if (gone) end(/*complete=*/false);
  return nullptr;
}

// Whether the first chain's chunk was deleted: then there is nothing to compute any more.
bool IdlePrefill::is_gone() const {
  return !registry_.find_own(queue_.front().tenant, queue_.front().chunk_id).ok();
}

// Takes the first chain out of the queue, and tells of its end.
void IdlePrefill::end(bool complete) {
  computing_ = false;
  Reprefill ended = std::move(queue_.front());
  queue_.pop_front();
  if (ended.sequence) ended.sequence->finish(clock_.wall_us());
  callbacks_.ended(std::move(ended), complete);
}

bool IdlePrefill::pause() {
  if (queue_.empty() || !queue_.front().sequence || is_computed()) return false;
  queue_.front().sequence->finish(clock_.wall_us());
  queue_.front().sequence.reset();
  return true;
}

}  // namespace cascade
