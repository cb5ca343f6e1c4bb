// The HTTP gateway: OpenAI's API on a socket, in front of the scheduler.
#pragma once

#include <cstdint>

#include "actors/http/http_options.h"
#include "actors/http/listener.h"
#include "actors/zmq_port.h"

namespace cascade {

// Runs on the calling thread until the scheduler sends Stop. It may begin before the scheduler
// exists: requests are answered with 503 until the scheduler says that it serves. Throws
// std::runtime_error if the scheduler has ended. `listener` and `options` outlive it.
void run_http(ZmqContext& context, const HttpListener& listener, const HttpOptions& options,
              uint64_t incarnation);

}  // namespace cascade
