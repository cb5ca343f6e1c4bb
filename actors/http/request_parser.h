// HTTP/1.1 requests out of bytes, with limits. Strict where a proxy in front might read the same
// bytes in another way.
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
  std::string query;  // behind the '?'
  std::string host;
  std::string origin;            // empty: there is none
  std::string key;               // of Authorization: Bearer, or X-Api-Key; empty: there is none
  std::string content_encoding;  // of the body; empty: none
  // Of a browser that asks whether a page may make a request: its method and headers.
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

// One connection's requests, one after the other.
class RequestParser {
 public:
  enum class State {
    kHead,  // of the next request
    kBody,
    kDone,
  };

  RequestParser();
  ~RequestParser();

  // Takes received bytes; advances at most to the end of the head (then call read_body()) or of the
  // request. After an error the connection is of no more use.
  std::optional<HttpError> feed(std::string_view bytes);
  // The head is there and was looked at: go on with the body.
  std::optional<HttpError> read_body();

  State state() const { return state_; }
  // Whether bytes of the next request have come.
  bool begun() const { return state_ != State::kHead || !in_.empty(); }
  // The request as far as it is there; without its body before kDone.
  const Request& request() const { return request_; }
  // Of the body so far.
  size_t body_bytes() const;
  // The head is there: whether it says that the body has at most so many bytes.
  bool body_has_at_most(size_t bytes) const;
  // The whole request; the parser goes on with the next, of which all may be there already.
  Request take();
  std::optional<HttpError> next() { return feed({}); }

 private:
  struct Message;
  std::optional<HttpError> parse_head(size_t size);

  State state_ = State::kHead;
  bool reading_body_ = false;
  std::string in_;
  size_t searched_ = 0;  // bytes of in_ in which the end of the head is not
  Request request_;
  std::unique_ptr<Message> message_;
};

}  // namespace cascade::http
