// The numbers of events have no gaps, so an event's place follows from its number.
#include "actors/scheduler/event_log.h"

#include <algorithm>
#include <utility>

namespace cascade {

const wire::EventNotice& EventLog::add(const std::string& tenant, wire::EventNotice event) {
  Log& log = logs_[tenant];
  event.sequence = ++log.last;
  log.events.push_back(std::move(event));
  if (log.events.size() > events_max_) log.events.pop_front();
  return log.events.back();
}

wire::EventsReply EventLog::read(const std::string& tenant, const wire::EventsRequest& request,
                                 const std::string& boot_id) const {
  wire::EventsReply reply;
  reply.boot_id = boot_id;
  // Numbers of an earlier daemon mean nothing here, and neither do numbers that were never given.
  const bool other = !request.boot_id.empty() && request.boot_id != boot_id;
  const auto found = logs_.find(tenant);
  const int64_t last = found == logs_.end() ? 0 : found->second.last;
  reply.gap = other || request.after > last;
  const int64_t after = reply.gap ? 0 : request.after;
  reply.last = last;
  if (found == logs_.end()) return reply;
  const std::deque<wire::EventNotice>& events = found->second.events;
  const int64_t before = last - static_cast<int64_t>(events.size());  // the newest dropped event
  if (after < before) reply.gap = true;
  const int64_t begin = std::max<int64_t>(after - before, 0);
  const int64_t count =
      std::min<int64_t>(request.limit, static_cast<int64_t>(events.size()) - begin);
  reply.events.assign(events.begin() + begin, events.begin() + begin + count);
  return reply;
}

}  // namespace cascade
