// ZMQ_FD under Asio. The descriptor only says "look", and every send and receive may have consumed
// its edge. So ZMQ_EVENTS is read again before waiting (zmq_getsockopt(3)).
#include "actors/zmq_port.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <stdexcept>
#include <thread>
#include <utility>

#include "actors/listening_socket.h"
#include "base/check.h"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace cascade {
namespace {

// How many messages are handled in a row before other coroutines of the io_context get their turn.
constexpr int kBurstMax = 64;
// The most sockets of a context: HTTP and TCP have two each for every tenant that has come. A file
// of keys has at most 200 tenants (key_lines.h), and reloads may bring others.
constexpr int kSocketsMax = 4096;

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(std::string(what) + ": " + zmq_strerror(zmq_errno()));
}

// Sending a message happens before receiving it. ThreadSanitizer cannot see that in libzmq, which
// is not instrumented and hands messages over by atomics.
void sent_before_received([[maybe_unused]] bool sending) {
#if defined(__SANITIZE_THREAD__)
  static char all_messages;
  sending ? __tsan_release(&all_messages) : __tsan_acquire(&all_messages);
#endif
}

}  // namespace

ZmqContext::ZmqContext() : context_(zmq_ctx_new()) {
  CHECK(context_ != nullptr);
  zmq_ctx_set(context_, ZMQ_MAX_SOCKETS, kSocketsMax);
}

ZmqContext::~ZmqContext() {
  if (context_ != nullptr) zmq_ctx_term(context_);
}

bool ZmqContext::end_within(std::chrono::milliseconds limit) {
  auto ended = std::make_shared<std::promise<void>>();
  auto waiting = ended->get_future();
  std::thread([context = std::exchange(context_, nullptr), ended] {
    zmq_ctx_term(context);
    ended->set_value();
  }).detach();
  return waiting.wait_for(limit) == std::future_status::ready;
}

ZmqPort::ZmqPort(asio::io_context& io, ZmqContext& context, const Options& options)
    : io_(io),
      socket_(zmq_socket(context.get(), options.type), zmq_close),
      connections_max_(options.connections_max),
      tenant_of_(options.tenant_of) {
  if (socket_ == nullptr) fail("zmq_socket");
  set(ZMQ_LINGER, options.linger_ms);
  set(ZMQ_SNDHWM, options.queue_messages_max);
  set(ZMQ_RCVHWM, options.queue_messages_max);
  zmq_setsockopt(socket_.get(), ZMQ_MAXMSGSIZE, &options.message_bytes_max,
                 sizeof options.message_bytes_max);
  if (options.type == ZMQ_ROUTER) {
    set(ZMQ_ROUTER_MANDATORY, 1);  // sending to an unknown receiver is an error
    if (options.replace_peer) set(ZMQ_ROUTER_HANDOVER, 1);
  }
  if (!options.routing_id.empty()) {
    zmq_setsockopt(socket_.get(), ZMQ_ROUTING_ID, options.routing_id.data(),
                   options.routing_id.size());
  }
  if (options.heartbeats) {
    set(ZMQ_HEARTBEAT_IVL, 5000);
    set(ZMQ_HEARTBEAT_TIMEOUT, 15000);
    set(ZMQ_HANDSHAKE_IVL, 5000);
  }
  if (!options.curve_secret_key.empty()) {
    set_curve(options.curve_secret_key);
  } else if (options.watch_peers) {
    set(ZMQ_ZAP_DOMAIN, kOpenZapDomain);
  }
  int fd = -1;
  size_t size = sizeof fd;
  if (zmq_getsockopt(socket_.get(), ZMQ_FD, &fd, &size) != 0) fail("ZMQ_FD");
  descriptor_.emplace(io_, fd);
  if (!options.watch_peers) return;
  guests_.emplace(options.connections_max, /*makes_room=*/options.type == ZMQ_ROUTER);
  start_monitor(context);
}

ZmqPort::~ZmqPort() {
  descriptor_->release();  // the descriptor belongs to ZeroMQ
}

void ZmqPort::set(int option, int value) {
  if (zmq_setsockopt(socket_.get(), option, &value, sizeof value) != 0) fail("zmq_setsockopt");
}

void ZmqPort::set(int option, const std::string& text) {
  if (zmq_setsockopt(socket_.get(), option, text.c_str(), text.size()) != 0) fail("zmq_setsockopt");
}

void ZmqPort::set_curve(const std::string& secret_key) {
  curve_ = true;
  set(ZMQ_CURVE_SERVER, 1);
  set(ZMQ_CURVE_SECRETKEY, secret_key);
  set(ZMQ_ZAP_DOMAIN, kZapDomain);
}

Status ZmqPort::bind(const std::string& endpoint) {
  if (connections_max_ == 0) return bind_socket(endpoint);
  ASSIGN_OR_RETURN(const int listener, open_listening_socket(endpoint));
  return give_listener(endpoint, listener);
}

Status ZmqPort::adopt(const std::string& endpoint, int descriptor) {
  const int duplicate = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (duplicate < 0) return io_error(endpoint, errno);
  return give_listener(endpoint, duplicate);
}

// From then on, ZeroMQ or the guard owns the descriptor, or it is closed.
Status ZmqPort::give_listener(const std::string& endpoint, int descriptor) {
  const int listener = guests_ ? guests_->guard(descriptor) : descriptor;
  set(ZMQ_USE_FD, listener);
  Status bound = bind_socket(endpoint);
  if (!bound.ok()) ::close(listener);
  return bound;
}

Status ZmqPort::bind_socket(const std::string& endpoint) {
  if (zmq_bind(socket_.get(), endpoint.c_str()) == 0) return {};
  return Error{ErrorCode::kIo, endpoint,
               std::string("cannot listen: ") + zmq_strerror(zmq_errno())};
}

Status ZmqPort::connect(const std::string& endpoint) {
  if (zmq_connect(socket_.get(), endpoint.c_str()) == 0) return {};
  return Error{ErrorCode::kIo, endpoint,
               std::string("cannot connect: ") + zmq_strerror(zmq_errno())};
}

// Reading the events consumes the descriptor's edge, so a receiver that waits for it is woken.
// nullopt: zmq_errno() says why not.
std::optional<int> ZmqPort::try_events() {
  int events = 0;
  size_t size = sizeof events;
  while (zmq_getsockopt(socket_.get(), ZMQ_EVENTS, &events, &size) != 0) {
    if (zmq_errno() != EINTR) return std::nullopt;
  }
  if ((events & ZMQ_POLLIN) != 0) descriptor_->cancel();
  return events;
}

int ZmqPort::events() {
  const std::optional<int> events = try_events();
  if (!events) fail("ZMQ_EVENTS");
  return *events;
}

bool ZmqPort::has_message() {
  const std::optional<int> events = try_events();
  return !events || (*events & ZMQ_POLLIN) != 0;
}

bool ZmqPort::has_peer() {
  return (events() & ZMQ_POLLOUT) != 0;
}

std::optional<wire::Frames> ZmqPort::try_recv() {
  wire::Frames frames;
  bool more = true;
  while (more) {
    zmq_msg_t message;
    zmq_msg_init(&message);
    if (zmq_msg_recv(&message, socket_.get(), ZMQ_DONTWAIT) < 0) {
      const int error = zmq_errno();
      zmq_msg_close(&message);
      if (error == EINTR) continue;
      if (error == EAGAIN && frames.empty()) return std::nullopt;
      fail("zmq_msg_recv");  // the parts of one message arrive together
    }
    more = zmq_msg_more(&message) != 0;
    if (!more && curve_) {
      const char* user = zmq_msg_gets(&message, "User-Id");
      user_id_ = user == nullptr ? "" : user;
    }
    if (!more && monitor_) note_connection(zmq_msg_gets(&message, "__fd"), frames.front());
    // One frame too many is enough for the reader to see that there are too many.
    if (frames.size() < wire::kFrameCountMax + 2) {
      frames.emplace_back(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
    }
    zmq_msg_close(&message);
  }
  sent_before_received(false);
  return frames;
}

Task<std::optional<wire::Frames>> ZmqPort::recv() {
  while (!closed_) {
    std::optional<wire::Frames> frames = try_recv();
    if (frames) {
      if (++burst_ % kBurstMax == 0) co_await asio::post(io_, asio::use_awaitable);
      co_return frames;
    }
    if (readable()) continue;
    if (on_gone_) report_gone();
    co_await wait_for_edge();
  }
  co_return std::nullopt;
}

Task<bool> ZmqPort::wait() {
  while (!closed_ && !readable()) co_await wait_for_edge();
  co_return !closed_;
}

Task<> ZmqPort::wait_for_edge() {
  boost::system::error_code error;
  co_await descriptor_->async_wait(asio::posix::stream_descriptor::wait_read,
                                   asio::redirect_error(asio::use_awaitable, error));
  // operation_aborted: events() or close() woke us.
  if (error && error != asio::error::operation_aborted) throw boost::system::system_error(error);
}

SendResult ZmqPort::send(const wire::Frames& frames) {
  const SendResult result = try_send(frames);
  events();  // sending, refused or not, may have consumed the edge
  return result;
}

SendResult ZmqPort::try_send(const wire::Frames& frames) {
  CHECK(!frames.empty());
  sent_before_received(true);
  for (size_t i = 0; i < frames.size(); ++i) {
    const int flags = ZMQ_DONTWAIT | (i + 1 < frames.size() ? ZMQ_SNDMORE : 0);
    int sent;
    do {
      sent = zmq_send(socket_.get(), frames[i].data(), frames[i].size(), flags);
    } while (sent < 0 && zmq_errno() == EINTR);
    if (sent >= 0) continue;
    // Only the first frame can be refused: the others follow it.
    if (zmq_errno() == EAGAIN && i == 0) return SendResult::kFull;
    if (zmq_errno() == EHOSTUNREACH && i == 0) return SendResult::kGone;
    fail("zmq_send");
  }
  return SendResult::kSent;
}

void ZmqPort::close() {
  closed_ = true;
  descriptor_->cancel();
  if (monitor_) monitor_->close();
}

}  // namespace cascade
