// The latest events of each tenant, numbered, so that a client that missed some can read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "wire/messages.h"

namespace cascade {

// One thread.
class EventLog {
 public:
  // Keeps `events_max` events of each tenant; the oldest are dropped first.
  explicit EventLog(size_t events_max) : events_max_(events_max) {}

  // Numbers the event; a tenant's first event has number 1. The reference holds until the next
  // call.
  const wire::EventNotice& add(const std::string& tenant, wire::EventNotice event);

  // Returns the events after number request.after, at most request.limit of them. `boot_id` is the
  // daemon's.
  wire::EventsReply read(const std::string& tenant, const wire::EventsRequest& request,
                         const std::string& boot_id) const;

 private:
  struct Log {
    int64_t last = 0;  // the number of the newest event
    std::deque<wire::EventNotice> events;
  };

  const size_t events_max_;
  std::map<std::string, Log> logs_;  // by tenant
};

}  // namespace cascade
