// One HTTP connection to a daemon of our own: requests with a JSON body, one after the other.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace cascade::serve {

// One thread. Blocks, up to a minute for an answer.
class HttpClient {
 public:
  // Errors: kUnavailable if nobody listens on the port of 127.0.0.1.
  static Result<std::unique_ptr<HttpClient>> connect(int port);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // The answer's body. Errors: kUnavailable if the connection ends or the status is not 200;
  // kInternal for an answer that has no Content-Length or is no JSON.
  Result<OrderedJson> post(const std::string& path, const OrderedJson& body);

 private:
  explicit HttpClient(int socket) : socket_(socket) {}
  Status receive();

  int socket_;
  std::string received_;  // of the answer
};

// A port of 127.0.0.1 that nobody listens on now. Errors: as io_error.
Result<int> free_port();

sockaddr_in local_address(int port);

// The body of a completion that is answered with exactly `tokens` tokens, always the same.
OrderedJson completion_body(const std::string& prompt, int64_t tokens);

}  // namespace cascade::serve
