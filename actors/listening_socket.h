// A socket that listens where a ZeroMQ endpoint says, for ZeroMQ to accept from.
#pragma once

#include <string>

#include "base/result.h"

namespace cascade {

// A non-blocking descriptor, the caller's to close, at "ipc:///path" or "tcp://ADDRESS:PORT". A
// socket's file that is there is replaced: whether somebody serves at it is for the caller to know.
// Errors: kIo or kInvalidArgument with the endpoint as field.
Result<int> open_listening_socket(const std::string& endpoint);

}  // namespace cascade
