// Parses HTTP/1.1 requests from bytes, with limits. It is strict where a proxy in front might read
// the same bytes in another way.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cascade::http {

inline constexpr size_t kHeadBytesMax = size_t{16} << 10;
inline constexpr size_t kBodyBytesMax = size_t{16} << 20;  // a context of a million tokens: 5 MiB

struct Request {
  std::string method;
  std::string path;   // of the target, without its query; not decoded
  std::string query;  // after the '?'
  std::string host;
  std::string origin;            // empty: none
  std::string key;               // of Authorization: Bearer, or X-Api-Key; empty: none
  std::string content_encoding;  // of the body; empty: none
  // The method and headers of a request that a page wants to make, if its browser asks for
  // permission.
  std::string asked_method;  // empty: it does not ask
  std::string asked_headers;
  bool asks_private_network = false;
  bool http_1_0 = false;
  bool keep_alive = false;
  bool expects_continue = false;
  std::string body;
};

struct HttpError {
  int status = 400;
  std::string message;
};

// The requests of one connection, one after the other.
class RequestParser {
 public:
  enum class State {
    kHead,  // of the next request
    kBody,
    kDone,
  };

  RequestParser();
  ~RequestParser();

  // Takes received bytes. Advances at most to the end of the head (then call read_body()) or of the
  // request. After an error the connection cannot be used any more.
  std::optional<HttpError> feed(std::string_view bytes);
  // Continues with the body, once the head is there and was checked.
  std::optional<HttpError> read_body();

  State state() const { return state_; }
  // Whether bytes of the next request have come.
  bool begun() const { return state_ != State::kHead || !in_.empty(); }
  // The request as far as it was received; without its body before kDone.
  const Request& request() const { return request_; }
  // The number of bytes of the body so far.
  size_t body_bytes() const;
  // Whether the head says that the body has at most `bytes` bytes. Precondition: the head is there.
  bool body_has_at_most(size_t bytes) const;
  // Takes the whole request. The parser continues with the next one, which may be there already.
  Request take();
  std::optional<HttpError> next() { return feed({}); }

 private:
  struct Message;
  std::optional<HttpError> parse_head(size_t size);

  State state_ = State::kHead;
  bool reading_body_ = false;
  std::string in_;
  size_t searched_ = 0;  // bytes of in_ that do not contain the end of the head
  Request request_;
  std::unique_ptr<Message> message_;
};

}  // namespace cascade::http
