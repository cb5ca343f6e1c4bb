// Requests for a prefix: they end when their prompt is computed.
#include <utility>

#include "actors/scheduler/scheduler_core.h"

namespace cascade {

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       wire::PrefixCache&& params) {
  wire::GenerateRequest request;
  request.chunks = std::move(params.chunks);
  request.messages = std::move(params.messages);
  request.prompt = std::move(params.prompt);
  request.thinking = params.thinking;
  request.reasoning_effort = std::move(params.reasoning_effort);
  request.stream = params.stream;
  request.timeout_ms = params.timeout_ms;
  accept(client, id, std::move(request), /*prefix=*/true);
}

// The tokens of the prefix are known.
void SchedulerCore::prefix_ready(Request& request) {
  if (request.prompt.empty()) {
    return fail(request, invalid_argument("prefix",
                                          "has no tokens that do not depend on what "
                                          "follows it"));
  }
  const PrefixName name = PrefixDoor::name_of(request);
  const bool is_known = doors_.prefixes.contains(name);
  const Status place = is_known ? Status() : doors_.prefixes.find_place(name.first);
  if (!place.ok()) return fail(request, place.error());
  const auto size = std::ssize(request.prompt);
  const Status room = promise_pages(request, size);
  const auto has_state = [&] {
    const TenantId owner = tenants_.id(request.client.tenant, request.attention);
    return compute_.states.find(owner, request.prompt).tokens == size;
  };
  // If the state at its end was dropped, the prefix is computed once more.
  const bool needs_state = compute_.states.is_needed() && room.ok();
  if (is_known && (!needs_state || has_state())) {
    request.reused_tokens = size;
    request.miss = {MissReason::kNone, request.reused_tokens};
    return answer_prefix(request, name);
  }
  if (!room.ok()) return fail(request, room.error());
  wait(request);
}

// All of the prefix is in pages.
void SchedulerCore::finish_prefix(Request& request) {
  if (keep_.uses.has_gone_text(request.texts)) {
    return fail(request, not_found("prefix", "one of its chunks was deleted in the meantime"));
  }
  const PrefixName name = PrefixDoor::name_of(request);
  finish_chain(*request.sequence, *request.recurrent, clock_.wall_us());
  if (!doors_.prefixes.contains(name)) {  // else another request asked for it at the same time
    const TenantId owner = tenants_.id(request.client.tenant, request.attention);
    if (const Status kept = doors_.prefixes.keep(name, owner, request); !kept.ok()) {
      return fail(request, kept.error());
    }
    keep_.uses.note(request);
    disk_.writer.write_behind(owner, request.prompt, StoredName{request.client.tenant, /*id=*/""});
    keep_.holds.trim();
  }
  answer_prefix(request, name);
}

// Ends the request: its client has one reference more.
void SchedulerCore::answer_prefix(Request& request, const PrefixName& name) {
  wire::PrefixReply answer = doors_.prefixes.attach(name, request.client);
  answer.reused_tokens = request.reused_tokens;
  answer.prefilled_tokens = request.prefilled_tokens;
  answer.miss = request.miss;
  ++counters_.done;
  outbox_.tell_of(request, EventKind::kRequestFinished, "stop");
  outbox_.reply(request, std::move(answer));
  close(request.handle);
}

}  // namespace cascade
