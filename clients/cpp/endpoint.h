// Where the daemon listens: the default, and a quick look at whether anybody is there.
#pragma once

#include <string>

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
// The same; else ipc://$XDG_RUNTIME_DIR/cascaded/cascaded.sock if that socket exists; else that of
// /tmp/cascaded-UID if it does and the folder is this user's; else
// ipc:///run/cascaded/cascaded.sock. Reads the environment: not while another thread changes it.
std::string default_endpoint();

// Errors: kInvalidArgument if `endpoint` is not ipc://PATH (of at most 107 bytes) or
// tcp://HOST:PORT. For ipc also kUnavailable, with the reason, if the socket is not there, not
// permitted, or nobody listens on it: ZeroMQ would try again and again in silence. Blocks for
// microseconds.
Status probe_endpoint(const std::string& endpoint);

}  // namespace cascade::client
