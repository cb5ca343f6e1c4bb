// A coroutine that receives, and one that notices when nobody is left to send.
#include "actors/worker.h"

#include <chrono>
#include <exception>
#include <stdexcept>

#include <spdlog/spdlog.h>

#include "actors/failed_answer.h"
#include "actors/peer_watch.h"
#include "base/check.h"

namespace cascade {
namespace {

// An actor that cannot read a message to it cannot continue.
wire::Envelope decoded(const wire::Frames& frames) {
  auto envelope = wire::decode(frames);
  if (!envelope.ok()) throw std::runtime_error("a job: " + envelope.error().to_string());
  return *std::move(envelope);
}

// Sends the answer or, if it is larger than a message may be, an error that says so.
void send_answer(ZmqPort& port, const wire::Envelope& answer) {
  const auto frames = wire::encode(answer);
  if (frames.ok()) return (void)port.send(*frames);
  const auto failed = failed_answer(answer.message, frames.error());
  if (failed) return (void)port.send(*wire::encode({answer.request, *failed}));
  spdlog::error("a message to the scheduler is left out: {}", frames.error().to_string());
}

// Receives until Stop, and gives `handle` an empty batch when nothing came for a while.
class BatchLoop {
 public:
  BatchLoop(asio::io_context& io, ZmqPort& port, const BatchHandle& handle)
      : timer_(io), port_(port), handle_(handle) {}

  Task<> serve(PeerWatch& watch) {
    bool stop = false;
    while (!stop) {
      std::optional<wire::Frames> frames = co_await port_.recv();
      if (!frames) break;
      std::vector<wire::Message> batch;
      for (; frames && !stop; frames = next(batch.size())) {
        wire::Message message = decoded(*frames).message;
        stop = std::holds_alternative<wire::Stop>(message);
        if (!stop) batch.push_back(std::move(message));
      }
      if (batch.empty()) continue;
      work(std::move(batch));
      came_ = true;
    }
    watch.close();
    stopped_ = true;
    timer_.cancel();
  }

  Task<> watch_idleness() {
    while (!stopped_) {
      timer_.expires_after(std::chrono::microseconds(busy_ ? 0 : kIdleUs));
      boost::system::error_code cancelled;
      co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
      if (stopped_ || (std::exchange(came_, false) && !busy_)) continue;
      work({});
    }
  }

 private:
  // If there is more to do now, a current idle wait ends.
  void work(std::vector<wire::Message> batch) {
    const bool was_busy = std::exchange(busy_, false);
    busy_ = handle_(std::move(batch), send_);
    if (busy_ && !was_busy) timer_.cancel();
  }

  std::optional<wire::Frames> next(size_t taken) {
    return taken < kBatchMax ? port_.try_recv() : std::nullopt;
  }

  asio::steady_timer timer_;
  ZmqPort& port_;
  const BatchHandle& handle_;
  const Send send_ = [this](wire::Message message) {
    send_answer(port_, {{}, std::move(message)});
  };
  bool came_ = false;
  bool busy_ = false;  // there is more to do
  bool stopped_ = false;
};

Task<> serve(ZmqPort& port, PeerWatch& watch, const Handle& handle) {
  const std::function<bool()> wanted = [&port] { return port.has_message(); };
  for (;;) {
    const std::optional<wire::Frames> frames = co_await port.recv();
    if (!frames) co_return;
    const wire::Envelope envelope = decoded(*frames);
    if (std::holds_alternative<wire::Stop>(envelope.message)) break;
    std::optional<wire::Message> answer = handle(envelope.message, wanted);
    if (answer) send_answer(port, {envelope.request, std::move(*answer)});
  }
  watch.close();
}

// Greets the scheduler, then runs everything that `spawn` starts, until all of it has ended.
// `spawn` is given the function to call when one of these coroutines ends.
void run_connected(
    ZmqContext& context, const std::string& name, uint64_t incarnation,
    const std::function<void(asio::io_context&, ZmqPort&, PeerWatch&,
                             const std::function<void(std::exception_ptr)>&)>& spawn) {
  asio::io_context io(1);
  ZmqPort::Options options;
  options.routing_id = name;
  ZmqPort port(io, context, options);
  const Status connected = port.connect(kSchedulerEndpoint);
  if (!connected.ok()) throw std::runtime_error(connected.error().to_string());
  port.send(*wire::encode({{}, wire::ActorHello{name, incarnation}}));
  PeerWatch watch(io, context, port);
  std::exception_ptr failure;
  const std::function<void(std::exception_ptr)> on_end = [&](std::exception_ptr error) {
    if (error && !failure) failure = error;
    if (error) io.stop();
  };
  spawn(io, port, watch, on_end);
  asio::co_spawn(io, watch.run(), on_end);
  io.run();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

void run_worker(ZmqContext& context, const std::string& name, uint64_t incarnation,
                const Handle& handle) {
  run_connected(context, name, incarnation,
                [&](asio::io_context& io, ZmqPort& port, PeerWatch& watch, const auto& on_end) {
                  asio::co_spawn(io, serve(port, watch, handle), on_end);
                });
}

void run_batch_worker(ZmqContext& context, const std::string& name, uint64_t incarnation,
                      const BatchHandle& handle) {
  run_connected(context, name, incarnation,
                [&](asio::io_context& io, ZmqPort& port, PeerWatch& watch, const auto& on_end) {
                  const auto loop = std::make_shared<BatchLoop>(io, port, handle);
                  asio::co_spawn(
                      io, [loop, &watch]() -> Task<> { co_await loop->serve(watch); }, on_end);
                  asio::co_spawn(
                      io, [loop]() -> Task<> { co_await loop->watch_idleness(); }, on_end);
                });
}

}  // namespace cascade
