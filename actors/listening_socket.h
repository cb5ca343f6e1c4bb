// A socket that listens at a ZeroMQ endpoint, for ZeroMQ to accept from.
#pragma once

#include <string>

#include "base/result.h"

namespace cascade {

// Returns a non-blocking descriptor that listens at "ipc:///path" or "tcp://ADDRESS:PORT"; the
// caller has to close it. An existing socket file is replaced: the caller must know whether
// somebody serves there. Errors: kIo or kInvalidArgument with the endpoint as field.
Result<int> open_listening_socket(const std::string& endpoint);

}  // namespace cascade
