// The prompt is not known yet; its beginning is, if an output or a system prompt has a chain.
#include "actors/scheduler/disk/conversation_room.h"

#include <algorithm>
#include <optional>
#include <span>

#include "actors/scheduler/overflow.h"

namespace cascade {
namespace {

int64_t tokens_in_memory(const RoomSources& sources, const Request& request,
                         std::span<const int32_t> known) {
  const std::optional<TenantId> owner =
      request.attention.is_dense() ? std::optional(sources.tenants.id(request.client.tenant))
                                   : sources.tenants.find(request.client.tenant, request.attention);
  auto pinned = static_cast<int64_t>(sources.index.pinned_count());
  if (owner && pinned > 0) {
    pinned -= static_cast<int64_t>(pinned_count(sources.index.match(*owner, known).node));
  }
  return std::max<int64_t>(0, sources.pages - pinned) * kPageTokens;
}

}  // namespace

int64_t conversation_room(const RoomSources& sources, const Request& request) {
  const std::span<const int32_t> known = known_chain(request, sources.registry);
  const int64_t memory = tokens_in_memory(sources, request, known);
  int64_t room = memory;
  if (request.attention.window > 0) {
    const int64_t pages = working_pages(sources.tenants.widest(request.attention),
                                        sources.context_tokens, sources.slice_tokens);
    if (pages * kPageTokens <= memory) room = sources.context_tokens;
  } else {
    room = std::max(memory, sources.disk.tokens_for(request, known).value_or(0));
  }
  room = std::min(room, sources.context_tokens);
  const int64_t asked = request.params.max_tokens;
  const int64_t answer = asked > 0 ? asked : sources.answer_tokens;
  return std::max<int64_t>(1, room - std::min(answer, room / 4));
}

}  // namespace cascade
