// What clients are told of as it happens: to their tenant's gateway, and into the log.
#include <utility>

#include "actors/scheduler/scheduler_core.h"

namespace cascade {
void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       const wire::EventsRequest& request) {
  outbox_.reply(client, id, outbox_.events(client.tenant, request));
}

}  // namespace cascade
