// The store reads the whole pages first, then the state with the page that it is in.
#include "actors/scheduler/disk/chain_restores.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "cache/chain_key.h"
#include "cache/chain_sequence.h"
#include "cache/kv_view.h"

namespace cascade {

ChainRestores::ChainRestores(size_t state_bytes, const Clock& clock, Jobs& jobs, Outbox& outbox,
                             const ChainCaches& caches, const StoredPages& stored,
                             StoredStates& states, PageLoader& loader, Callbacks callbacks)
    : state_bytes_(state_bytes),
      clock_(clock),
      jobs_(jobs),
      outbox_(outbox),
      caches_(caches),
      stored_(stored),
      states_(states),
      loader_(loader),
      callbacks_(std::move(callbacks)),
      states_asked_(jobs, {Actor::kStore}, [this](PendingJobs<uint64_t>::All&& lost) {
        // Nobody writes to the slots any more.
        for (const auto& [number, handle] : lost) end(handle, /*complete=*/false);
      }) {}

std::optional<ChainRestores::Plan> ChainRestores::plan(TenantId owner,
                                                       std::span<const int32_t> tokens) const {
  if (!caches_.states.is_needed() || states_.count() == 0) return std::nullopt;
  const int64_t begin = caches_.states.find(owner, tokens).tokens;
  const ChainIndex::Match match = caches_.index.match(owner, tokens);
  Plan plan;
  plan.state = states_.find(owner, tokens, match, begin);
  const int64_t end = plan.state.tokens;
  if (end == 0) return std::nullopt;
  // A page that has to be read is read from its beginning.
  const int64_t whole_pages = std::ssize(match.pages) * kPageTokens;
  plan.in_memory = match.tokens() >= end ? end : std::min(whole_pages, end);
  const size_t pages = plan.state.pages.size() + (plan.in_memory < end && end % kPageTokens > 0);
  const bool is_quicker = loader_.is_quicker(pages, state_bytes_, end - begin);
  return is_quicker ? std::optional(std::move(plan)) : std::nullopt;
}

bool ChainRestores::start(uint64_t handle, TenantId owner, std::span<const int32_t> tokens,
                          const Plan& plan) {
  CHECK(!has(handle));
  const auto chain = tokens.first(static_cast<size_t>(plan.state.tokens));
  Restore restore = {.owner = owner,
                     .tokens = {chain.begin(), chain.end()},
                     .key = plan.state.key,
                     .in_memory = plan.in_memory,
                     .pages = {},
                     .slot = 0,
                     .keys = plan.state.pages};
  if (!reserve_pages(restore)) return false;
  const auto slot = caches_.states.allocate();
  if (!slot) {
    for (const PageIndex page : restore.pages) caches_.pool.release(page);
    return false;
  }
  restore.slot = *slot;
  const Restore& begun = restores_.emplace(handle, std::move(restore)).first->second;
  if (plan.state.pages.empty()) {
    ask_for_state(handle, begun);
  } else {
    const auto begin = static_cast<size_t>(begun.in_memory);
    const size_t count = plan.state.pages.size() * kPageTokens;
    loader_.read(handle, plan.state.pages, chain.subspan(begin, count), begun.pages);
  }
  return true;
}

// Reserves memory for the pages that are read. False, and nothing is reserved, if there is no room.
bool ChainRestores::reserve_pages(Restore& restore) {
  if (restore.in_memory == std::ssize(restore.tokens)) return true;
  const auto in_memory = std::span(restore.tokens).first(static_cast<size_t>(restore.in_memory));
  const auto last = (restore.tokens.size() + kPageTokens - 1) / kPageTokens;
  const size_t count = last - in_memory.size() / kPageTokens;
  // While the node is acquired, the pages up to it are not evicted.
  ChainIndex::Node* const node = caches_.index.match(restore.owner, in_memory).node;
  caches_.index.acquire(node);
  while (restore.pages.size() < count) {
    const auto page = allocate_page(caches_.index, caches_.pool, caches_.arena, restore.owner);
    if (!page) break;
    restore.pages.push_back(*page);
  }
  caches_.index.release(node);
  if (restore.pages.size() == count) return true;
  for (const PageIndex page : restore.pages) caches_.pool.release(page);
  return false;
}

bool ChainRestores::loaded(uint64_t handle, std::span<const int32_t> tokens, bool more) {
  Restore& restore = restores_.at(handle);
  restore.read += std::ssize(tokens);
  const bool is_wanted = callbacks_.is_wanted(handle);
  if (more && is_wanted) return true;
  if (is_wanted && restore.in_memory + restore.read == restore.whole_pages_end()) {
    ask_for_state(handle, restore);
  } else {
    end(handle, /*complete=*/false);
  }
  return false;
}

void ChainRestores::ask_for_state(uint64_t handle, const Restore& restore) {
  wire::LoadState message;
  message.job = jobs_.next();
  message.key = restore.key.hex();
  const size_t last_page = (restore.tokens.size() - 1) / kPageTokens;
  message.token_ids.assign(restore.tokens.begin() + static_cast<ptrdiff_t>(last_page * kPageTokens),
                           restore.tokens.end());
  message.slot = restore.slot;
  if (restore.reads_last_page()) message.page = restore.pages.back();
  states_asked_.put(message.job, handle);
  outbox_.send(Actor::kStore, std::move(message));
}

void ChainRestores::on(const wire::StateLoaded& done) {
  const std::optional<uint64_t> handle = states_asked_.take(done.job);
  if (!handle) return;  // of an earlier incarnation of the store
  if (!done.error) {
    const size_t page_bytes = done.page_token_ids.empty() ? 0 : loader_.page_bytes();
    loader_.note_speed(state_bytes_ + page_bytes, done.load_us);
    return end(*handle, /*complete=*/true, done.page_token_ids);
  }
  const ErrorCode code = done.error->code;
  // After any other error the store may still have the state.
  const bool is_gone = code == ErrorCode::kNotFound || code == ErrorCode::kDataCorrupt ||
                       code == ErrorCode::kInvalidArgument;
  if (is_gone) states_.lose(restores_.at(*handle).key);
  if (code != ErrorCode::kNotFound) {
    spdlog::warn("a state is computed again: {}", done.error->to_string());
  }
  end(*handle, /*complete=*/false);
}

// False if a page that was not read has left memory, or if one that was read has left the disk.
// `last_page` has the tokens of the page that was read with the state, if there is one.
bool ChainRestores::give_to_caches(const Restore& restore, std::span<const int32_t> last_page) {
  const auto is_on_disk = [&](const Digest& key) { return stored_.disk().contains(key); };
  if (!std::ranges::all_of(restore.keys, is_on_disk)) return false;
  const auto tokens = std::span<const int32_t>(restore.tokens);
  const auto in_memory = tokens.first(static_cast<size_t>(restore.in_memory));
  const ChainIndex::Match match = caches_.index.match(restore.owner, in_memory);
  if (match.tokens() < restore.in_memory) return false;
  const int64_t now_us = clock_.wall_us();
  ChainIndex::Node* node = match.node;
  auto page = restore.pages.begin();
  for (int64_t begin = restore.in_memory; begin < restore.whole_pages_end(); begin += kPageTokens) {
    const auto content = tokens.subspan(static_cast<size_t>(begin), kPageTokens);
    node = caches_.index.insert(node, restore.owner, content, *page++, now_us);
  }
  if (restore.reads_last_page()) {
    const Digest* const tenant = tenant_key_behind(caches_.index, node, restore.owner);
    if (!is_on_disk(chain_key(key_of(node), tenant, last_page))) return false;
    caches_.index.insert(node, restore.owner, last_page, *page, now_us);
  }
  if (!caches_.states.keep(restore.owner, tokens, restore.slot, StateTable::Worth::kEnd, now_us)) {
    return false;
  }
  caches_.states.mark_stored(restore.slot);
  return true;
}

// Gives what was read to the caches if it is `complete`.
void ChainRestores::end(uint64_t handle, bool complete, std::span<const int32_t> last_page) {
  const auto ended = restores_.extract(handle);
  const Restore& restore = ended.mapped();
  const bool is_valid =
      complete && callbacks_.is_wanted(handle) && give_to_caches(restore, last_page);
  for (const PageIndex page : restore.pages) caches_.pool.release(page);
  caches_.states.release(restore.slot);
  restored_ += is_valid ? 1 : 0;
  callbacks_.ended(handle, is_valid ? std::ssize(restore.tokens) - restore.in_memory : 0);
}

}  // namespace cascade
