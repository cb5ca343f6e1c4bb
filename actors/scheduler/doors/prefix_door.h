// Beginnings of prompts that are computed in advance for clients, and kept by counted references.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "actors/scheduler/outbox.h"
#include "actors/scheduler/request.h"
#include "base/result.h"
#include "cache/chain_index.h"
#include "cache/chunk_uses.h"
#include "wire/messages.h"

namespace cascade {

using PrefixName = std::pair<std::string, std::string>;  // tenant, id

// One thread. The pages of a prefix are pinned until its last reference is released.
class PrefixDoor {
 public:
  // At most `prefixes_max` prefixes are kept; each tenant has a part of this number. The other
  // arguments outlive this.
  PrefixDoor(Outbox& outbox, ChainIndex& index, int prefixes_max)
      : outbox_(outbox), index_(index), prefixes_max_(prefixes_max) {}

  void on(const Client& client, const wire::RequestId& id, const wire::PrefixAttach& request);
  void on(const Client& client, const wire::RequestId& id, const wire::PrefixRelease& release);

  // Returns the name of the request's prompt: the same tokens of the same tenant are the same
  // prefix.
  static PrefixName name_of(const Request& request);
  bool contains(const PrefixName& name) const { return prefixes_.contains(name); }
  // Checks that the tenant may have one more prefix. Error: kResourceExhausted, field "prefix".
  Status find_place(const std::string& tenant) const;
  // Keeps the request's prompt, all of which is in pages of the `owner`, as a prefix without
  // references. attach() must follow, since otherwise nobody would release it. Precondition:
  // !contains(name). Error kResourceExhausted, field "prefix": not all of it is in memory.
  Status keep(const PrefixName& name, TenantId owner, const Request& request);
  // Gives the client one reference more, and describes the prefix. Precondition: contains(name).
  wire::PrefixReply attach(const PrefixName& name, const Client& client);
  // Releases the references of a connection that is gone.
  void release_all(const Client& client);
  // Ends the prefixes that have the text of the chunk, which is being removed.
  void drop_with(const ChunkUses::ChunkName& chunk);

 private:
  struct Prefix {
    ChainIndex::HoldId hold;
    int64_t tokens;
    std::vector<TextUse> texts;
    std::map<Client, int64_t> references;
  };
  static wire::PrefixReply describe(const std::string& id, const Prefix& prefix);

  Outbox& outbox_;
  ChainIndex& index_;
  const int prefixes_max_;
  std::map<PrefixName, Prefix> prefixes_;
};

}  // namespace cascade
