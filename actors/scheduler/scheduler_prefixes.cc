// Beginnings of prompts that clients compute ahead and keep: counted references, a pin for each.
#include <algorithm>

#include "actors/scheduler/scheduler_core.h"

namespace cascade {
namespace {

wire::PrefixReply describe(const std::string& id, const Prefix& prefix) {
  wire::PrefixReply answer;
  answer.id = id;
  answer.tokens = prefix.tokens;
  for (const auto& [client, count] : prefix.references) answer.references += count;
  return answer;
}

// The same tokens of the same tenant are the same prefix.
PrefixName prefix_name(const Request& request) {
  const Digest digest = Hasher()
                            .field("tenant", request.client.tenant)
                            .field("prefix", std::span<const int32_t>(request.prompt))
                            .finish();
  return {request.client.tenant, "prefix_" + digest.hex().substr(0, 32)};
}

}  // namespace

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       wire::PrefixCache&& params) {
  wire::GenerateRequest request;
  request.chunks = std::move(params.chunks);
  request.messages = std::move(params.messages);
  request.prompt = std::move(params.prompt);
  request.thinking = params.thinking;
  request.stream = params.stream;
  request.timeout_ms = params.timeout_ms;
  accept(client, id, std::move(request), /*prefix=*/true);
}

// Its tokens are known.
void SchedulerCore::prefix_ready(Request& request) {
  if (request.prompt.empty()) {
    return fail(request, invalid_argument("prefix",
                                          "has no tokens that do not depend on what "
                                          "follows it"));
  }
  const PrefixName name = prefix_name(request);
  if (prefixes_.contains(name)) {
    request.reused_tokens = static_cast<int64_t>(request.prompt.size());
    request.miss = {MissReason::kNone, request.reused_tokens};
    return answer_prefix(request, name);
  }
  const auto whose = [](const auto& prefix) { return prefix.first.first; };
  if (!may_begin(prefixes_, options_.prefixes_max, request.client.tenant, whose)) {
    return fail(request,
                resource_exhausted("prefix", "there are " + std::to_string(prefixes_.size()) +
                                                 " prefixes, which is the limit"));
  }
  const Status room = promise_pages(request, static_cast<int64_t>(request.prompt.size()));
  if (!room.ok()) return fail(request, room.error());
  wait(request);
}

// All of it is in pages.
void SchedulerCore::finish_prefix(Request& request) {
  if (keep_.uses.has_gone_text(request.texts)) {
    return fail(request, not_found("prefix", "one of its chunks was deleted in the meantime"));
  }
  const PrefixName name = prefix_name(request);
  request.sequence->finish(clock_.wall_us());
  if (!prefixes_.contains(name)) {  // else somebody else had asked for it at the same time
    const auto hold = index_.hold(tenants_.id(request.client.tenant), request.prompt);
    CHECK(hold.has_value());
    index_.pin(*hold);
    prefixes_[name] = {*hold, static_cast<int64_t>(request.prompt.size()), request.texts, {}};
    keep_.uses.note(request);
    writer_.write_behind(tenants_.id(request.client.tenant), request.prompt,
                         StoredName{request.client.tenant, /*id=*/""});
    keep_.holds.trim();
  }
  answer_prefix(request, name);
}

// The end of the request: one reference more.
void SchedulerCore::answer_prefix(Request& request, const PrefixName& name) {
  Prefix& prefix = prefixes_.at(name);
  ++prefix.references[request.client];
  wire::PrefixReply answer = describe(name.second, prefix);
  answer.reused_tokens = request.reused_tokens;
  answer.prefilled_tokens = request.prefilled_tokens;
  answer.miss = request.miss;
  ++counters_.done;
  outbox_.tell_of(request, EventKind::kRequestFinished, "stop");
  outbox_.reply(request, std::move(answer));
  forget(request.handle);
}

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       const wire::PrefixAttach& attach) {
  const auto found = prefixes_.find({client.tenant, attach.id});
  if (found == prefixes_.end()) {
    return outbox_.reply_error(client, id, not_found("id", "no such prefix is cached"));
  }
  Prefix& prefix = found->second;
  ++prefix.references[client];
  outbox_.reply(client, id, describe(attach.id, prefix));
}

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       const wire::PrefixRelease& release) {
  const auto found = prefixes_.find({client.tenant, release.id});
  if (found == prefixes_.end() || !found->second.references.contains(client)) {
    return outbox_.reply_error(
        client, id, not_found("id", "this connection has no reference to such a prefix"));
  }
  Prefix& prefix = found->second;
  if (--prefix.references.at(client) == 0) prefix.references.erase(client);
  outbox_.reply(client, id, describe(release.id, prefix));
  if (!prefix.references.empty()) return;
  index_.drop_hold(prefix.hold);
  prefixes_.erase(found);
}

// The connection is gone, and with it its references.
void SchedulerCore::release_prefixes(const Client& client) {
  for (auto it = prefixes_.begin(); it != prefixes_.end();) {
    Prefix& prefix = it->second;
    if (prefix.references.erase(client) == 0 || !prefix.references.empty()) {
      ++it;
      continue;
    }
    index_.drop_hold(prefix.hold);
    it = prefixes_.erase(it);
  }
}

// No prefix keeps the text of a chunk that was removed.
void SchedulerCore::drop_prefixes_with(const ChunkUses::ChunkName& chunk) {
  std::erase_if(prefixes_, [&](const auto& named) {
    const std::vector<TextUse>& texts = named.second.texts;
    const bool ends = std::ranges::find(texts, chunk, &TextUse::chunk) != texts.end();
    if (ends) index_.drop_hold(named.second.hold);
    return ends;
  });
}

}  // namespace cascade
