// Where the daemon listens: the default, and a quick look at whether anybody is there.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace cascade::client {

// The field of every error that means "the daemon was not reached, or is gone"; its code is
// kUnavailable. Errors that the daemon sent have other fields.
inline constexpr std::string_view kEndpointField = "endpoint";
Error unreachable(std::string message);
// Whether `error` was made by unreachable().
bool is_unreachable(const Error& error);

// $CASCADE_ENDPOINT; empty if it is not set.
std::string endpoint_of_environment();
// The endpoints at which a client without one looks for a daemon, in this order: the sockets in
// client_run_dirs() (base/run_places.h).
std::vector<std::string> default_endpoints();
// $CASCADE_ENDPOINT; else that of default_endpoints() at which a daemon listens; else the first
// that is there, though nobody listens or this user may not open it; else the system's. Reads the
// environment: not while another thread changes it. Blocks for microseconds.
std::string default_endpoint();

// Errors: kInvalidArgument if `endpoint` is not ipc://PATH (of at most 107 bytes) or
// tcp://HOST:PORT. For ipc also kUnavailable, with the reason, if the socket is not there, not
// permitted, or nobody listens on it: ZeroMQ would try again and again in silence. Blocks for
// microseconds.
Status probe_endpoint(const std::string& endpoint);

// Whether it is the path of a socket that this user may not open, whoever listens there.
bool is_forbidden(const std::string& endpoint);

}  // namespace cascade::client
