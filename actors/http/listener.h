// The place where the HTTP gateway listens: a TCP address, or a socket in the file system.
#pragma once

#include <string>

#include "base/result.h"

namespace cascade {

// Owns the listening descriptor, which outlives an incarnation of the actor.
class HttpListener {
 public:
  // Opens "127.0.0.1:8178", "[::1]:8178", "localhost:8178" (127.0.0.1), port 0 for any, or
  // "unix:PATH". A socket file that nobody listens on is replaced. Errors: kInvalidArgument for an
  // invalid address; kIo if it cannot be bound.
  static Result<HttpListener> open(const std::string& address);
  // Takes a stream socket that somebody else has bound, and makes it listen. If the socket has a
  // file, the file is not removed at the end. Takes the descriptor, also on errors. Errors:
  // kInvalidArgument for a socket of another kind.
  static Result<HttpListener> adopt(int descriptor);
  ~HttpListener();
  HttpListener(HttpListener&& other) noexcept;
  HttpListener& operator=(HttpListener&&) = delete;

  int descriptor() const { return descriptor_; }
  // The address to connect to: "127.0.0.1:8178" with the actual port, or "unix:PATH".
  const std::string& address() const { return address_; }
  bool is_unix() const { return unix_; }
  // Whether only this machine can connect.
  bool is_local() const { return local_; }

 private:
  HttpListener() = default;
  int descriptor_ = -1;
  std::string address_;
  std::string path_;  // of the listener's socket file
  bool unix_ = false;
  bool local_ = false;
};

}  // namespace cascade
