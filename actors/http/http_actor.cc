// One thread, with a coroutine for each connection.
#include "actors/http/http_actor.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <map>
#include <stdexcept>
#include <string_view>

#include "actors/connection_table.h"
#include "actors/http/api.h"
#include "actors/http/content_coding.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/sanitized.h"
#include "base/tenant.h"

namespace cascade {
namespace {

using boost::system::error_code;

// How often time limits are checked.
constexpr std::chrono::milliseconds kTick{250};
// How long a daemon that stops waits for clients to take their last answers.
constexpr std::chrono::milliseconds kStopWait{1000};
// How long a daemon that has lost its scheduler waits instead.
constexpr std::chrono::milliseconds kFailureWait{100};
// When no descriptor is left for more connections, the next try comes after this time.
constexpr std::chrono::milliseconds kAcceptPause{50};

// The largest bodies that are read although their requests are refused. The first limit has room
// for a conversation. The second is one stranger's share when all connections together may hold 64
// MiB for strangers.
constexpr size_t kRefusedBodyBytes = size_t{1} << 20;
constexpr size_t kStrangersBodyBytes = size_t{16} << 10;

// How much of a path and of a method is logged; none of ours is longer.
constexpr size_t kPathBytesShown = 200, kMethodBytesShown = 20;

class HttpServer {
 public:
  HttpServer(ZmqContext& context, const HttpListener& listener, const HttpOptions& options,
             uint64_t incarnation)
      : options_(options),
        is_unix_(listener.is_unix()),
        bodies_(static_cast<int64_t>(options.limits.bodies_bytes_max)),
        busy_(std::max<int64_t>(1, static_cast<int64_t>(options.limits.connections_max) / 2)),
        io_(1),
        tick_(io_),
        pause_(io_),
        end_(io_),
        acceptor_(io_),
        link_(
            io_, context, incarnation, [this] { stop(); },
            [this](const std::exception_ptr& error) { fail(error); }),
        api_(link_, options) {
    const int descriptor = ::dup(listener.descriptor());
    if (descriptor < 0) throw std::runtime_error("no descriptor for the HTTP listener");
    const int family = is_unix_ ? AF_UNIX : family_of(descriptor);
    acceptor_.assign(asio::generic::stream_protocol(family, is_unix_ ? 0 : IPPROTO_TCP),
                     descriptor);
  }

  void run() {
    const auto on_end = [this](const std::exception_ptr& error) {
      if (error) fail(error);
    };
    // As this tenant, the gateway asks for the daemon's state and receives Stop. Other tenants are
    // added when they come.
    link_.add_tenant(kLocalTenant);
    asio::co_spawn(io_, api_.watch_status(), on_end);
    asio::co_spawn(io_, accept(), on_end);
    asio::co_spawn(io_, tick(), on_end);
    // Every coroutine must have ended when this returns: they hold objects that refer to the link.
    try {
      io_.run();
    } catch (...) {
      failure_ = std::current_exception();
      end_all();
      io_.run();
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void fail(const std::exception_ptr& error) {
    if (failure_) return;
    failure_ = error;
    // The connections end a little later, so that clients can be told first.
    end_.expires_after(kFailureWait);
    end_.async_wait([this](const error_code&) { end_all(); });
  }

  static int family_of(int descriptor) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
    return address.ss_family;
  }

  Task<> accept() {
    while (!stopping_) {
      error_code failed;
      Connection::Socket socket(io_);
      co_await acceptor_.async_accept(socket, asio::redirect_error(asio::use_awaitable, failed));
      if (stopping_) co_return;
      if (failed) {
        make_room();
        pause_.expires_after(kAcceptPause);
        co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, failed));
        continue;
      }
      if (table_.size() >= options_.limits.connections_max && !make_room()) {
        turn_away(socket);
        continue;
      }
      if (!is_unix_) socket.set_option(asio::ip::tcp::no_delay(true), failed);
      auto connection = std::make_shared<Connection>(std::move(socket), options_.limits, bodies_);
      const ConnectionTable::Id id = next_id_++;
      connections_[id] = connection.get();
      table_.add(id, system_clock().monotonic_us());
      asio::co_spawn(io_, serve(connection, id), [](const std::exception_ptr&) {});
    }
  }

  // Ends the connection that is needed least; false if all are being served, or have sent something
  // that was not read yet.
  bool make_room() {
    for (size_t tries = table_.size(); tries > 0; --tries) {
      const auto next = table_.next_to_go(system_clock().monotonic_us());
      if (!next) return false;
      Connection& connection = *connections_.at(*next);
      if (connection.has_input()) {
        table_.set_busy(*next, false, system_clock().monotonic_us());
        continue;
      }
      table_.remove(*next);
      connection.close();
      return true;
    }
    return false;
  }

  // Tells the client why, if that is possible without waiting.
  static void turn_away(Connection::Socket& socket) {
    constexpr std::string_view kNoRoom =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\n"
        "Connection: close\r\n\r\n";
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(kNoRoom), ignored);
    socket.close(ignored);
  }

  Task<> serve(std::shared_ptr<Connection> connection, ConnectionTable::Id id) {
    api_.set_connections(connections_.size());
    try {
      while (true) {
        const bool more = co_await serve_one(*connection, id);
        if (!more || stopping_) break;
      }
    } catch (const std::exception& error) {
      // Only this connection has failed: the others continue.
      spdlog::error("an HTTP request failed: {}", error.what());
    }
    connection->close();
    table_.remove(id);
    connections_.erase(id);
    api_.set_connections(connections_.size());
  }

  // While this object lives, the connection is being served, and counts as one of its tenant's
  // connections that are being served.
  class Turn {
   public:
    Turn(HttpServer& server, ConnectionTable::Id id, const std::string& tenant)
        : server_(server), id_(id), tenant_(tenant) {
      server_.table_.heard(id, tenant, system_clock().monotonic_us());
      server_.table_.set_busy(id, true, system_clock().monotonic_us());
      server_.busy_.add(tenant, 1);
    }
    ~Turn() {
      server_.busy_.add(tenant_, -1);
      server_.table_.set_busy(id_, false, system_clock().monotonic_us());
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    HttpServer& server_;
    const ConnectionTable::Id id_;
    const std::string tenant_;
  };

  // Serves one request. False: the connection has ended.
  Task<bool> serve_one(Connection& connection, ConnectionTable::Id id) {
    const Connection::Read read = co_await connection.read_head();
    if (read == Connection::Read::kClosed) co_return false;
    const auto begin = Connection::Clock::now();
    HttpCall call{connection, connection.request(), {}, {}, {}, {}, random_id("req")};
    std::optional<openai::ApiError> refused;
    if (read == Connection::Read::kBad) {
      refused = protocol_error(connection.error());
    } else {
      refused = api_.admit(call, /*check_host=*/!is_unix_);
    }
    const bool more = co_await answer_one(call, std::move(refused), read, id);
    log_request(call, Connection::Clock::now() - begin);
    co_return more;
  }

  // Answers the request of connection `id` whose head has come, or sends its error if it is
  // `refused`. False: the connection has ended.
  Task<bool> answer_one(HttpCall& call, std::optional<openai::ApiError> refused,
                        Connection::Read read, ConnectionTable::Id id) {
    Connection& connection = call.connection;
    std::optional<Turn> turn;
    if (!refused && call.action != http::Action::kHealth) {
      if (busy_.may_take(call.tenant, 1)) {
        turn.emplace(*this, id, call.tenant);
      } else {
        refused = protocol_error({503, "this tenant has " + std::to_string(busy_.of(call.tenant)) +
                                           " requests under way; try again"});
      }
    }
    // The small body of a refused request is read and dropped, so that the connection can continue.
    const bool goes_on = !refused || (read == Connection::Read::kOk && is_skipped(call, *refused));
    if (goes_on) {
      read = co_await connection.read_body(call.tenant);
      if (read == Connection::Read::kClosed) co_return false;
      if (read == Connection::Read::kBad) refused = protocol_error(connection.error());
      if (read == Connection::Read::kOk) call.request = connection.take_request();
      if (!refused) refused = decoded_body(call.request);
    }
    if (!refused) {
      const bool sent = co_await api_.answer(call);
      co_return sent&& connection.keeps_alive();
    }
    const bool whole = goes_on && read == Connection::Read::kOk;
    if (!whole) connection.close_after_reply();
    const bool sent = co_await api_.refuse(connection, *refused, call.name);
    if (sent && !whole) co_await connection.linger();
    co_return sent&& connection.keeps_alive();
  }

  // Whether the body of a refused request may be read. A client that has not shown a key, or comes
  // from elsewhere, gets less memory.
  static bool is_skipped(const HttpCall& call, const openai::ApiError& refused) {
    const bool stranger = refused.status == 401 || refused.status == 403;
    return call.connection.body_has_at_most(stranger ? kStrangersBodyBytes : kRefusedBodyBytes);
  }

  static std::optional<openai::ApiError> decoded_body(http::Request& request) {
    std::string body;
    const auto wrong =
        http::decode_body(request.content_encoding, request.body, http::kBodyBytesMax, body);
    if (wrong) return protocol_error(*wrong);
    request.body = std::move(body);
    return std::nullopt;
  }

  // Leaves out what may be secret: queries, headers and bodies. Text written by a client cannot
  // affect a terminal.
  static void log_request(const HttpCall& call, Connection::Clock::duration took) {
    if (!spdlog::should_log(spdlog::level::debug)) return;
    const auto shown = [](const std::string& text, size_t bytes_max) {
      const bool cut = text.size() > bytes_max;
      return sanitized(text.substr(0, bytes_max)) + (cut ? "..." : "");
    };
    const int status = call.connection.status();
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
    spdlog::debug("HTTP {} {} {} {} ms tenant {}", shown(call.request.method, kMethodBytesShown),
                  shown(call.request.path, kPathBytesShown),
                  status == 0 ? "no reply" : std::to_string(status), ms,
                  call.tenant.empty() ? "-" : call.tenant);
  }

  static openai::ApiError protocol_error(const http::HttpError& error) {
    openai::ApiError result;
    result.status = error.status;
    result.type = error.status == 503 ? "overloaded_error" : "invalid_request_error";
    result.code = error.status == 413 ? "request_too_large" : "invalid_http";
    if (error.status == 503) result.code = "resource_exhausted";
    result.retry_after_ms = error.status == 503 ? 1000 : 0;
    result.message = error.message;
    return result;
  }

  Task<> tick() {
    Connection::Clock::time_point stop_at = Connection::Clock::time_point::max();
    while (true) {
      tick_.expires_after(stopping_ ? kTick / 10 : kTick);
      error_code woken;
      co_await tick_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      if (ended_) co_return;
      const auto now = Connection::Clock::now();
      const std::map<ConnectionTable::Id, Connection*> all = connections_;
      for (const auto& [id, connection] : all) {
        connection->check_time(now);
        if (stopping_ && connection->is_waiting()) connection->close();
      }
      if (!stopping_) continue;
      stop_at = std::min(stop_at, now + kStopWait);
      if (connections_.empty() || now >= stop_at) break;
    }
    end_all();
  }

  void end_all() {
    ended_ = true;
    stop();
    const std::map<ConnectionTable::Id, Connection*> all = connections_;
    for (const auto& [id, connection] : all) connection->close();
    api_.close();
    link_.close();
  }

  // Called when the scheduler has given all answers that it will give.
  void stop() {
    if (std::exchange(stopping_, true)) return;
    error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    tick_.cancel();
  }

  const HttpOptions& options_;
  const bool is_unix_;
  TenantParts bodies_;
  TenantParts busy_;  // connections being served, up to half of the limit: others find a place
  ConnectionTable table_;
  ConnectionTable::Id next_id_ = 1;
  std::map<ConnectionTable::Id, Connection*> connections_;
  bool stopping_ = false;
  bool ended_ = false;
  std::exception_ptr failure_;
  asio::io_context io_;
  asio::steady_timer tick_;
  asio::steady_timer pause_;
  asio::steady_timer end_;
  asio::basic_socket_acceptor<asio::generic::stream_protocol> acceptor_;
  SchedulerLink link_;
  Api api_;
};

}  // namespace

void run_http(ZmqContext& context, const HttpListener& listener, const HttpOptions& options,
              uint64_t incarnation) {
  HttpServer server(context, listener, options, incarnation);
  server.run();
}

}  // namespace cascade
