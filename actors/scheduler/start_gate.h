// Keeps the requests of clients that ask before all that was stored is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "actors/scheduler/client.h"
#include "actors/scheduler/outbox.h"
#include "base/result.h"
#include "wire/frames.h"

namespace cascade {

// One thread. If the daemon answered without the store's chunks, it would say that there are none.
class StartGate {
 public:
  static constexpr size_t kParkedMax = 1000;
  static constexpr int64_t kRetryMs = 100;  // after which a client should ask again
  using Parked = std::pair<Client, wire::Envelope>;

  // `outbox` outlives this.
  explicit StartGate(Outbox& outbox) : outbox_(outbox) {}

  // Whether all that was stored is known.
  bool is_open() const { return is_open_; }
  // Keeps the request until open(). When kParkedMax are kept, it is refused with kUnavailable.
  void park(const Client& client, wire::Envelope&& envelope) {
    if (parked_.size() >= kParkedMax) {
      return outbox_.reply_error(client, envelope.request,
                                 {ErrorCode::kUnavailable, "", "the daemon is starting"}, kRetryMs);
    }
    parked_.emplace_back(client, std::move(envelope));
  }
  // The client is gone: drops its requests.
  void client_gone(const Client& client) {
    std::erase_if(parked_, [&](const Parked& parked) { return parked.first == client; });
  }
  // All that was stored is known. Returns the requests that came before, in their order.
  std::vector<Parked> open() {
    is_open_ = true;
    return std::exchange(parked_, {});
  }

 private:
  Outbox& outbox_;
  bool is_open_ = false;
  std::vector<Parked> parked_;
};

}  // namespace cascade
