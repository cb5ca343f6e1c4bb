// What happens to the chunks and requests of a daemon's clients, as it happens.
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
  // Events come from now on; with `since`, those behind that number first, as far as the daemon
  // keeps them (4,096 of a tenant).
  // Errors: as Client::connect; unreachable() also if the daemon does not publish.
  static Result<EventStream> connect(const std::string& endpoint,
                                     std::optional<int64_t> since = std::nullopt,
                                     const ClientOptions& options = {});
  EventStream(EventStream&&) noexcept;
  EventStream& operator=(EventStream&&) noexcept;
  ~EventStream();

  struct Next {
    std::vector<wire::EventNotice> events;  // in order; what was lost on the way is fetched
    bool gap = false;  // before these, events were lost for good: state is to be read anew
  };
  // What has come, at the latest after `wait_ms`, or when a signal arrives; nothing if nothing
  // came. Errors: unreachable() when the daemon is gone, which is seen within some 2 s.
  Result<Next> next(int64_t wait_ms);

  // Of the events so far, the number of the last.
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
