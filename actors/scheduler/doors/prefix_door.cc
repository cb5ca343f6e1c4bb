// A reference belongs to a connection, and ends with it.
#include "actors/scheduler/doors/prefix_door.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "base/check.h"
#include "base/hash.h"
#include "cache/tenant_parts.h"

namespace cascade {

PrefixName PrefixDoor::name_of(const Request& request) {
  const Digest digest = Hasher()
                            .field("tenant", request.client.tenant)
                            .field("prefix", std::span<const int32_t>(request.prompt))
                            .finish();
  return {request.client.tenant, "prefix_" + digest.hex().substr(0, 32)};
}

wire::PrefixReply PrefixDoor::describe(const std::string& id, const Prefix& prefix) {
  wire::PrefixReply answer;
  answer.id = id;
  answer.tokens = prefix.tokens;
  for (const auto& [client, count] : prefix.references) answer.references += count;
  return answer;
}

Status PrefixDoor::find_place(const std::string& tenant) const {
  const auto whose = [](const auto& prefix) { return prefix.first.first; };
  if (may_begin(prefixes_, prefixes_max_, tenant, whose)) return {};
  return resource_exhausted(
      "prefix", "there are " + std::to_string(prefixes_.size()) + " prefixes, which is the limit");
}

Status PrefixDoor::keep(const PrefixName& name, TenantId owner, const Request& request) {
  CHECK(!contains(name));
  const auto hold = index_.hold(owner, request.prompt);
  if (!hold) return resource_exhausted("prefix", "pages of it were evicted meanwhile; try again");
  index_.pin(*hold);
  prefixes_[name] = {*hold, std::ssize(request.prompt), request.texts, {}};
  return {};
}

wire::PrefixReply PrefixDoor::attach(const PrefixName& name, const Client& client) {
  Prefix& prefix = prefixes_.at(name);
  ++prefix.references[client];
  return describe(name.second, prefix);
}

void PrefixDoor::on(const Client& client, const wire::RequestId& id,
                    const wire::PrefixAttach& request) {
  const PrefixName name = {client.tenant, request.id};
  if (!contains(name)) {
    return outbox_.reply_error(client, id, not_found("id", "no such prefix is cached"));
  }
  outbox_.reply(client, id, attach(name, client));
}

void PrefixDoor::on(const Client& client, const wire::RequestId& id,
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

void PrefixDoor::release_all(const Client& client) {
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

void PrefixDoor::drop_with(const ChunkUses::ChunkName& chunk) {
  std::erase_if(prefixes_, [&](const auto& named) {
    const std::vector<TextUse>& texts = named.second.texts;
    const bool ends = std::ranges::find(texts, chunk, &TextUse::chunk) != texts.end();
    if (ends) index_.drop_hold(named.second.hold);
    return ends;
  });
}

}  // namespace cascade
