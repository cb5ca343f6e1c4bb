// One HTTP connection to our own daemon: requests with a JSON body, one after another.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace cascade::serve {

// Used by one thread. Calls block, up to a minute for an answer.
class HttpClient {
 public:
  // Errors: kUnavailable if nobody listens at that port of 127.0.0.1.
  static Result<std::unique_ptr<HttpClient>> connect(int port);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Returns the body of the answer. Errors: kUnavailable if the connection ends or the status is
  // not 200; kInternal if the answer has no Content-Length or is not JSON.
  Result<OrderedJson> post(const std::string& path, const OrderedJson& body);

 private:
  explicit HttpClient(int socket) : socket_(socket) {}
  Status receive();

  int socket_;
  std::string received_;  // of the answer
};

// A port of 127.0.0.1 where nobody listens now. Errors: those of io_error.
Result<int> free_port();

sockaddr_in local_address(int port);

// The body of a completion whose answer has exactly `tokens` tokens and is always the same.
OrderedJson completion_body(const std::string& prompt, int64_t tokens);

}  // namespace cascade::serve
