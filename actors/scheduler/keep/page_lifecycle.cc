// Pages are forgotten now, when a request ends, or when they are written.
#include "actors/scheduler/keep/page_lifecycle.h"

#include <algorithm>
#include <vector>

namespace cascade {

PageLifecycle::PageLifecycle(ChainIndex& index, Tenants& tenants, ChunkRegistry& registry,
                             const RequestTable& requests, StoredPages& stored, PageWriter& writer,
                             TextUses& uses, ChunkHolds& holds, PinnedTexts& texts, ChunkPins& pins)
    : index_(index),
      tenants_(tenants),
      registry_(registry),
      requests_(requests),
      stored_(stored),
      writer_(writer),
      uses_(uses),
      holds_(holds),
      texts_(texts),
      pins_(pins) {}

void PageLifecycle::forget(const Forget& what) {
  forget_now(what);
  const bool is_all =
      what.scope == ForgetScope::kAndWhatGoesOn || what.scope == ForgetScope::kAndLeftAlone;
  if (is_all) forget_later(what);
  if (what.owner != kPublic) return;
  std::vector<ChunkEntry*> pinned;
  for (const auto& [sequence, held] : holds_.held()) {
    if (held->chunk.pinned) pinned.push_back(held);
  }
  for (ChunkEntry* entry : pinned) pins_.promise_again(*entry);
}

// Forgets the pages that nobody uses, and has the writer note those that are being written.
void PageLifecycle::forget_now(const Forget& what) {
  const int64_t keep = what.keep / kPageTokens * kPageTokens;
  const bool may_be_stored =
      stored_.disk().size() > 0 && index_.tenant(what.owner).mode.is_stored();
  switch (what.scope) {
    case ForgetScope::kAndWhatGoesOn:
    case ForgetScope::kAndLeftAlone: {
      const int64_t own_begin = std::max(keep, public_tokens(what));
      writer_.end_when_written(what.owner, what.chain, keep, what.why);
      if (may_be_stored) {
        for (const Digest& key : keys_after(what, own_begin)) {
          stored_.remove_from(key, what.erased);
        }
      }
      const bool is_public = what.owner == kPublic;
      index_.drop_subtree(what.owner, what.chain, keep, what.why, /*holds=*/is_public);
      // The owner may have pages after public ones, and also copies of the public ones.
      if (own_begin > keep) index_.drop_subtree(what.owner, what.chain, own_begin, what.why);
      return;
    }
    case ForgetScope::kUnshared: {
      const int64_t own_begin = std::max(keep, public_tokens(what));
      if (may_be_stored) stored_.remove_unshared(keys_after(what, own_begin), what.erased);
      index_.drop_branch(what.owner, what.chain, what.keep, what.why);
      return;
    }
    case ForgetScope::kUnreachable:
      index_.drop_branch(what.owner, what.chain, what.keep, what.why);
      return;
  }
}

// Returns how many tokens of a tenant's chain are in public pages. These do not belong to the
// tenant: others build on them.
int64_t PageLifecycle::public_tokens(const Forget& what) const {
  if (what.owner == kPublic || !index_.tenant(what.owner).mode.is_dense()) return 0;
  const ChainIndex::Match match =
      index_.match(what.owner, what.chain, ChainIndex::Where::kAnywhere);
  const auto pages = std::ranges::count_if(
      path_to(match.node), [](ChainIndex::Node* node) { return name_of(node).owner == kPublic; });
  return pages * kPageTokens;
}

// Returns the keys of the pages after the first `keep` tokens, wherever the pages are.
std::vector<Digest> PageLifecycle::keys_after(const Forget& what, int64_t keep) const {
  std::vector<Digest> path = stored_.path_of(what.owner, what.chain);
  const size_t kept = std::min(path.size(), static_cast<size_t>(keep / kPageTokens));
  path.erase(path.begin(), path.begin() + static_cast<ptrdiff_t>(kept));
  return path;
}

void PageLifecycle::forget_later(const Forget& what) {
  const int64_t keep = what.keep / kPageTokens * kPageTokens;
  for (const auto& [handle, request] : requests_.all()) {
    if (!request->running()) continue;
    const auto owner = tenants_.find(request->client.tenant, request->attention);
    // An approximate chain begins with pages of its base.
    const bool has_them =
        what.owner == kPublic ||
        (owner && (*owner == what.owner || index_.tenant(*owner).base == what.owner));
    if (!has_them) continue;
    const size_t shared = common_prefix(request->in_pages(), what.chain);
    if (static_cast<int64_t>(shared) <= what.keep) continue;
    const bool left_alone = what.scope == ForgetScope::kAndLeftAlone;
    const auto [it, added] = at_end_.try_emplace({handle, what.owner}, keep, what.why, left_alone);
    if (added) continue;
    it->second.keep = std::min(it->second.keep, keep);
    it->second.left_alone = it->second.left_alone || left_alone;
  }
}

void PageLifecycle::request_ended(const Request& request) {
  // A retained output has its own pages from here on.
  const bool retained =
      request.params.retain_output && !request.sampled.empty() && !request.client_gone;
  const auto of_request = [&] {
    return std::pair(at_end_.lower_bound({request.handle, kPublic}),
                     at_end_.lower_bound({request.handle + 1, kPublic}));
  };
  const auto [begin, end] = of_request();
  const std::map ends(begin, end);
  for (const auto& [key, at_end] : ends) {
    if (!request.sequence) break;
    const TenantId owner = key.second;
    const std::span<const int32_t> tokens = request.sequence->tokens();
    if (owner == kPublic) {
      // The pages of chunks that are still published stay.
      const int64_t keep = std::max(at_end.keep, holds_.public_beginning(tokens));
      forget({kPublic, tokens, keep, at_end.why});
    } else if (!retained) {
      // Other requests do not forget these pages when they end: one that began later may have
      // computed the same tokens anew.
      forget_now({owner, tokens, at_end.keep, at_end.why});
      if (!at_end.left_alone) continue;
      const auto before = tokens.first(std::min(tokens.size(), static_cast<size_t>(at_end.keep)));
      forget({owner, before, 0, at_end.why, ForgetScope::kUnshared});
    }
  }
  forget_gone_texts(request, retained);
  // Erases also the entries that were just added: this request still counts as running.
  const auto [first, last] = of_request();
  at_end_.erase(first, last);
}

// Forgets what the request has computed of texts whose chunks were removed while it ran. Of a
// retained output, these are texts that its history does not have.
void PageLifecycle::forget_gone_texts(const Request& request, bool retained) {
  if (!request.sequence) return;
  const TenantId own = tenants_.id(request.client.tenant, request.attention);
  const TenantId base = index_.tenant(own).base;
  for (const TextUse& text : request.texts) {
    if (retained && !text.is_retrieved) continue;
    if (registry_.find_own(text.chunk.first, text.chunk.second).ok()) continue;
    const Removal why = registry_.why_gone(text.chunk.first, text.chunk.second);
    const std::span<const int32_t> tokens = request.sequence->tokens();
    const auto before = std::min(std::ssize(tokens), static_cast<ptrdiff_t>(text.where.begin));
    for (const TenantId owner : {own, base}) {
      if (owner == kPublic) continue;
      forget({owner, tokens, before, why});
      if (!text.is_output) continue;
      forget({owner, tokens.first(static_cast<size_t>(before)), 0, why, ForgetScope::kUnshared});
    }
  }
}

void PageLifecycle::writing_ended(const Writing& writing) {
  for (const Writing::End& end : writing.ends) {
    if (end.owner == kPublic) {
      forget({kPublic, end.chain, end.keep, end.why});
    } else {
      forget_now({end.owner, writing.chain, end.keep, end.why});
    }
  }
}

void PageLifecycle::withdraw(ChunkEntry& entry, Removal why, const StoredName* erased) {
  if (!entry.public_hold) return;
  holds_.clear_public(entry);
  forget_public(entry.chain, why, erased);
}

void PageLifecycle::forget_public(std::span<const int32_t> chain, Removal why,
                                  const StoredName* erased) {
  forget(
      {kPublic, chain, holds_.public_beginning(chain), why, ForgetScope::kAndWhatGoesOn, erased});
}

void PageLifecycle::forget_texts(const ChunkUses::ChunkName& chunk, Removal why,
                                 const StoredName* erased) {
  for (const ChunkUses::Use& use : uses_.take(chunk)) {
    if (ChainIndex::Node* node = index_.find(use.page)) {
      forget_use(node, use, why, erased);
    } else if (use.ends != 0) {
      stored_.remove_from(use.page, erased);
    } else {
      stored_.remove_unshared({use.page}, erased);
    }
  }
}

// The page, which has a node, has a text that is to be forgotten.
void PageLifecycle::forget_use(ChainIndex::Node* node, const ChunkUses::Use& use, Removal why,
                               const StoredName* erased) {
  const TenantId owner = name_of(node).owner;
  if (tenants_.name_of(owner) == nullptr) return;  // public: withdraw() sees to it
  const std::vector<int32_t> chain = chain_to(node);
  // Prompts with the text are not written any more, but chains of chunks are.
  writer_.drop_if([&](const Writeback& writeback) {
    return writeback.is_of_prompt() && writeback.owner == owner &&
           static_cast<int64_t>(common_prefix(writeback.chain, chain)) > use.position;
  });
  if (use.ends != 0) {
    return forget({owner, chain, use.position, why, ForgetScope::kAndWhatGoesOn, erased});
  }
  writer_.end_when_written(owner, chain, use.position, why);
  stored_.remove_unshared({use.page}, erased);
  index_.drop_branch(owner, chain, use.position, why);
}

void PageLifecycle::forget_stored(const Digest& end, int64_t keep, const StoredName* erased) {
  std::vector<DiskIndex::Step> path = stored_.disk().path(end);
  std::ranges::reverse(path);
  std::vector<Digest> keys;
  size_t public_pages = 0;
  for (const DiskIndex::Step& step : path) {
    keys.push_back(step.key);
    ChainIndex::Node* node = index_.find(step.key);
    const bool is_public = node != nullptr && name_of(node).owner == kPublic;
    if (is_public) public_pages = keys.size();
  }
  keys.erase(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(public_pages));
  const auto kept = static_cast<size_t>(keep / kPageTokens);
  for (size_t i = kept - std::min(kept, public_pages); i < keys.size(); ++i) {
    stored_.remove_from(keys[i], erased);
  }
  stored_.remove_unshared(keys, erased);
}

void PageLifecycle::on(const wire::PagesForgotten& forgotten) {
  for (const std::string& key : forgotten.keys) {
    const auto page = Digest::from_hex(key);
    if (!page) continue;
    if (stored_.disk().contains(*page)) {
      if (!forgotten.deleted) stored_.count_bad();
      stored_.note_gone(*page);
    }
    ChainIndex::Node* node = forgotten.deleted ? index_.find(*page) : nullptr;
    if (node == nullptr) continue;
    forget_use(node, {*page, name_of(node).position, 1}, Removal::kDeleted, nullptr);
  }
  // The pages of pins are written again at once.
  if (forgotten.deleted) texts_.heal();
}

}  // namespace cascade
