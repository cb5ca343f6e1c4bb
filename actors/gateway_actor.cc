// Four ports on one thread. Messages of clients are decoded here once, so that nothing malformed
// gets further.
#include "actors/gateway_actor.h"

#include <exception>
#include <stdexcept>

#include "actors/client_queue.h"
#include "actors/peer_watch.h"
#include "actors/worker.h"

namespace cascade {
namespace {

// The most events that wait for a subscriber that does not read. The subscriber sees by the numbers
// of the events that it has lost some, and asks for those.
constexpr int kEventsWaitingMax = 1000;

class Gateway {
 public:
  Gateway(ZmqContext& context, const GatewayDoor& door, uint64_t incarnation)
      : io_(1),
        clients_(io_, context,
                 {.type = ZMQ_ROUTER,
                  .routing_id = {},
                  .message_bytes_max = ZmqPort::kClientFrameBytesMax,
                  .linger_ms = kClientLingerMs,
                  .heartbeats = true,
                  .watch_peers = true,
                  .connections_max = door.connections_max}),
        scheduler_(io_, context,
                   {.type = ZMQ_DEALER,
                    .routing_id = door_name(Door::kIpc, door.tenant),
                    .queue_messages_max = 100'000}),
        models_(io_, context,
                {.type = ZMQ_DEALER,
                 .routing_id = door_name(Door::kIpc, door.tenant),
                 .queue_messages_max = 100'000}),
        subscribers_(io_, context,
                     {.type = ZMQ_PUB,
                      .routing_id = {},
                      .queue_messages_max = kEventsWaitingMax,
                      .heartbeats = true,
                      .watch_peers = true,
                      .connections_max = door.subscribers_max}),
        start_(*door.start),
        watch_(io_, context, scheduler_),
        queue_(io_, clients_, [this](const std::string& client) { report_gone(client); }) {
    const Status connected = scheduler_.connect(kSchedulerEndpoint);
    if (!connected.ok()) throw std::runtime_error(connected.error().to_string());
    const Status reached = models_.connect(kModelsEndpoint);
    if (!reached.ok()) throw std::runtime_error(reached.error().to_string());
    const Status bound = door.descriptor < 0 ? clients_.bind(door.endpoint)
                                             : clients_.adopt(door.endpoint, door.descriptor);
    if (!bound.ok()) throw std::runtime_error(bound.error().to_string());
    const Status publishing = subscribers_.bind(door.events_endpoint);
    if (!publishing.ok()) throw std::runtime_error(publishing.error().to_string());
    wire::Frames hello =
        *wire::encode({{}, wire::ActorHello{door_name(Door::kIpc, door.tenant), incarnation}});
    hello.insert(hello.begin(), "");
    scheduler_.send(hello);
    models_.send(for_models("", hello));
  }

  void run() {
    std::exception_ptr failure;
    const auto on_end = [&](std::exception_ptr error) {
      if (error && !failure) failure = error;
      if (error) io_.stop();
    };
    asio::co_spawn(io_, from_clients(), on_end);
    asio::co_spawn(io_, from_scheduler(), on_end);
    asio::co_spawn(io_, from_models(), on_end);
    asio::co_spawn(io_, queue_.run(), on_end);
    asio::co_spawn(io_, watch_.run(), on_end);
    asio::co_spawn(io_, clients_.watch_peers([this](const std::string& gone) { lose(gone); }),
                   on_end);
    asio::co_spawn(io_, subscribers_.watch_peers([](const std::string&) {}), on_end);
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
    const bool serves = start_.serves();
    Admission admission = admit(message, serves ? start_.default_model() : std::string());
    if (admission.refusal) return answer(client, *std::move(admission.refusal));
    if (!serves) return answer(client, still_loading(message, start_));
    const SendResult sent = admission.to_models ? models_.send(for_models(admission.model, frames))
                                                : scheduler_.send(frames);
    if (sent != SendResult::kSent) return answer(client, scheduler_not_ready(message));
    queue_.expect(client, wire::peek_request_id(message));
  }

  void answer(const std::string& client, wire::Frames message) {
    message.insert(message.begin(), client);
    queue_.deliver(std::move(message));
  }

  Task<> from_models() {
    for (;;) {
      std::optional<wire::Frames> frames = co_await models_.recv();
      if (!frames) co_return;
      queue_.deliver(std::move(*frames));
    }
  }

  // frames: [client][message…]; an empty client means the message is for us.
  Task<> from_scheduler() {
    for (;;) {
      std::optional<wire::Frames> frames = co_await scheduler_.recv();
      if (!frames) co_return;
      if (!frames->front().empty()) {
        queue_.deliver(std::move(*frames));
        continue;
      }
      const auto envelope = wire::decode(std::span(*frames).subspan(1));
      if (!envelope.ok()) throw std::runtime_error("an event: " + envelope.error().to_string());
      const auto* event = std::get_if<wire::EventNotice>(&envelope->message);
      if (event == nullptr) break;  // the only other message is Stop
      frames->front() = to_string(event->kind);
      (void)subscribers_.send(*frames);  // drops events if a slow subscriber has no room
    }
    // Clients that read slowly still get their last answers: waiting answers are sent, and the
    // socket lingers for those on their way.
    co_await queue_.drain();
    queue_.close();
    watch_.close();
    scheduler_.close();
    models_.close();
    subscribers_.close();
    clients_.close();
  }

  // The client's connection has ended.
  void lose(const std::string& client) {
    queue_.forget(client);
    report_gone(client);
  }

  void report_gone(const std::string& client) {
    if (!start_.serves()) return;  // nobody knows the client yet
    wire::Frames frames = *wire::encode({{}, wire::ClientGone{}});
    frames.insert(frames.begin(), client);
    scheduler_.send(frames);
    models_.send(for_models("", std::move(frames)));
  }

  asio::io_context io_;
  ZmqPort clients_;
  ZmqPort scheduler_;
  ZmqPort models_;  // not watched: its other end outlives the gateway
  ZmqPort subscribers_;
  const ServiceStart& start_;
  PeerWatch watch_;
  ClientQueue queue_;
};

}  // namespace

void run_gateway(ZmqContext& context, const GatewayDoor& door, uint64_t incarnation,
                 const std::function<void()>& on_listening) {
  Gateway gateway(context, door, incarnation);
  on_listening();
  gateway.run();
}

}  // namespace cascade
