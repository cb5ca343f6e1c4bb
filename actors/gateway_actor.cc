// Three ports on one thread. What clients send is decoded here once, so that nothing malformed gets
// further; what they do not fetch waits here, up to a limit.
#include "actors/gateway_actor.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <deque>
#include <exception>
#include <map>
#include <stdexcept>

#include "actors/peer_watch.h"
#include "actors/worker.h"
#include "base/check.h"

namespace cascade {
namespace {

// What may wait for one client that does not read: a long answer is some 100 KiB. Beyond it the
// client is taken for gone.
constexpr size_t kPendingBytesMax = size_t{64} << 20;
constexpr auto kRetry = std::chrono::milliseconds(5);

// How long a daemon that stops waits for clients to take their last answers.
constexpr int kLingerMs = 1000;
constexpr int64_t kPauseMs = 10;

// Events that wait for a subscriber who does not read. It sees by the numbers that it lost some,
// and asks for them.
constexpr int kEventsWaitingMax = 1000;

size_t bytes_of(const wire::Frames& frames) {
  size_t bytes = 0;
  for (const wire::Frame& frame : frames) bytes += frame.size();
  return bytes;
}

class Gateway {
 public:
  Gateway(ZmqContext& context, const GatewayDoor& door, uint64_t incarnation)
      : io_(1),
        clients_(io_, context,
                 {.type = ZMQ_ROUTER,
                  .routing_id = {},
                  .linger_ms = kLingerMs,
                  .heartbeats = true,
                  .watch_peers = true}),
        scheduler_(io_, context,
                   {.type = ZMQ_DEALER,
                    .routing_id = gateway_name(door.tenant),
                    .queue_messages_max = 100'000}),
        subscribers_(io_, context,
                     {.type = ZMQ_PUB, .routing_id = {}, .queue_messages_max = kEventsWaitingMax}),
        watch_(io_, context, scheduler_),
        retry_(io_) {
    const Status connected = scheduler_.connect(kSchedulerEndpoint);
    if (!connected.ok()) throw std::runtime_error(connected.error().to_string());
    const Status bound = door.descriptor < 0 ? clients_.bind(door.endpoint)
                                             : clients_.adopt(door.endpoint, door.descriptor);
    if (!bound.ok()) throw std::runtime_error(bound.error().to_string());
    const Status publishing = subscribers_.bind(door.events_endpoint);
    if (!publishing.ok()) throw std::runtime_error(publishing.error().to_string());
    wire::Frames hello =
        wire::encode({{}, wire::ActorHello{gateway_name(door.tenant), incarnation}});
    hello.insert(hello.begin(), "");
    scheduler_.send(hello);
  }

  void run() {
    std::exception_ptr failure;
    const auto on_end = [&](std::exception_ptr error) {
      if (error && !failure) failure = error;
      if (error) io_.stop();
    };
    asio::co_spawn(io_, from_clients(), on_end);
    asio::co_spawn(io_, from_scheduler(), on_end);
    asio::co_spawn(io_, retry_pending(), on_end);
    asio::co_spawn(io_, watch_.run(), on_end);
    asio::co_spawn(io_, clients_.watch_peers([this](const std::string& gone) { lose(gone); }),
                   on_end);
    io_.run();
    if (failure) std::rethrow_exception(failure);
  }

 private:
  Task<> from_clients() {
    for (;;) {
      const std::optional<wire::Frames> frames = co_await clients_.recv();
      if (!frames) co_return;
      take(*frames);
    }
  }

  // frames: [client][message…]
  void take(const wire::Frames& frames) {
    const std::string& client = frames.front();
    const auto message = std::span(frames).subspan(1);
    const auto envelope = wire::decode(message);
    if (!envelope.ok()) {
      return answer(client, wire::peek_request_id(message), envelope.error(), 0);
    }
    if (envelope->message.index() >= wire::kClientMessageCount) {
      return answer(client, envelope->request,
                    unsupported("type", "this message is not for the daemon"), 0);
    }
    if (scheduler_.send(frames) != SendResult::kSent) {
      answer(client, envelope->request,
             {ErrorCode::kUnavailable, "", "the scheduler is not ready; try again"}, 1000);
    }
  }

  void answer(const std::string& client, const wire::RequestId& id, Error error,
              int64_t retry_after_ms) {
    wire::Frames frames = wire::encode({id, wire::ErrorReply{std::move(error), retry_after_ms}});
    frames.insert(frames.begin(), client);
    deliver(std::move(frames));
  }

  // frames: [client][message…]; an empty client means the message is for us.
  Task<> from_scheduler() {
    for (;;) {
      std::optional<wire::Frames> frames = co_await scheduler_.recv();
      if (!frames) co_return;
      if (!frames->front().empty()) {
        deliver(std::move(*frames));
        continue;
      }
      const auto envelope = wire::decode(std::span(*frames).subspan(1));
      CHECK(envelope.ok());  // it is our own
      const auto* event = std::get_if<wire::EventNotice>(&envelope->message);
      if (event == nullptr) break;  // Stop is the only other one
      frames->front() = to_string(event->kind);
      (void)subscribers_.send(*frames);  // drops what a slow subscriber has no room for
    }
    // Clients that read slowly get their last answers; those on their way, the socket lingers for.
    asio::steady_timer pause(io_);
    for (int64_t waited_ms = 0; !pending_.empty() && waited_ms < kLingerMs; waited_ms += kPauseMs) {
      pause.expires_after(std::chrono::milliseconds(kPauseMs));
      co_await pause.async_wait(asio::use_awaitable);
    }
    stopped_ = true;
    retry_.cancel();
    watch_.close();
    scheduler_.close();
    subscribers_.close();
    clients_.close();
  }

  void deliver(wire::Frames frames) {
    const std::string client = frames.front();
    const auto waiting = pending_.find(client);
    if (waiting == pending_.end()) {
      switch (clients_.send(frames)) {
        case SendResult::kSent: return;
        case SendResult::kGone: return report_gone(client);
        case SendResult::kFull: break;
      }
    }
    Pending& pending = pending_[client];
    pending.bytes += bytes_of(frames);
    pending.messages.push_back(std::move(frames));
    if (pending.bytes > kPendingBytesMax) {
      spdlog::warn("a client does not read its answers; its requests are cancelled");
      pending_.erase(client);
      report_gone(client);
    } else if (pending_.size() == 1) {
      retry_.cancel();
    }
  }

  // The client's connection has ended.
  void lose(const std::string& client) {
    pending_.erase(client);
    report_gone(client);
  }

  void report_gone(const std::string& client) {
    wire::Frames frames = wire::encode({{}, wire::ClientGone{}});
    frames.insert(frames.begin(), client);
    scheduler_.send(frames);
  }

  // Sends what waits for slow clients, in order. Sleeps while nothing waits.
  Task<> retry_pending() {
    while (!stopped_) {
      if (pending_.empty()) {
        retry_.expires_at(asio::steady_timer::time_point::max());
      } else {
        retry_.expires_after(kRetry);
      }
      boost::system::error_code woken;
      co_await retry_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      for (auto it = pending_.begin(); it != pending_.end();) {
        it = send_pending(it->first, it->second) ? pending_.erase(it) : std::next(it);
      }
    }
  }

  struct Pending {
    std::deque<wire::Frames> messages;
    size_t bytes = 0;
  };

  // True if nothing waits for the client any more.
  bool send_pending(const std::string& client, Pending& pending) {
    while (!pending.messages.empty()) {
      const SendResult result = clients_.send(pending.messages.front());
      if (result == SendResult::kFull) return false;
      if (result == SendResult::kGone) {
        report_gone(client);
        return true;
      }
      pending.bytes -= bytes_of(pending.messages.front());
      pending.messages.pop_front();
    }
    return true;
  }

  asio::io_context io_;
  ZmqPort clients_;
  ZmqPort scheduler_;
  ZmqPort subscribers_;
  PeerWatch watch_;
  asio::steady_timer retry_;
  std::map<std::string, Pending> pending_;
  bool stopped_ = false;
};

}  // namespace

void run_gateway(ZmqContext& context, const GatewayDoor& door, uint64_t incarnation,
                 const std::function<void()>& on_listening) {
  Gateway gateway(context, door, incarnation);
  on_listening();
  gateway.run();
}

}  // namespace cascade
