// The server's tick checks the time limits and closes the socket; every pending operation ends
// then.
#include "actors/http/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/write.hpp>
#include <boost/beast/http/status.hpp>

namespace cascade {
namespace {

constexpr size_t kReadBytes = size_t{16} << 10;
constexpr size_t kWriteBytes = size_t{64} << 10;
// How much, and for how long, we still read from a client when the connection ends. Many clients
// read no answer before they have sent everything; the rest that they send would cause a reset.
constexpr size_t kLingerBytesMax = size_t{256} << 20;
constexpr std::chrono::milliseconds kLinger{2000};
// How often to check a client that has sent more than its request, while it waits for an answer.
constexpr std::chrono::milliseconds kPoll{250};

using boost::system::error_code;

std::string hex(size_t number) {
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[number % 16]);
    number /= 16;
  } while (number > 0);
  return digits;
}

}  // namespace

Connection::Connection(Socket socket, const HttpLimits& limits, TenantParts& bodies)
    : socket_(std::move(socket)),
      poll_(socket_.get_executor()),
      limits_(limits),
      bodies_(bodies),
      deadline_(Clock::now() + limits.head) {}

Connection::~Connection() {
  uncount_body();
}

// Receives more bytes for the parser's next step; false if there are none.
Task<bool> Connection::receive() {
  buffer_.resize(kReadBytes);
  error_code failed;
  const size_t size = co_await socket_.async_read_some(
      asio::buffer(buffer_), asio::redirect_error(asio::use_awaitable, failed));
  buffer_.resize(failed ? 0 : size);
  co_return !buffer_.empty();
}

Task<Connection::Read> Connection::read_head() {
  waiting_ = true;
  headers_.clear();
  status_ = 0;
  std::optional<http::HttpError> wrong = parser_.next();
  bool begun = parser_.begun();
  while (!wrong && parser_.state() == http::RequestParser::State::kHead) {
    const bool more = co_await receive();
    if (!more) co_return Read::kClosed;
    if (!begun) {
      begun = true;
      allow(limits_.head);
    }
    wrong = parser_.feed({buffer_.data(), buffer_.size()});
  }
  buffer_ = {};
  waiting_ = false;
  if (wrong) {
    error_ = *wrong;
    keep_alive_ = false;
    co_return Read::kBad;
  }
  head_only_ = parser_.request().method == "HEAD";
  http_1_0_ = parser_.request().http_1_0;
  keep_alive_ = parser_.request().keep_alive;
  co_return Read::kOk;
}

// Whether there is room for the body among the bodies of all connections.
bool Connection::count_body() {
  const auto small = static_cast<int64_t>(HttpLimits::kSmallBodyBytes);
  const auto bytes = static_cast<int64_t>(parser_.body_bytes());
  const int64_t more = std::max<int64_t>(0, bytes - small) - body_counted_;
  if (more <= 0) return true;
  if (!bodies_.may_take(body_tenant_, more)) return false;
  bodies_.add(body_tenant_, more);
  body_counted_ += more;
  return true;
}

void Connection::uncount_body() {
  bodies_.add(body_tenant_, -std::exchange(body_counted_, 0));
}

Task<Connection::Read> Connection::read_body(const std::string& tenant) {
  body_tenant_ = tenant;
  allow(limits_.body);
  if (parser_.request().expects_continue) {
    const bool written = co_await write("HTTP/1.1 100 Continue\r\n\r\n");
    if (!written) co_return Read::kClosed;
    allow(limits_.body);
  }
  std::optional<http::HttpError> wrong = parser_.read_body();
  while (!wrong && parser_.state() != http::RequestParser::State::kDone) {
    if (!count_body()) {
      wrong = http::HttpError{503, "this tenant sends too many large requests at once; try again"};
      break;
    }
    const bool more = co_await receive();
    if (!more) co_return Read::kClosed;
    wrong = parser_.feed({buffer_.data(), buffer_.size()});
  }
  buffer_ = {};
  deadline_ = Clock::time_point::max();
  if (!wrong) co_return Read::kOk;
  error_ = *wrong;
  keep_alive_ = false;
  co_return Read::kBad;
}

http::Request Connection::take_request() {
  uncount_body();
  return parser_.take();
}

std::string Connection::head_text(const HttpReply& reply, bool chunked) {
  status_ = reply.status;
  const auto status = static_cast<boost::beast::http::status>(reply.status);
  const auto reason = boost::beast::http::obsolete_reason(status);
  std::string head = "HTTP/1.1 " + std::to_string(reply.status) + " " +
                     std::string(reason.data(), reason.size()) + "\r\n";
  const bool has_content = reply.status != 204;
  if (has_content) head += "Content-Type: " + reply.type + "\r\n";
  if (chunked && !http_1_0_) head += "Transfer-Encoding: chunked\r\n";
  if (!chunked && has_content) {
    head += "Content-Length: " + std::to_string(reply.body.size()) + "\r\n";
  }
  for (const auto& [name, value] : reply.headers) head += name + ": " + value + "\r\n";
  for (const auto& [name, value] : headers_) head += name + ": " + value + "\r\n";
  head += "X-Content-Type-Options: nosniff\r\n";
  if (!keep_alive_) head += "Connection: close\r\n";
  if (keep_alive_ && http_1_0_) head += "Connection: keep-alive\r\n";
  return head + "\r\n";
}

Task<bool> Connection::reply(const HttpReply& reply) {
  std::string text = head_text(reply, /*chunked=*/false);
  if (!head_only_) text += reply.body;
  const bool written = co_await write(text);
  allow(limits_.idle);
  co_return written;
}

Task<bool> Connection::begin_stream(const HttpReply& head) {
  if (http_1_0_) keep_alive_ = false;  // the stream ends with the connection
  const std::string text = head_text(head, /*chunked=*/true);
  const bool written = co_await write(text);
  co_return written;
}

Task<bool> Connection::stream(const std::string& text) {
  if (text.empty()) co_return true;
  const std::string framed = http_1_0_ ? text : hex(text.size()) + "\r\n" + text + "\r\n";
  const bool written = co_await write(framed);
  co_return written;
}

Task<bool> Connection::end_stream() {
  const bool written = co_await write(http_1_0_ ? "" : "0\r\n\r\n");
  allow(limits_.idle);
  co_return written;
}

Task<bool> Connection::write(std::string_view bytes) {
  writing_ = true;
  while (!bytes.empty()) {
    allow(limits_.write_stall);
    const std::string_view piece = bytes.substr(0, kWriteBytes);
    error_code failed;
    co_await asio::async_write(socket_, asio::buffer(piece.data(), piece.size()),
                               asio::redirect_error(asio::use_awaitable, failed));
    if (failed) {
      writing_ = false;
      co_return false;
    }
    bytes.remove_prefix(piece.size());
  }
  writing_ = false;
  deadline_ = Clock::time_point::max();
  co_return true;
}

void Connection::set_exchange(Abandonable* exchange) {
  exchange_ = exchange;
  if (exchange_ == nullptr) poll_.cancel();
  if (exchange_ == nullptr || watching_) return;
  watching_ = true;
  asio::co_spawn(socket_.get_executor(), watch_client(),
                 [self = shared_from_this()](const std::exception_ptr&) {});
}

// Waits until there is something to read, which is mostly the end of the connection. It continues
// to wait when the exchange is over; the next request ends the wait.
Task<> Connection::watch_client() {
  error_code failed;
  co_await socket_.async_wait(Socket::wait_read, asio::redirect_error(asio::use_awaitable, failed));
  while (exchange_ != nullptr && socket_.is_open()) {
    if (client_is_gone()) {
      exchange_->abandon();
      break;
    }
    poll_.expires_after(kPoll);
    co_await poll_.async_wait(asio::redirect_error(asio::use_awaitable, failed));
  }
  watching_ = false;
}

// A client that has closed its side for sending is taken to have left, as in other servers.
bool Connection::client_is_gone() {
  pollfd state = {socket_.native_handle(), POLLRDHUP, 0};
  return ::poll(&state, 1, 0) > 0;
}

bool Connection::has_input() {
  if (!socket_.is_open()) return false;
  pollfd state = {socket_.native_handle(), POLLIN, 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & POLLIN) != 0;
}

void Connection::check_time(Clock::time_point now) {
  if (now >= deadline_) close();
}

Task<> Connection::linger() {
  error_code failed;
  socket_.shutdown(Socket::shutdown_send, failed);
  allow(kLinger);
  for (size_t bytes = 0; bytes < kLingerBytesMax; bytes += buffer_.size()) {
    const bool more = co_await receive();
    if (!more) break;
  }
  close();
}

void Connection::close() {
  error_code ignored;
  socket_.close(ignored);
  poll_.cancel();
  if (exchange_ != nullptr) exchange_->abandon();
}

}  // namespace cascade
