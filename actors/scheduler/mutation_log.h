// The latest changes that clients asked for, by request id. A request that comes again, because its
// answer was lost with a connection, is not done again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/scheduler/request.h"
#include "base/hash.h"
#include "wire/messages.h"

namespace cascade {

// One thread. The log does not outlive the daemon: after a restart every request is new.
class MutationLog {
 public:
  // How many changes are kept for each tenant, and how many bytes of their answers; the oldest are
  // dropped first.
  static constexpr size_t kChangesMax = 1024;
  static constexpr size_t kAnswerBytesMax = size_t{4} << 20;
  // How many connections may wait for the answer to one change: the one that is in use, and some
  // that were lost.
  static constexpr size_t kClientsMax = 8;

  struct Begin {
    bool is_new;                  // false: not to be done; it is under way, or was answered
    const wire::Message* answer;  // nullptr while it is under way; holds until the next call
  };
  // `message` came from `client`. A known id with another message is a new request.
  Begin begin(const Client& client, const wire::RequestId& id, const wire::Message& message);

  // Notes the answer to the tenant's request. Errors are not kept, since the next try may do
  // better. Returns the clients that asked for the change; none if the request is not a change.
  std::vector<Client> end(const std::string& tenant, const wire::RequestId& id,
                          const wire::Message& answer);

 private:
  struct Change {
    wire::RequestId id;
    Digest digest;  // of the message
    std::vector<Client> clients;
    std::optional<wire::Message> answer;
    size_t answer_bytes = 0;
  };
  struct Tenant {
    std::list<Change> changes;  // oldest first
    std::map<wire::RequestId, std::list<Change>::iterator> by_id;
    size_t answer_bytes = 0;
  };
  static void drop(Tenant& tenant, std::list<Change>::iterator change);

  std::map<std::string, Tenant> tenants_;
};

}  // namespace cascade
