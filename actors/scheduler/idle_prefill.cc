// A queue of chains; the first one is computed.
#include "actors/scheduler/idle_prefill.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "actors/scheduler/compute_jobs.h"
#include "actors/scheduler/thought_removal.h"
#include "base/check.h"
#include "cache/kept_points.h"

namespace cascade {
namespace {

// After so many slices in a row that yielded, one is computed to its end. Messages may come more
// often than half a layer takes, or take the chain's pages each time: then no slice would ever end.
// With longer gaps, a slice needs fewer.
constexpr int kYieldsMax = 64;

// Adds the token that follows the whole chain to its draft. False if the draft ends here.
bool go_on(int32_t token, Reprefill& chain) {
  SummaryDraft& draft = *chain.draft;
  draft.ended = std::ranges::find(draft.end_tokens, token) != draft.end_tokens.end();
  if (draft.ended) return false;
  draft.sampled.push_back(token);
  if (draft.think && token == draft.think->first) draft.thinks = true;
  draft.thought_tokens += draft.thinks ? 1 : 0;
  if (draft.think && token == draft.think->second) draft.thinks = false;
  const int64_t written = std::ssize(draft.sampled) - draft.thought_tokens;
  const bool is_full = written >= draft.tokens_max;
  if (is_full || draft.thought_tokens > draft.thought_tokens_max) return false;
  chain.chain.push_back(token);
  return true;
}

bool is_of(const Reprefill& reprefill, const StoredName& chunk) {
  return reprefill.chunk_id == chunk.id && reprefill.tenant == chunk.tenant;
}

}  // namespace

IdlePrefill::IdlePrefill(const IdleOptions& options, const Clock& clock, Jobs& jobs, Outbox& outbox,
                         const ChainCaches& caches, Tenants& tenants, ChunkRegistry& registry,
                         PageLoader& loader, ChainRestores& restores, Callbacks callbacks)
    : options_(options),
      clock_(clock),
      jobs_(jobs),
      outbox_(outbox),
      caches_(caches),
      tenants_(tenants),
      registry_(registry),
      loader_(loader),
      restores_(restores),
      callbacks_(std::move(callbacks)),
      tokenizing_(jobs, {Actor::kPrefill},
                  [this](Tokenizing&& lost) { callbacks_.lost(std::move(lost)); }) {}

void IdlePrefill::tokenize(wire::EncodeJob&& job, Reprefill&& reprefill) {
  job.job = jobs_.next();
  job.mode = reprefill.draft ? wire::EncodeJob::Mode::kPrompt : wire::EncodeJob::Mode::kHistory;
  job.now_unix_s = clock_.wall_us() / 1'000'000;
  tokenizing_.put(job.job, std::move(reprefill));
  outbox_.send(Actor::kPrefill, std::move(job));
}

bool IdlePrefill::tokenize_prefix(const Chunk& chunk) {
  if (tokenizing_.size() + queue_.size() >= reprefills_max()) return false;
  wire::EncodeJob job;
  job.messages.push_back({.role = "system", .content = chunk.text, .reasoning = {}});
  Reprefill prefix;
  prefix.tenant = chunk.tenant;
  prefix.chunk_id = chunk.id;
  prefix.attention = options_.attention;
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
    leave_chain(dropped.back());
  }
  return dropped;
}

// Moves the chain that comes before all others to the front, which may pause the first chain: one
// with a removal, or else one without a draft.
void IdlePrefill::put_in_order() {
  if (is_computed()) return;
  const auto rank = [](const Reprefill& chain) { return chain.removal ? 0 : chain.draft ? 2 : 1; };
  const auto next = std::ranges::min_element(queue_, {}, rank);
  if (next == queue_.end() || rank(*next) == rank(queue_.front())) return;
  (void)pause();
  std::rotate(queue_.begin(), next, std::next(next));
}

bool IdlePrefill::start_removal(const std::function<int64_t()>& available) {
  while (!is_computed()) {
    const auto is_removal = [](const Reprefill& chain) { return chain.removal.has_value(); };
    if (std::ranges::none_of(queue_, is_removal)) return false;
    put_in_order();
    const Reprefill& first = queue_.front();
    const bool fits =
        first.sequence || pages_for_removal(caches_.index, owner_of(first), sampled_owner(first),
                                            first) <= available();
    if (!fits) return false;
    if (prepare_first()) return true;
  }
  return false;
}

TenantId IdlePrefill::sampled_owner(const Reprefill& chain) const {
  return tenants_.id(chain.tenant, chain.removal->sampled);
}

bool IdlePrefill::start() {
  while (!queue_.empty() && !loading_) {
    put_in_order();
    if (prepare_first()) return true;
  }
  return false;
}

// Does one step towards a slice of the first chain. True if a slice can be computed or moved;
// otherwise the chain has left the queue, is being loaded, or needs another step.
bool IdlePrefill::prepare_first() {
  Reprefill& first = queue_.front();
  if (pages_needed(first) > static_cast<int64_t>(caches_.pool.page_count())) {
    end(/*complete=*/false);
    return false;
  }
  if (!first.sequence && restore(first)) return false;
  if (!first.sequence) {
    if (!start_sequence(first) || !is_worth_computing(first)) end(/*complete=*/false);
    return false;
  }
  const auto size = static_cast<int64_t>(first.chain.size());
  const bool complete = first.sequence->committed() == size;
  // A chain with a window gives up pages as it grows.
  const bool has_window = first.attention.window > 0 && !first.for_all;
  const int64_t next = first.sequence->committed() + options_.slice_tokens_max;
  const int64_t reserved = has_window ? std::min(size, next) : size;
  const bool possible =
      !first.removal || complete || take_source(caches_.index, sampled_owner(first), first);
  if (!complete && possible && first.sequence->reserve(reserved)) return true;
  end(complete);
  return false;
}

// If a chain with a window has lost what the end of its prompt sees, its whole prompt would be
// computed again, and take the place of windows in use. Only a pin is worth that.
bool IdlePrefill::is_worth_computing(const Reprefill& first) const {
  if (first.attention.window == 0 || first.for_all || first.shorter || first.draft) return true;
  const auto prompt = static_cast<int64_t>(std::min(first.prompt_tokens, first.chain.size()));
  if (prompt - first.sequence->committed() <= options_.slice_tokens_max) return true;
  const auto chunk = registry_.find_own(first.tenant, first.chunk_id);
  return chunk.ok() && (*chunk)->chunk.pinned;
}

// Pages that every tenant finds are dense.
TenantId IdlePrefill::owner_of(const Reprefill& reprefill) const {
  return reprefill.for_all ? kPublic : tenants_.id(reprefill.tenant, reprefill.attention);
}

// The most pages that the chain needs in memory at a time.
int64_t IdlePrefill::pages_needed(const Reprefill& reprefill) const {
  const AttentionMode& mode = caches_.index.tenant(owner_of(reprefill)).mode;
  return working_pages(mode, std::ssize(reprefill.chain), options_.slice_tokens_max);
}

bool IdlePrefill::any_to_write() const {
  const auto is_written = [](const Reprefill& chain) {
    return !chain.draft && (chain.for_all || chain.attention.is_stored());
  };
  return std::ranges::any_of(queue_, is_written) ||
         std::ranges::any_of(tokenizing_.all(),
                             [&](const auto& job) { return is_written(job.second); });
}

int64_t IdlePrefill::pages_in_window() const {
  const bool has_pages = !queue_.empty() && queue_.front().sequence;
  return has_pages ? queue_.front().sequence->pages_in_window() : 0;
}

// Starts with the pages in memory. Pages on disk are added when they have been read. False if there
// is no room for a state.
bool IdlePrefill::start_sequence(Reprefill& first) {
  const TenantId owner = owner_of(first);
  std::span<const int32_t> whole = first.chain;
  if (first.draft) whole = whole.first(whole.size() - 1);  // its last token's logits are wanted
  const std::span<const int32_t> chain = caches_.states.reusable(owner, whole);
  const ChainIndex::Match match = caches_.index.match(owner, chain);
  const DiskIndex::Match stored = loader_.worth_loading(owner, chain, match);
  const auto known = stored.tokens > 0 ? match.pages.size() * kPageTokens : chain.size();
  ChainStartOptions options;
  options.observed = false;
  auto started = start_chain(caches_, owner, chain.first(known), options, clock_.wall_us());
  if (!started) return false;
  first.sequence = std::move(started->sequence);
  first.recurrent = std::move(started->recurrent);
  loading_ = loader_.start(*first.sequence, 0, chain, stored);
  return true;
}

// Brings the beginning of the chain back from disk, once. False if nothing is on its way.
bool IdlePrefill::restore(Reprefill& first) {
  if (first.restored || first.draft) return false;
  first.restored = true;
  const TenantId owner = owner_of(first);
  const auto plan = restores_.plan(owner, first.chain);
  loading_ = plan && restores_.start(0, owner, first.chain, *plan);
  return loading_;
}

void IdlePrefill::restored() {
  loading_ = false;
  if (is_gone()) end(/*complete=*/false);
}

wire::PrefillJob IdlePrefill::slice(int64_t end) {
  Reprefill& first = queue_.front();
  const int64_t begin = first.sequence->committed();
  end = std::min({end, std::ssize(first.sequence->pages()) * kPageTokens, std::ssize(first.chain)});
  // The token with the logits is a slice of its own, which can yield (Transformer::forward()).
  if (first.draft && begin + 1 < std::ssize(first.chain)) {
    end = std::min(end, std::ssize(first.chain) - 1);
  }
  if (slice_.yielded) end = slice_.end;
  wire::PrefillJob job;
  job.job = jobs_.next();
  job.position = begin;
  job.token_ids.assign(first.chain.begin() + job.position, first.chain.begin() + end);
  put_pages(*first.sequence, job);
  const int64_t size = std::ssize(first.chain);
  const ChainPlan plan = {.begin = job.position, .tokens = size, .resumes = first.draft ? 0 : size};
  const auto states = first.recurrent->next_job(end, kept_points(plan, job.position, end));
  CHECK(states);  // the sequence got a slot at its start, and keeps its states in others
  put_states(*states, job);
  if (!first.for_all) job.attention = first.attention.exact();
  if (first.removal) put_move(*first.sequence, first, job);
  if (first.draft && end == size) job.sample.emplace();
  // The state before a slice may be lost with it, and moving takes little time.
  job.yields = !job.states && !job.moved && yields_ < kYieldsMax;
  if (slice_.yielded) job.resumes = slice_.job;
  slice_ = {job.job, end};
  computing_ = true;
  return job;
}

void IdlePrefill::ended(std::span<const int32_t> tokens, SliceEnd how, int32_t token) {
  computing_ = false;
  slice_.yielded = how == SliceEnd::kYielded;
  yields_ = slice_.yielded ? yields_ + 1 : 0;
  Reprefill& first = queue_.front();
  if (how == SliceEnd::kFailed || is_gone()) return end(/*complete=*/false);
  if (slice_.yielded) return;
  advance_chain(*first.sequence, *first.recurrent, tokens, clock_.wall_us());
  (first.removal ? tokens_moved_ : tokens_computed_) += std::ssize(tokens);
  if (first.sequence->committed() < std::ssize(first.chain)) return;
  if (!first.draft || !go_on(token, first)) end(/*complete=*/true);
}

bool IdlePrefill::loaded(std::span<const int32_t> tokens, bool more) {
  queue_.front().sequence->commit(tokens, clock_.wall_us());
  const bool gone = is_gone();
  loading_ = more && !gone;
  if (gone) end(/*complete=*/false);
  return more && !gone;
}

bool IdlePrefill::is_gone() const {
  return !registry_.find_own(queue_.front().tenant, queue_.front().chunk_id).ok();
}

// Takes the first chain out of the queue, and tells of its end.
void IdlePrefill::end(bool complete) {
  computing_ = false;
  Reprefill ended = std::move(queue_.front());
  queue_.pop_front();
  leave_chain(ended);
  callbacks_.ended(std::move(ended), complete);
}

bool IdlePrefill::pause() {
  if (queue_.empty() || !queue_.front().sequence || is_computed()) return false;
  Reprefill& first = queue_.front();
  first.recurrent->keep(StateTable::Worth::kWaypoint);
  leave_chain(first);
  return true;
}

// Leaves what was computed of the chain to the caches.
void IdlePrefill::leave_chain(Reprefill& first) {
  if (!first.sequence) return;
  slice_ = {};
  if (first.removal) release_source(caches_.index, first);
  finish_chain(*first.sequence, *first.recurrent, clock_.wall_us());
  first.sequence.reset();
  first.recurrent.reset();
}

}  // namespace cascade
