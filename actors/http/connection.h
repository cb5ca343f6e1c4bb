// One HTTP connection: requests in, replies out, each step with its time limit.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/asio.h"
#include "actors/http/abandonable.h"
#include "actors/http/request_parser.h"
#include "cache/tenant_parts.h"

namespace cascade {

class Exchange;

// How long a client may take, and how much memory all bodies that are being received may take. Only
// the part of each body beyond kSmallBodyBytes counts, so that no small request waits for large
// ones.
struct HttpLimits {
  static constexpr size_t kSmallBodyBytes = size_t{64} << 10;
  std::chrono::milliseconds head{10'000};         // for the head of a request, once it has begun
  std::chrono::milliseconds body{30'000};         // for its body
  std::chrono::milliseconds idle{60'000};         // between requests
  std::chrono::milliseconds write_stall{30'000};  // for 64 KiB of a reply
  size_t bodies_bytes_max = size_t{256} << 20;    // shared out among tenants
  size_t connections_max = 4096;
};

struct HttpReply {
  int status = 200;
  std::string body;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// One thread. Shared by the coroutines that use it.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = asio::generic::stream_protocol::socket;
  using Clock = std::chrono::steady_clock;

  // `bodies`: the bytes that the bodies of all connections take; outlives the connection.
  Connection(Socket socket, const HttpLimits& limits, TenantParts& bodies);
  ~Connection();

  enum class Read { kOk, kClosed, kBad };
  // Read the next request: first its head, then its body, which counts for the tenant. kBad:
  // error() says why, and nothing more can be read.
  Task<Read> read_head();
  Task<Read> read_body(const std::string& tenant);
  const http::Request& request() const { return parser_.request(); }
  const http::HttpError& error() const { return error_; }
  // Takes the request with its body; a reply to it is due.
  http::Request take_request();

  // Sends a reply; false if the client has left. A reply may be streamed instead: its beginning,
  // pieces, and its end.
  Task<bool> reply(const HttpReply& reply);
  Task<bool> begin_stream(const HttpReply& head);
  Task<bool> stream(const std::string& text);
  Task<bool> end_stream();
  // The connection ends with the reply to the current request.
  void close_after_reply() { keep_alive_ = false; }
  // Adds a header to the reply to the current request. Neither argument may have a control
  // character.
  void add_header(std::string name, std::string value) {
    headers_.emplace_back(std::move(name), std::move(value));
  }
  bool keeps_alive() const { return keep_alive_; }
  // The status of the latest reply; 0: there was none.
  int status() const { return status_; }
  // Whether the head says that the body has at most `bytes` bytes. Precondition: the head was read.
  bool body_has_at_most(size_t bytes) const { return parser_.body_has_at_most(bytes); }

  // Sets the exchange to abandon if the client leaves; nullptr: none.
  void set_exchange(Abandonable* exchange);

  // Ends the connection if a step has taken too long.
  void check_time(Clock::time_point now);
  // Whether the client has sent something that was not read yet, or has ended the connection.
  bool has_input();
  // Whether the connection waits for a request.
  bool is_waiting() const { return waiting_; }
  // Whether a reply is being written.
  bool is_writing() const { return writing_; }
  // Reads on after a reply with which the connection ends, so that the client sees the reply
  // whatever it still sends.
  Task<> linger();
  void close();

 private:
  Task<bool> receive();
  Task<bool> write(std::string_view bytes);
  Task<> watch_client();
  std::string head_text(const HttpReply& reply, bool chunked);
  bool client_is_gone();
  bool count_body();
  void uncount_body();
  void allow(std::chrono::milliseconds time) { deadline_ = Clock::now() + time; }

  Socket socket_;
  asio::steady_timer poll_;
  const HttpLimits& limits_;
  TenantParts& bodies_;
  std::string body_tenant_;
  int64_t body_counted_ = 0;
  http::RequestParser parser_;
  http::HttpError error_;
  std::vector<char> buffer_;
  Abandonable* exchange_ = nullptr;
  bool watching_ = false;
  bool head_only_ = false;  // the request is a HEAD
  bool http_1_0_ = false;
  bool keep_alive_ = true;
  int status_ = 0;
  std::vector<std::pair<std::string, std::string>> headers_;
  bool waiting_ = true;
  bool writing_ = false;
  Clock::time_point deadline_;
};

// While this object lives, the exchange is abandoned if the connection's client leaves.
class WatchedExchange {
 public:
  WatchedExchange(Connection& connection, Abandonable& exchange) : connection_(connection) {
    connection_.set_exchange(&exchange);
  }
  ~WatchedExchange() { connection_.set_exchange(nullptr); }
  WatchedExchange(const WatchedExchange&) = delete;
  WatchedExchange& operator=(const WatchedExchange&) = delete;

 private:
  Connection& connection_;
};

}  // namespace cascade
