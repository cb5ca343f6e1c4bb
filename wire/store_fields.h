// The fields of the messages between the scheduler and the store.
#pragma once

#include "wire/actor_fields.h"

namespace cascade::wire {

template <class A, Is<StorePut> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("chunk", m.chunk);
}

template <class A, Is<StoreDelete> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("tenant", m.tenant);
  a.required("id", m.id);
}

template <class A, Is<StoreTouch> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("tenant", m.tenant);
  a.required("id", m.id);
  a.required("hits", m.hits);
  a.required("registrations", m.registrations);
  a.required("last_used_us", m.last_used_us);
}

template <class A, Is<StoreLoad> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("model", m.model);
}

template <class A, Is<StoreSession> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("session", m.session);
}

template <class A, Is<StoreSessionDelete> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("tenant", m.tenant);
  a.required("id", m.id);
}

template <class A, Is<StorePolicy> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("tenant", m.tenant);
  a.required("key", m.key);
  a.required("value", m.value);
}

template <class A, Is<StoredPolicy> M>
void fields(A& a, M& m) {
  a.required("tenant", m.tenant);
  a.required("key", m.key);
  a.required("value", m.value);
}

template <class A, Is<StoredSettings> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("sessions", m.sessions);
  a.required("policies", m.policies);
}

template <class A, Is<ChainPage> M>
void fields(A& a, M& m) {
  a.required("key", m.key);
  a.numbers("token_ids", m.token_ids);
  a.required("page", m.page);
}

template <class A, Is<PageUses> M>
void fields(A& a, M& m) {
  a.required("keys", m.keys);
  a.numbers("positions", m.positions);
  a.required("tenants", m.tenants);
  a.required("chunk_ids", m.chunk_ids);
  a.numbers("ends", m.ends);
}

template <class A, Is<PageOwner> M>
void fields(A& a, M& m) {
  a.required("key", m.key);
  a.required("tenant", m.tenant);
  a.required("chunk_id", m.chunk_id);
}

template <class A, Is<StoreUses> M>
void fields(A& a, M& m) {
  a.required("uses", m.uses);
  a.required("owners", m.owners);
}

template <class A, Is<StorePages> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("tenant", m.tenant);
  a.required("attention", m.attention);
  a.required("model", m.model);
  a.required("parent", m.parent);
  a.required("position", m.position);
  a.required("pages", m.pages);
  a.required("uses", m.uses);
  a.required("owners", m.owners);
}

template <class A, class M>
requires Is<M, StoreChain> || Is<M, PendingChain>
void fields(A& a, M& m) {
  a.required("job", m.job);
  if constexpr (requires { m.model; }) a.required("model", m.model);
  a.required("tenant", m.tenant);
  a.required("id", m.id);
  a.numbers("token_ids", m.token_ids);
  a.required("begin", m.begin);
  if constexpr (requires { m.pending; }) a.required("pending", m.pending);
  a.required("attention", m.attention);
}

template <class A, Is<StorePagesDone> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.optional("error", m.error);
  a.required("removed", m.removed);
}

template <class A, Is<LoadPages> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("pages", m.pages);
}

template <class A, Is<LoadPagesDone> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("good", m.good);
  a.optional("error", m.error);
  a.required("load_us", m.load_us);
}

template <class A, Is<LeasePages> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("keys", m.keys);
}

template <class A, Is<PagesLeased> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.numbers("leases", m.leases);
  a.optional("error", m.error);
}

template <class A, Is<ReleaseLeases> M>
void fields(A& a, M& m) {
  a.numbers("leases", m.leases);
}

template <class A, Is<RemovePages> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("keys", m.keys);
}

template <class A, Is<StoredPage> M>
void fields(A& a, M& m) {
  a.required("key", m.key);
  a.required("parent", m.parent);
  a.required("tokens", m.tokens);
}

template <class A, Is<ChainOwner> M>
void fields(A& a, M& m) {
  a.required("tenant", m.tenant);
  a.required("attention", m.attention);
}

template <class A, Is<StoredPages> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("pages", m.pages);
  a.required("uses", m.uses);
  a.required("other_models", m.other_models);
  a.required("more", m.more);
  a.required("chain_owners", m.chain_owners);
  a.required("states", m.states);
}

template <class A, Is<PrefetchPages> M>
void fields(A& a, M& m) {
  a.required("keys", m.keys);
}

template <class A, Is<ReadChain> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("model", m.model);
  a.required("tenant", m.tenant);
  a.required("id", m.id);
  a.required("key", m.key);
}

template <class A, Is<StoredChain> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.numbers("token_ids", m.token_ids);
  a.required("begin", m.begin);
  a.optional("tenant", m.tenant);
  a.required("attention", m.attention);
}

template <class A, Is<StoreSearch> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("tenant", m.tenant);
  a.required("query", m.query);
  a.required("limit", m.limit);
}

template <class A, Is<FoundChunk> M>
void fields(A& a, M& m) {
  a.required("id", m.id);
  a.required("snippet", m.snippet);
}

template <class A, Is<StoreFound> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.optional("error", m.error);
  a.required("found", m.found);
}

template <class A, Is<StoreRank> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("tenant", m.tenant);
  a.required("question", m.question);
  a.required("ids", m.ids);
  a.required("limit", m.limit);
}

template <class A, Is<StoreRanked> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.optional("error", m.error);
  a.required("ids", m.ids);
}

template <class A, Is<StoreAck> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.optional("error", m.error);
}

template <class A, Is<StoreChunks> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  chunk_list(a, m.chunks);
  a.required("more", m.more);
}

template <class A, Is<StoreCheck> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("request", m.request);
}

template <class A, Is<StoreChecked> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.optional("error", m.error);
  a.required("reply", m.reply);
}

template <class A, Is<StoreBackup> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("request", m.request);
}

template <class A, Is<StoreBackedUp> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.optional("error", m.error);
  a.required("reply", m.reply);
}

template <class A, Is<PagesForgotten> M>
void fields(A& a, M& m) {
  a.required("keys", m.keys);
  a.optional("deleted", m.deleted);
}

template <class A, Is<StoreState> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("tenant", m.tenant);
  a.required("attention", m.attention);
  a.required("model", m.model);
  a.required("key", m.key);
  a.required("parent", m.parent);
  a.required("position", m.position);
  a.numbers("token_ids", m.token_ids);
  a.required("slot", m.slot);
}

template <class A, Is<StateStored> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("stored", m.stored);
  a.optional("error", m.error);
}

template <class A, Is<LoadState> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.required("key", m.key);
  a.numbers("token_ids", m.token_ids);
  a.required("slot", m.slot);
  a.optional("page", m.page);
}

template <class A, Is<StateLoaded> M>
void fields(A& a, M& m) {
  a.required("job", m.job);
  a.optional("error", m.error);
  a.numbers("page_token_ids", m.page_token_ids);
  a.required("load_us", m.load_us);
}

template <class A, Is<StatesForgotten> M>
void fields(A& a, M& m) {
  a.required("keys", m.keys);
}

}  // namespace cascade::wire
