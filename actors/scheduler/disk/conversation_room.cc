// The prompt is not known yet; its beginning is, if its chunks have chains.
#include "actors/scheduler/disk/conversation_room.h"

#include <algorithm>
#include <optional>
#include <span>

#include "actors/scheduler/overflow.h"

namespace cascade {
namespace {

// Pinned pages of the conversation's own outputs count as taken: they may be left out.
int64_t tokens_in_memory(const RoomSources& sources, const Request& request) {
  const std::optional<TenantId> owner =
      request.attention.is_dense() ? std::optional(sources.tenants.id(request.client.tenant))
                                   : sources.tenants.find(request.client.tenant, request.attention);
  const std::span<const int32_t> system = system_chain(request, sources.registry);
  auto pinned = static_cast<int64_t>(sources.index.pinned_count());
  if (owner && pinned > 0) {
    pinned -= static_cast<int64_t>(pinned_count(sources.index.match(*owner, system).node));
  }
  return std::max<int64_t>(0, sources.pages - pinned) * kPageTokens;
}

}  // namespace

int64_t conversation_room(const RoomSources& sources, const Request& request) {
  const int64_t memory = tokens_in_memory(sources, request);
  int64_t room = memory;
  if (request.attention.window > 0) {
    const int64_t pages = working_pages(sources.tenants.widest(request.attention),
                                        sources.context_tokens, sources.slice_tokens);
    if (pages * kPageTokens <= memory) room = sources.context_tokens;
  } else if (const auto disk =
                 sources.disk.tokens_for(request, history_chain(request, sources.registry))) {
    // A request that reads the disk is promised pages, too.
    const int64_t tokens = std::min(*disk, sources.context_tokens);
    const int64_t promised = sources.spills.promised_pages(request.attention, tokens);
    if (promised * kPageTokens <= memory) room = std::max(memory, tokens);
  }
  room = std::min(room, sources.context_tokens);
  const int64_t asked = request.params.max_tokens;
  const int64_t answer = asked > 0 ? asked : sources.answer_tokens;
  return std::max<int64_t>(1, room - std::min(answer, room / 4));
}

}  // namespace cascade
