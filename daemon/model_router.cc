// Passes frames from doors to hosts and back. Requests that wait for a model wait here, within
// limits.
#include "daemon/model_router.h"

#include <pthread.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "actors/client_queue.h"
#include "actors/worker.h"
#include "base/check.h"
#include "wire/frame_bytes.h"

namespace cascade {
namespace {

// The largest number of requests that wait for a model: the same as in a scheduler by default; a
// prompt has about 10 KiB. Each tenant gets a part.
constexpr int64_t kWaitingMax = 64;
constexpr int64_t kWaitingBytesMax = int64_t{64} << 20;
constexpr int64_t kLookedForMax = 64;
constexpr int64_t kRetryMs = 1000;
// Deltas of all running requests may be on the way to a door at once.
constexpr int kQueueMessagesMax = 100'000;
// How often clients that wait for a model are told so: as often as by a scheduler.
constexpr auto kProgress = std::chrono::seconds(1);

wire::Envelope decoded(std::span<const wire::Frame> message) {
  auto envelope = wire::decode(message);
  if (!envelope.ok()) throw std::runtime_error("a message: " + envelope.error().to_string());
  return *std::move(envelope);
}

// Messages that clients repeat only to look: they load no model, and do not count as a use of one.
bool only_looks(size_t type) {
  return type == wire::kTypeOf<wire::StatusRequest> || type == wire::kTypeOf<wire::StatsRequest> ||
         type == wire::kTypeOf<wire::EventsRequest>;
}

bool wants_progress(const std::string& door, std::span<const wire::Frame> message) {
  const auto from = door_of(door);
  if (!from || from->door == Door::kHttp) return false;  // HTTP clients get only their answer
  const size_t type = type_of(message);
  if (type != wire::kTypeOf<wire::GenerateRequest> && type != wire::kTypeOf<wire::PrefixCache>) {
    return false;
  }
  const wire::Envelope envelope = decoded(message);
  if (const auto* generate = std::get_if<wire::GenerateRequest>(&envelope.message)) {
    return generate->stream;
  }
  return std::get<wire::PrefixCache>(envelope.message).stream;
}

// The tenant whose requests come from this door.
std::string tenant_at(const std::string& door) {
  const auto from = door_of(door);
  return from ? from->tenant : std::string();
}

Error not_loaded(const std::string& model) {
  return {ErrorCode::kUnavailable, "model", "the model " + model + " is not loaded"};
}

const Error& stopping() {
  static const Error error = {ErrorCode::kUnavailable, "", "the daemon is stopping"};
  return error;
}

}  // namespace

ModelRouter::ModelRouter(ZmqContext& context, const DaemonOptions& options,
                         const ModelHost& default_host, Compute& compute, Health& health,
                         std::function<void(const std::string&)> on_failure)
    : context_(context),
      on_failure_(std::move(on_failure)),
      looked_for_(kLookedForMax),
      keeper_(io_, options, default_host, compute, health,
              {[this](const std::string& model) { serve_waiting(model); },
               [this](const std::string& model, const Error& error) {
                 for (const Waiting& waiting : std::exchange(lines_[model].waiting, {})) {
                   refuse(waiting.from, cannot_load(waiting.from, model, error));
                 }
               },
               [this](const std::string& model) { host_ended(model); },
               [this](const std::string& model) { return !lines_[model].waiting.empty(); }}) {}

ModelRouter::~ModelRouter() {
  CHECK(!thread_.joinable());
}

void ModelRouter::start() {
  ZmqPort::Options options;
  options.type = ZMQ_ROUTER;
  options.queue_messages_max = kQueueMessagesMax;
  options.replace_peer = true;
  doors_ = std::make_unique<ZmqPort>(io_, context_, options);
  const Status bound = doors_->bind(kModelsEndpoint);
  if (!bound.ok()) throw std::runtime_error(bound.error().to_string());
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "models");
    run();
  });
}

void ModelRouter::run() {
  const auto on_end = [](const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
  };
  asio::co_spawn(io_, receive(), on_end);
  asio::co_spawn(io_, tick(), on_end);
  keeper_.rescan([] {});  // so that the first request need not wait for a scan
  try {
    io_.run();
  } catch (const std::exception& error) {
    on_failure_(error.what());
  }
}

void ModelRouter::set_limits(const DaemonOptions& options) {
  asio::post(io_, [this, options] { keeper_.set_limits(options); });
}

bool ModelRouter::stop() {
  std::promise<bool> stopped;
  asio::post(io_, [&] {
    stopping_ = true;
    for (auto& [model, line] : lines_) refuse_waiting(model, stopping());
    keeper_.stop([&](bool loading) { stopped.set_value(loading); });
  });
  return stopped.get_future().get();
}

void ModelRouter::end() {
  asio::post(io_, [this] {
    ended_ = true;
    timer_.cancel();
    doors_->close();
  });
  thread_.join();
  doors_.reset();  // its last messages can still leave
}

Task<> ModelRouter::receive() {
  while (true) {
    std::optional<wire::Frames> frames = co_await doors_->recv();
    if (!frames) co_return;
    take(*std::move(frames));
  }
}

// Tells the clients that wait, once a second, that they still wait.
Task<> ModelRouter::tick() {
  while (!ended_) {
    timer_.expires_after(kProgress);
    boost::system::error_code woken;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    for (auto& [model, line] : lines_) {
      for (const Waiting& waiting : line.waiting) {
        if (waiting.wants_progress) answer(waiting.from, wire::Progress{});
      }
    }
  }
}

// frames: [door][client][model][message…].
void ModelRouter::take(wire::Frames frames) {
  CHECK(frames.size() > 3);
  Requester from = {std::move(frames[0]), frames[1], {}};
  const std::string model = std::move(frames[2]);
  frames.erase(frames.begin() + 2);
  frames.erase(frames.begin());
  const auto message = std::span<const wire::Frame>(frames).subspan(1);
  from.request = wire::peek_request_id(message);
  const size_t type = type_of(message);
  if (type == wire::kTypeOf<wire::ActorHello>) return greet(from.door);
  if (type == wire::kTypeOf<wire::ClientGone>) return forget(from.door, from.client);
  if (stopping_) return refuse(from, stopping(), kRetryMs);
  if (model.empty()) {
    CHECK(about_models(from, message));
    return;
  }
  route(model, std::move(from), std::move(frames));
}

// The door is a new incarnation, so its clients are new: the hosts must be told.
void ModelRouter::greet(const std::string& door) {
  for (auto& [model, line] : lines_) {
    std::erase_if(line.waiting, [&](const Waiting& waiting) { return waiting.from.door == door; });
    const auto port = line.ports.find(door);
    if (port == line.ports.end()) continue;
    const auto ended =
        std::erase_if(line.open, [&](const auto& open) { return open.door == door; });
    for (size_t i = 0; i < ended; ++i) keeper_.end_request(model);
    wire::Frames hello = *wire::encode({{}, wire::ActorHello{door, 0}});
    hello.insert(hello.begin(), "");
    port->second->port->send(hello);
  }
}

void ModelRouter::forget(const std::string& door, const std::string& client) {
  for (auto& [model, line] : lines_) {
    const auto is_his = [&](const Requester& who) {
      return who.door == door && who.client == client;
    };
    std::erase_if(line.waiting, [&](const Waiting& waiting) { return is_his(waiting.from); });
    const auto port = line.ports.find(door);
    if (port == line.ports.end()) continue;
    wire::Frames gone = *wire::encode({{}, wire::ClientGone{}});
    gone.insert(gone.begin(), client);
    port->second->port->send(gone);
    const auto ended = std::erase_if(line.open, is_his);
    for (size_t i = 0; i < ended; ++i) keeper_.end_request(model);
  }
}

void ModelRouter::route(const std::string& model, Requester from, wire::Frames frames) {
  if (!keeper_.contains(model)) return look_for(model, std::move(from), std::move(frames));
  if (keeper_.serving(model) != nullptr) return forward(model, from, frames);
  const auto message = std::span<const wire::Frame>(frames).subspan(1);
  const size_t type = type_of(message);
  if (only_looks(type)) return refuse(from, not_loaded(model));
  if (type == wire::kTypeOf<wire::CancelRequest> || type == wire::kTypeOf<wire::DeltaCredit>) {
    return control(model, std::move(from), std::move(frames));
  }
  int64_t retry_after_ms = 0;
  if (const auto failure = keeper_.recent_failure(model, retry_after_ms)) {
    return refuse(from, cannot_load(from, model, *failure), retry_after_ms);
  }
  wait_for(model, std::move(from), std::move(frames));
}

// The model may have been added to the folder since the folder was last read.
void ModelRouter::look_for(const std::string& model, Requester from, wire::Frames frames) {
  const std::string tenant = tenant_at(from.door);
  if (!looked_for_.may_take(tenant, 1)) {
    return refuse(from, resource_exhausted("model", "too many unknown models are asked for"),
                  kRetryMs);
  }
  looked_for_.add(tenant, 1);
  keeper_.rescan([this, model, tenant, from = std::move(from), frames = std::move(frames)] {
    looked_for_.add(tenant, -1);
    if (stopping_) return refuse(from, stopping(), kRetryMs);
    if (!keeper_.contains(model)) return refuse(from, no_such_model(model));
    route(model, from, frames);
  });
}

void ModelRouter::wait_for(const std::string& model, Requester from, wire::Frames frames) {
  Line& line = lines_[model];
  TenantParts places(kWaitingMax), bytes(kWaitingBytesMax);
  for (const Waiting& waiting : line.waiting) {
    const std::string tenant = tenant_at(waiting.from.door);
    places.add(tenant, 1);
    bytes.add(tenant, static_cast<int64_t>(wire::bytes_of(waiting.frames)));
  }
  const std::string tenant = tenant_at(from.door);
  if (!places.may_take(tenant, 1) ||
      !bytes.may_take(tenant, static_cast<int64_t>(wire::bytes_of(frames)))) {
    return refuse(from,
                  resource_exhausted("model", std::to_string(line.waiting.size()) +
                                                  " requests wait for " + model + " to be loaded"),
                  kRetryMs);
  }
  const bool progress = wants_progress(from.door, std::span<const wire::Frame>(frames).subspan(1));
  line.waiting.push_back({std::move(from), std::move(frames), progress});
  keeper_.load(model, {});
}

// Handles a message about another request of the client: that request waits here, or still runs in
// a host that takes no new requests.
void ModelRouter::control(const std::string& model, Requester from, wire::Frames frames) {
  const wire::Envelope envelope = decoded(std::span<const wire::Frame>(frames).subspan(1));
  const auto* cancel = std::get_if<wire::CancelRequest>(&envelope.message);
  const wire::RequestId& id =
      cancel != nullptr ? cancel->target : std::get<wire::DeltaCredit>(envelope.message).target;
  const Requester target = {from.door, from.client, id};
  Line& line = lines_[model];
  if (line.open.contains(target)) return forward(model, from, frames);
  const auto found = std::ranges::find(line.waiting, target, &Waiting::from);
  if (found == line.waiting.end()) {
    return refuse(from, not_found("target", "is not a waiting or running request"));
  }
  if (cancel == nullptr) return wait_for(model, std::move(from), std::move(frames));
  const auto message = std::span<const wire::Frame>(found->frames).subspan(1);
  if (type_of(message) == wire::kTypeOf<wire::GenerateRequest>) {
    wire::Final final;
    final.finish_reason = "cancelled";
    answer(found->from, std::move(final));
  } else {
    refuse(found->from, {ErrorCode::kCancelled, "", "the client cancelled it"});
  }
  line.waiting.erase(found);
  answer(from, wire::Ack{});
}

void ModelRouter::forward(const std::string& model, const Requester& from,
                          const wire::Frames& frames) {
  const auto message = std::span<const wire::Frame>(frames).subspan(1);
  const std::shared_ptr<Port> port = port_to(model, from.door);
  if (port->port->send(frames) != SendResult::kSent) {
    answer(from, wire::ErrorReply{{ErrorCode::kUnavailable, "model",
                                   "the scheduler of " + model + " is not ready; try again"},
                                  kRetryMs});
    return;
  }
  if (!lines_[model].open.insert(from).second) return;
  keeper_.begin_request(model, !only_looks(type_of(message)));
}

std::shared_ptr<ModelRouter::Port> ModelRouter::port_to(const std::string& model,
                                                        const std::string& door) {
  std::shared_ptr<Port>& port = lines_[model].ports[door];
  if (port) return port;
  ZmqContext& context = *keeper_.serving(model);
  port = std::make_shared<Port>();
  ZmqPort::Options options;
  options.routing_id = door;
  options.queue_messages_max = kQueueMessagesMax;
  port->port = std::make_unique<ZmqPort>(io_, context, options);
  port->watch = std::make_unique<PeerWatch>(io_, context, *port->port);
  const Status connected = port->port->connect(kSchedulerEndpoint);
  if (!connected.ok()) throw std::runtime_error(connected.error().to_string());
  wire::Frames hello = *wire::encode({{}, wire::ActorHello{door, 1}});
  hello.insert(hello.begin(), "");
  port->port->send(hello);
  const auto on_end = [](const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
  };
  asio::co_spawn(io_, from_host(model, door, port), on_end);
  asio::co_spawn(io_, watch_host(model, door, port), on_end);
  return port;
}

Task<> ModelRouter::from_host(std::string model, std::string door, std::shared_ptr<Port> port) {
  while (true) {
    std::optional<wire::Frames> frames = co_await port->port->recv();
    if (!frames) co_return;
    take_answer(model, door, *std::move(frames));
  }
}

// Waits until the host's scheduler is started again: its requests are lost then, and the next
// message uses another port.
Task<> ModelRouter::watch_host(std::string model, std::string door, std::shared_ptr<Port> port) {
  bool lost = false;
  try {
    co_await port->watch->run();
  } catch (const std::runtime_error&) {
    lost = true;
  }
  if (!lost) co_return;
  close_port(*port);
  Line& line = lines_[model];
  const auto known = line.ports.find(door);
  if (known == line.ports.end() || known->second != port) co_return;
  line.ports.erase(known);
  fail_open(model, door);
}

// frames: [client][message…]. An empty client means the door itself. Messages for the door are not
// needed: clients ask for the events of these models, so nobody publishes them, and the router
// needs no Stop.
void ModelRouter::take_answer(const std::string& model, const std::string& door,
                              wire::Frames frames) {
  if (frames.front().empty()) return;
  const auto message = std::span<const wire::Frame>(frames).subspan(1);
  if (!wire::is_on_the_way(type_of(message))) {
    const Requester of = {door, frames.front(), wire::peek_request_id(message)};
    if (lines_[model].open.erase(of) > 0) keeper_.end_request(model);
  }
  send(door, std::move(frames));
}

// If `door` is empty, all doors are meant.
void ModelRouter::fail_open(const std::string& model, const std::string& door) {
  const std::set<Requester> open = lines_[model].open;
  for (const Requester& request : open) {
    if (!door.empty() && request.door != door) continue;
    lines_[model].open.erase(request);
    keeper_.end_request(model);
    refuse(request,
           {ErrorCode::kUnavailable, "model", model + " was unloaded or restarted; try again"},
           kRetryMs);
  }
}

void ModelRouter::close_port(Port& port) {
  port.watch->close();
  port.port->close();
}

void ModelRouter::serve_waiting(const std::string& model) {
  Line& line = lines_[model];
  while (!line.waiting.empty() && keeper_.serving(model) != nullptr) {
    const Waiting waiting = std::move(line.waiting.front());
    line.waiting.pop_front();
    forward(model, waiting.from, waiting.frames);
  }
}

void ModelRouter::refuse_waiting(const std::string& model, const Error& error) {
  for (const Waiting& waiting : std::exchange(lines_[model].waiting, {})) {
    refuse(waiting.from, error);
  }
}

// The host's actors have ended: takes their last messages, then closes the ports.
void ModelRouter::host_ended(const std::string& model) {
  for (auto& [door, port] : std::exchange(lines_[model].ports, {})) {
    while (std::optional<wire::Frames> frames = port->port->try_recv()) {
      take_answer(model, door, *std::move(frames));
    }
    close_port(*port);
  }
  fail_open(model, "");
}

void ModelRouter::answer(const Requester& to, wire::Message message) {
  auto frames = wire::encode({to.request, std::move(message)});
  if (!frames.ok()) frames = wire::encode({to.request, wire::ErrorReply{frames.error(), 0}});
  frames->insert(frames->begin(), to.client);
  send(to.door, *std::move(frames));
}

void ModelRouter::refuse(const Requester& to, Error error, int64_t retry_after_ms) {
  answer(to, wire::ErrorReply{std::move(error), retry_after_ms});
}

void ModelRouter::send(const std::string& door, wire::Frames frames) {
  frames.insert(frames.begin(), door);
  const SendResult result = doors_->send(frames);
  // Other results do not matter: a door that is being restarted has lost its clients.
  if (result == SendResult::kFull) throw std::runtime_error("a door's queue is full");
}

}  // namespace cascade
