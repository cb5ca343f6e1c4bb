// The events of the chunks and requests of a daemon's clients, as they happen.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "clients/cpp/client.h"
#include "wire/messages.h"

namespace cascade::client {

// One object, one thread at a time. Movable.
class EventStream {
 public:
  // Events come from now on. With `since`, the events after that number come first, as far as the
  // daemon keeps them (4,096 per tenant). Errors: those of Client::connect; unreachable() also if
  // the daemon does not publish.
  static Result<EventStream> connect(const std::string& endpoint,
                                     std::optional<int64_t> since = std::nullopt,
                                     const ClientOptions& options = {});
  EventStream(EventStream&&) noexcept;
  EventStream& operator=(EventStream&&) noexcept;
  ~EventStream();

  struct Next {
    std::vector<wire::EventNotice> events;  // in order; events that were lost on the way are
                                            // fetched
    bool gap = false;  // before these, events were lost for good: read the state anew
  };
  // The events that have come. Returns after `wait_ms` or at a signal at the latest, with nothing
  // if nothing came. Error: unreachable() when the daemon has ended, which is noticed within some 2
  // s.
  Result<Next> next(int64_t wait_ms);

  // The number of the last event so far.
  int64_t last() const { return last_; }

 private:
  struct Subscription;
  EventStream(Client client, std::unique_ptr<Subscription> subscription);

  Status fetch(Next& next);

  Client client_;
  std::unique_ptr<Subscription> subscription_;
  std::string boot_id_;
  int64_t last_ = 0;
  int64_t checked_ms_ = 0;  // when the daemon was last known to be there
};

}  // namespace cascade::client
