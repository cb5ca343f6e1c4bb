// Passes frames to SchedulerCore and its messages back.
#include "actors/scheduler_actor.h"

#include <spdlog/spdlog.h>

#include <array>
#include <chrono>
#include <exception>
#include <set>
#include <stdexcept>
#include <string_view>

#include "actors/failed_answer.h"
#include "actors/worker.h"

namespace cascade {
namespace {

// How often deadlines and signs of life are checked.
constexpr auto kTick = std::chrono::milliseconds(100);
// Deltas of every running request may be on their way to the gateway at once.
constexpr int kQueueMessagesMax = 100'000;

constexpr std::array<std::pair<Actor, const char*>, 3> kWorkers = {{
    {Actor::kPrefill, kPrefillActor},
    {Actor::kDecode, kDecodeActor},
    {Actor::kStore, kStoreActor},
}};

Actor actor_of(Door door) {
  switch (door) {
    case Door::kIpc: return Actor::kGateway;
    case Door::kHttp: return Actor::kHttp;
    case Door::kTcp: return Actor::kTcp;
  }
  CHECK(false);
}

class SchedulerActor {
 public:
  SchedulerActor(ZmqContext& context, const SchedulerOptions& options, const Model& model,
                 const PageArena& arena, const Clock& clock, const SchedulerHooks& hooks)
      : hooks_(hooks),
        io_(1),
        port_(io_, context,
              {.type = ZMQ_ROUTER,
               .routing_id = {},
               .queue_messages_max = kQueueMessagesMax,
               .replace_peer = true}),
        timer_(io_),
        core_(options, model, arena, clock) {
    const Status bound = port_.bind(kSchedulerEndpoint);
    if (!bound.ok()) throw std::runtime_error(bound.error().to_string());
  }

  void run() {
    std::exception_ptr failure;
    const auto on_end = [&](std::exception_ptr error) {
      if (error && !failure) failure = error;
      if (error) io_.stop();
    };
    asio::co_spawn(io_, receive(), on_end);
    asio::co_spawn(io_, tick(), on_end);
    io_.run();
    if (failure) std::rethrow_exception(failure);
  }

 private:
  Task<> receive() {
    for (;;) {
      std::optional<wire::Frames> frames = co_await port_.recv();
      if (!frames) co_return;
      take(std::move(*frames));
      flush();
      if (core_.stopped()) break;
    }
    finish();
  }

  Task<> tick() {
    while (!finished_) {
      timer_.expires_after(kTick);
      boost::system::error_code woken;
      co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      if (finished_) co_return;
      if (const auto limits = hooks_.take_limits ? hooks_.take_limits() : std::nullopt) {
        core_.set_limits(*limits);
      }
      core_.on_tick();
      if (hooks_.on_tick) hooks_.on_tick(core_.load());
      flush();
      if (core_.stopped()) finish();
    }
  }

  // frames: [actor name][client, from doors only; may be empty][message…]
  void take(wire::Frames frames) {
    const std::string sender = std::exchange(frames.front(), {});
    std::span<const wire::Frame> rest = std::span(frames).subspan(1);
    Client client;
    const std::optional<TenantDoor> from = door_of(sender);
    if (from) {
      CHECK(!rest.empty());
      client = {from->tenant, rest.front(), from->door};
      rest = rest.subspan(1);
    }
    auto envelope = wire::decode(rest);
    if (!envelope.ok()) {
      if (!from) throw std::runtime_error(sender + ": " + envelope.error().to_string());
      return answer(client, {wire::peek_request_id(rest), wire::ErrorReply{envelope.error(), 0}});
    }
    if (const auto* hello = std::get_if<wire::ActorHello>(&envelope->message)) {
      greet(hello->actor, from);
    } else if (std::holds_alternative<wire::Stop>(envelope->message)) {
      core_.stop();
    } else if (from) {
      core_.on_client(client, *std::move(envelope));
    } else {
      core_.on_answer(std::move(envelope->message));
    }
  }

  void greet(const std::string& actor, const std::optional<TenantDoor>& door) {
    if (door) {
      gateways_.insert(actor);
      core_.on_actor_started(actor_of(door->door), door->tenant);
    }
    for (const auto& [worker, name] : kWorkers) {
      if (actor == name) core_.on_actor_started(worker);
    }
  }

  void flush() {
    for (auto outgoing = core_.take_outgoing(); !outgoing.empty();
         outgoing = core_.take_outgoing()) {
      for (const Outgoing& message : outgoing) {
        message.to == Actor::kGateway ? answer(message.client, message.envelope)
                                      : give(message.to, message.envelope);
      }
    }
  }

  // If the answer is larger than a message may be, the client is told so.
  void answer(const Client& client, const wire::Envelope& envelope) {
    auto frames = wire::encode(envelope);
    if (!frames.ok()) {
      Error error = frames.error();
      error.message = "of the answer " + error.message;
      frames = wire::encode({envelope.request, wire::ErrorReply{std::move(error), 0}});
    }
    frames->insert(frames->begin(), client.name);
    send(door_name(client.door, client.tenant), *std::move(frames));
  }

  // A job fails if it is larger than a message is allowed to be.
  void give(Actor to, const wire::Envelope& envelope) {
    auto frames = wire::encode(envelope);
    if (!frames.ok()) {
      auto failed = failed_answer(envelope.message, frames.error());
      if (failed) return core_.on_answer(*std::move(failed));
      return spdlog::error("a message is not sent: {}", frames.error().to_string());
    }
    for (const auto& [worker, name] : kWorkers) {
      if (to == worker) send(name, *frames);
    }
  }

  // An actor that is being restarted is absent; when it is back, its work is given up as lost.
  void send(const std::string& name, wire::Frames frames) {
    frames.insert(frames.begin(), name);
    const SendResult result = port_.send(frames);
    if (result == SendResult::kSent) return;
    if (result == SendResult::kFull) throw std::runtime_error("an actor's queue is full");
    spdlog::debug("{} is not connected; a message to it is dropped", name);
  }

  void finish() {
    if (finished_) return;
    finished_ = true;
    const wire::Frames stop = *wire::encode({{}, wire::Stop{}});
    for (const auto& [worker, name] : kWorkers) send(name, stop);
    for (const std::string& gateway : gateways_) {
      wire::Frames frames = stop;
      frames.insert(frames.begin(), "");
      send(gateway, std::move(frames));
    }
    timer_.cancel();
    port_.close();
  }

  const SchedulerHooks& hooks_;
  asio::io_context io_;
  ZmqPort port_;
  asio::steady_timer timer_;
  SchedulerCore core_;
  std::set<std::string> gateways_;  // names of the ports that have connected
  bool finished_ = false;
};

}  // namespace

void run_scheduler(ZmqContext& context, const SchedulerOptions& options, const Model& model,
                   const PageArena& arena, const Clock& clock, const SchedulerHooks& hooks) {
  SchedulerActor actor(context, options, model, arena, clock, hooks);
  actor.run();
}

}  // namespace cascade
