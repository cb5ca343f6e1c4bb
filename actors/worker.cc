// A coroutine that receives, and one that notices when nobody is there to send.
#include "actors/worker.h"

#include <chrono>
#include <exception>
#include <stdexcept>

#include "actors/peer_watch.h"
#include "base/check.h"

namespace cascade {
namespace {

using Handle = std::function<std::optional<wire::Message>(const wire::Message&)>;

Task<> serve(ZmqPort& port, PeerWatch& watch, const Handle& handle) {
  for (;;) {
    const std::optional<wire::Frames> frames = co_await port.recv();
    if (!frames) co_return;
    const auto envelope = wire::decode(*frames);
    CHECK(envelope.ok());  // messages inside the process are our own
    if (std::holds_alternative<wire::Stop>(envelope->message)) break;
    std::optional<wire::Message> answer = handle(envelope->message);
    if (answer) port.send(wire::encode({envelope->request, std::move(*answer)}));
  }
  watch.close();
}

}  // namespace

void run_worker(ZmqContext& context, const std::string& name, uint64_t incarnation,
                const Handle& handle) {
  asio::io_context io(1);
  ZmqPort::Options options;
  options.routing_id = name;
  ZmqPort port(io, context, options);
  const Status connected = port.connect(kSchedulerEndpoint);
  if (!connected.ok()) throw std::runtime_error(connected.error().to_string());
  port.send(wire::encode({{}, wire::ActorHello{name, incarnation}}));
  PeerWatch watch(io, context, port);
  std::exception_ptr failure;
  const auto on_end = [&](std::exception_ptr error) {
    if (error && !failure) failure = error;
    if (error) io.stop();
  };
  asio::co_spawn(io, serve(port, watch, handle), on_end);
  asio::co_spawn(io, watch.run(), on_end);
  io.run();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace cascade
