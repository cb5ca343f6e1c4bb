// Everything the store gives at a start: chunks, sessions, policies, and the list of stored pages.
#include <spdlog/spdlog.h>

#include <set>
#include <string>
#include <utility>

#include "actors/message_digest.h"
#include "actors/store_actor.h"
#include "cache/chain_key.h"
#include "cache/kv_view.h"
#include "wire/chunk_size.h"

namespace cascade {
namespace {

// The most chunks in one message: their texts take memory twice while it is on its way.
constexpr size_t kChunksAtOnceMax = 1000;
constexpr size_t kTextBytesAtOnceMax = size_t{8} << 20;
constexpr size_t kRowsAtOnceMax = 10'000;
constexpr size_t kTurnsAtOnceMax = 10'000;
constexpr size_t kBeginningsMax = 10'000;

size_t text_bytes(const Chunk& chunk) {
  return chunk.text.size() + chunk.query_text.size() + chunk.raw_text.size() +
         chunk.client_data.size() + chunk.token_ids.size() * sizeof(int32_t);
}

// Whether the chunk fits into a message. A chunk kept by an earlier version may be larger.
bool can_be_sent(const Chunk& chunk) {
  const Status fits = wire::check_size(chunk);
  if (fits.ok()) return true;
  spdlog::error("chunk {} of tenant {} is not used, and stays on disk: {}", chunk.id, chunk.tenant,
                fits.error().to_string());
  return false;
}

void send_chunks(uint64_t job, std::vector<Chunk>&& chunks, const StoreActor::Send& send) {
  std::erase_if(chunks, [](const Chunk& chunk) { return !can_be_sent(chunk); });
  auto next = chunks.begin();
  do {
    wire::StoreChunks message;
    message.job = job;
    wire::ChunkRoom room;
    size_t bytes = 0;
    while (next != chunks.end() && message.chunks.size() < kChunksAtOnceMax &&
           bytes < kTextBytesAtOnceMax && room.takes(*next)) {
      bytes += text_bytes(*next);
      message.chunks.push_back(std::move(*next++));
    }
    message.more = next != chunks.end();
    send(std::move(message));
  } while (next != chunks.end());
}

template <class T>
Status status_of(const Result<T>& result) {
  return result.ok() ? Status() : Status(result.error());
}

void send_settings(uint64_t job, std::vector<Session>&& sessions,
                   const std::vector<Policy>& policies, const StoreActor::Send& send) {
  wire::StoredSettings message;
  message.job = job;
  for (const Policy& policy : policies) {
    message.policies.push_back({policy.tenant, policy.key, policy.value});
  }
  size_t turns = 0;
  for (Session& session : sessions) {
    turns += session.turns.size() + 1;
    message.sessions.push_back(std::move(session));
    if (turns < kTurnsAtOnceMax) continue;
    send(std::exchange(message, {job, {}, {}}));
    turns = 0;
  }
  send(std::move(message));
}

// An error is not a reason to stop: a chain that is not known is computed when somebody asks for
// it.
void send_pending_chains(uint64_t job, const Digest& model, Store& store,
                         const StoreActor::Send& send) {
  auto chains = store.chains().load(model);
  if (!chains.ok()) {
    return spdlog::warn("chains to compute are not known: {}", chains.error().to_string());
  }
  for (ChunkChain& chain : *chains) {
    send(wire::PendingChain{job, std::move(chain.tenant), std::move(chain.chunk_id),
                            std::move(chain.token_ids), chain.begin, chain.attention});
  }
}

// Returns the owners of the pages.
std::vector<wire::ChainOwner> send_stored_pages(uint64_t job, const std::vector<StoredPage>& pages,
                                                const StoreActor::Send& send) {
  std::set<std::pair<std::string, AttentionMode>> owners;
  for (size_t next = 0; next < pages.size();) {
    wire::StoredPages message = {job, {}, {}, {}, true};
    for (; next < pages.size() && message.pages.size() < kRowsAtOnceMax; ++next) {
      const KvPageHeader& header = pages[next].header;
      message.pages.push_back(
          {header.key.hex(), header.parent.hex(), static_cast<int32_t>(header.token_ids.size())});
      if (!header.tenant.empty()) owners.emplace(header.tenant, header.attention);
    }
    send(std::move(message));
  }
  std::vector<wire::ChainOwner> list;
  for (const auto& [tenant, attention] : owners) list.push_back({tenant, attention});
  return list;
}

// An error is not a reason to stop: pages whose uses are not known are kept longer.
void send_stored_uses(uint64_t job, const Digest& model, Store& store,
                      const StoreActor::Send& send) {
  auto uses = store.kv().uses(model);
  if (!uses.ok()) {
    return spdlog::warn("texts of pages are not known: {}", uses.error().to_string());
  }
  wire::StoredPages message = {job, {}, {}, {}, true};
  for (const PageUseRow& use : *uses) {
    message.uses.add(
        {use.page.hex(), static_cast<int32_t>(use.position), use.tenant, use.chunk_id, use.ends});
    if (message.uses.size() < kRowsAtOnceMax) continue;
    send(std::exchange(message, {job, {}, {}, {}, true}));
  }
  if (message.uses.size() > 0) send(std::move(message));
}

// These beginnings only explain misses, so an error is not a reason to stop.
std::vector<std::string> beginnings_of_others(const Digest& model, Store& store) {
  std::vector<std::string> beginnings;
  const auto models = store.kv().models();
  for (const ModelRecord& other : models.ok() ? *models : std::vector<ModelRecord>()) {
    if (other.digest == model) continue;
    const auto pages = store.kv().pages(other.digest);
    for (const StoredPage& page : pages.ok() ? *pages : std::vector<StoredPage>()) {
      const KvPageHeader& header = page.header;
      if (header.position > 0 || beginnings.size() >= kBeginningsMax) break;
      if (header.token_ids.size() < kPageTokens || !header.attention.is_dense()) continue;
      beginnings.push_back(beginning_digest(header.tenant, header.token_ids).hex());
    }
  }
  return beginnings;
}

}  // namespace

void StoreActor::work(const wire::StoreLoad& load, const Send& send) {
  auto chunks = chunks_.load();
  auto sessions = chunks_.load_sessions();
  auto policies = chunks_.load_policies();
  // If the store cannot be read, the daemon must stop rather than continue with nothing.
  for (const Status& status : {status_of(chunks), status_of(sessions), status_of(policies)}) {
    if (!status.ok()) return send(wire::StoreAck{load.job, status.error()});
  }
  send_chunks(load.job, *std::move(chunks), send);
  send_settings(load.job, *std::move(sessions), *std::move(policies), send);
  if (durable_ == nullptr) return send(wire::StoredPages{load.job, {}, {}, {}, false});
  const Digest model = message_digest(load.model);
  auto pages = durable_->kv().pages(model);
  if (!pages.ok()) return send(wire::StoreAck{load.job, pages.error()});
  send_pending_chains(load.job, model, *durable_, send);
  wire::StoredPages last = {load.job, {}, {}, beginnings_of_others(model, *durable_), false};
  last.chain_owners = send_stored_pages(load.job, *pages, send);
  send_stored_uses(load.job, model, *durable_, send);
  if (states_ != nullptr) states_->send_stored(load.job, model, send);
  send(std::move(last));
}

}  // namespace cascade
