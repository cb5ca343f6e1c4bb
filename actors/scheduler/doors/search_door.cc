// The store searches; chunks that are not found any more are left out here.
#include "actors/scheduler/doors/search_door.h"

#include <optional>
#include <string>
#include <utility>

#include "cache/tenant_parts.h"

namespace cascade {
namespace {

// When to try again if too many searches are under way: a search takes milliseconds.
constexpr int64_t kSearchRetryMs = 50;

// When to try again after the store was restarted.
constexpr int64_t kRestartRetryMs = 100;

}  // namespace

SearchDoor::SearchDoor(Jobs& jobs, Outbox& outbox, ChunkRegistry& registry, int64_t searches_max)
    : jobs_(jobs),
      outbox_(outbox),
      registry_(registry),
      searches_max_(searches_max),
      searching_(jobs, {.actor = Actor::kStore}, [this](auto&& lost) {
        for (const auto& [job, asked] : lost) {
          outbox_.reply_error(asked.client, asked.id,
                              {ErrorCode::kUnavailable, "", "the store was restarted; try again"},
                              kRestartRetryMs);
        }
      }) {}

void SearchDoor::on(const Client& client, const wire::RequestId& id,
                    const wire::ChunkSearch& search) {
  const auto whose = [](const auto& asked) { return asked.second.client.tenant; };
  if (!may_begin(searching_.all(), searches_max_, client.tenant, whose)) {
    return outbox_.reply_error(client, id,
                               resource_exhausted("", std::to_string(searching_.size()) +
                                                          " searches are under way; the limit is " +
                                                          std::to_string(searches_max_)),
                               kSearchRetryMs);
  }
  const uint64_t job = jobs_.next();
  searching_.put(job, {client, id});
  outbox_.send(Actor::kStore, wire::StoreSearch{job, client.tenant, search.query, search.limit});
}

void SearchDoor::on(wire::StoreFound&& answer) {
  const std::optional<Asked> asked = searching_.take(answer.job);
  if (!asked) return;
  const auto& [client, id] = *asked;
  if (answer.error) return outbox_.reply_error(client, id, *answer.error);
  wire::ChunkSearchReply reply_message;
  for (wire::FoundChunk& hit : answer.found) {
    // The store does not know what has expired, and learns of changes later.
    const auto entry = registry_.find(client.tenant, hit.id);
    if (!entry.ok()) continue;
    const Chunk& chunk = (*entry)->chunk;
    reply_message.hits.push_back({chunk.id, chunk.type, chunk.name, std::move(hit.snippet)});
  }
  outbox_.reply(client, id, std::move(reply_message));
}

}  // namespace cascade
