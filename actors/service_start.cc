// While the daemon loads, all requests, even a Ping, get the same answer, which says why there is
// no other.
#include "actors/service_start.h"

#include "wire/loading.h"

namespace cascade {

wire::Frames still_loading(std::span<const wire::Frame> message, const ServiceStart& start) {
  const wire::Loading loading = start.loading();
  wire::ErrorReply reply{{ErrorCode::kUnavailable, std::string(wire::kLoadingField),
                          "the daemon does not serve yet: it is " + wire::loading_text(loading)},
                         kLoadingRetryMs};
  reply.loading = loading;
  return *wire::encode({wire::peek_request_id(message), std::move(reply)});
}

}  // namespace cascade
