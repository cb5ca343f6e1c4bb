// The daemon's default endpoint, and a quick check whether anybody listens at an endpoint.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace cascade::client {

// The field of every error that means "the daemon was not reached, or has ended"; the code of these
// errors is kUnavailable. Errors that the daemon sent have other fields.
inline constexpr std::string_view kEndpointField = "endpoint";
Error unreachable(std::string message);
// Whether `error` was made by unreachable().
bool is_unreachable(const Error& error);

// The value of $CASCADE_ENDPOINT; empty if it is not set.
std::string endpoint_of_environment();
// The endpoints where a client that was given none looks for a daemon, in this order: the sockets
// in client_run_dirs() (base/run_places.h).
std::vector<std::string> default_endpoints();
// The endpoint of a client that was given none. It is the first of these: $CASCADE_ENDPOINT; the
// first of default_endpoints() at which a daemon listens; the first whose socket exists, even if
// nobody listens or this user may not open it; the system's. Reads the environment, so no other
// thread may change it meanwhile. Blocks for microseconds.
std::string default_endpoint();

// Errors: kInvalidArgument if `endpoint` is neither ipc://PATH (of at most 107 bytes) nor
// tcp://HOST:PORT. For ipc also kUnavailable, with the reason, if the socket does not exist, may
// not be opened, or nobody listens on it: ZeroMQ would try again and again without an error. Blocks
// for microseconds.
Status probe_endpoint(const std::string& endpoint);

// Whether `endpoint` is the path of a socket that this user may not open, whether or not somebody
// listens there.
bool is_forbidden(const std::string& endpoint);

}  // namespace cascade::client
