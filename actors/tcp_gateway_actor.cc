// One socket for clients, and a port to the scheduler for each tenant. A client is its connection:
// its name is the one that the ROUTER made up for it, and no other connection gets that name while
// this daemon runs. So a message for one tenant cannot reach a later client of another.
#include "actors/tcp_gateway_actor.h"

#include <exception>
#include <map>
#include <stdexcept>

#include "actors/client_queue.h"
#include "actors/tenant_ports.h"
#include "actors/zap_handler.h"
#include "base/tenant.h"

namespace cascade {
namespace {

class TcpGateway {
 public:
  TcpGateway(ZmqContext& context, const CurveDoor& door, uint64_t incarnation)
      : allowed_(*door.clients),
        io_(1),
        zap_(io_, context, [this](const std::string& key) { return tenant_of(key).has_value(); }),
        clients_(io_, context,
                 {.type = ZMQ_ROUTER,
                  .routing_id = {},
                  .message_bytes_max = ZmqPort::kClientFrameBytesMax,
                  .linger_ms = kClientLingerMs,
                  .heartbeats = true,
                  .watch_peers = true,
                  .connections_max = door.connections_max,
                  .tenant_of = [this](const auto& key) { return tenant_of(key).value_or(""); },
                  .curve_secret_key = door.secret_key}),
        queue_(io_, clients_, [this](const std::string& client) { report_gone(client); }),
        scheduler_(io_, context, TenantPorts::Upstream::kScheduler, Door::kTcp, incarnation),
        models_(io_, context, TenantPorts::Upstream::kModels, Door::kTcp, incarnation),
        start_(*door.start) {
    const Status bound = clients_.bind(door.endpoint);
    if (!bound.ok()) throw std::runtime_error(bound.error().to_string());
  }

  void run() {
    start(zap_.run());
    start(from_clients());
    start(queue_.run());
    // Stop comes through the port of this tenant, whatever tenants the clients have. Other tenants
    // are added when they come.
    add_tenant(kLocalTenant);
    start(clients_.watch_peers([this](const std::string& gone) { lose(gone); }));
    io_.run();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void start(Task<> task) {
    asio::co_spawn(io_, std::move(task), [this](const std::exception_ptr& error) {
      if (!error) return;
      if (!failure_) failure_ = error;
      io_.stop();
    });
  }

  void add_tenant(const std::string& tenant) {
    if (models_.add(tenant)) start(from_models(tenant));
    if (!scheduler_.add(tenant)) return;
    start(from_scheduler(tenant));
    start(scheduler_.watch(tenant));
  }

  std::optional<std::string> tenant_of(const std::string& key) const {
    return allowed_.get()->tenant_of(key);
  }

  Task<> from_clients() {
    while (true) {
      const std::optional<wire::Frames> frames = co_await clients_.recv();
      if (!frames) co_return;
      take(*frames, clients_.user_id());
    }
  }

  // frames: [client][message…]. `key` is the client's key.
  void take(const wire::Frames& frames, const std::string& key) {
    const std::string& client = frames.front();
    const auto message = std::span(frames).subspan(1);
    if (!client.starts_with('\0')) {
      return refuse(client, message,
                    invalid_argument("routing_id", "must not be set by clients that use tcp"));
    }
    const std::optional<std::string> tenant = tenant_of(key);
    if (!tenant) {
      return refuse(client, message, {ErrorCode::kNotFound, "key", "this key was revoked"});
    }
    const bool serves = start_.serves();
    Admission admission = admit(message, serves ? start_.default_model() : std::string());
    if (admission.refusal) return answer(client, *std::move(admission.refusal));
    if (!serves) return answer(client, still_loading(message, start_));
    try {
      add_tenant(*tenant);
    } catch (const std::runtime_error& error) {
      return refuse(client, message,
                    resource_exhausted("", std::string("no descriptor is left: ") + error.what()));
    }
    const auto known = tenant_of_client_.find(client);
    if (known != tenant_of_client_.end() && known->second != *tenant) report_gone(client);
    tenant_of_client_[client] = *tenant;
    const bool sent = admission.to_models
                          ? models_.send(*tenant, for_models(admission.model, frames))
                          : scheduler_.send(*tenant, frames);
    if (!sent) return answer(client, scheduler_not_ready(message));
    queue_.expect(client, wire::peek_request_id(message));
  }

  void refuse(const std::string& client, std::span<const wire::Frame> message, Error error) {
    answer(client,
           *wire::encode({wire::peek_request_id(message), wire::ErrorReply{std::move(error), 0}}));
  }

  void answer(const std::string& client, wire::Frames message) {
    message.insert(message.begin(), client);
    queue_.deliver(std::move(message));
  }

  Task<> from_models(std::string tenant) {
    while (true) {
      std::optional<wire::Frames> frames = co_await models_.recv(tenant);
      if (!frames) co_return;
      queue_.deliver(std::move(*frames));
    }
  }

  // The tenant's events are not passed on to clients of this door: these clients ask for events.
  Task<> from_scheduler(std::string tenant) {
    while (true) {
      std::optional<wire::Frames> frames = co_await scheduler_.recv(tenant);
      if (!frames) co_return;
      if (frames->front().empty()) break;  // Stop
      queue_.deliver(std::move(*frames));
    }
    if (std::exchange(stopped_, true)) co_return;
    co_await queue_.drain();
    queue_.close();
    scheduler_.close();
    models_.close();
    zap_.close();
    clients_.close();
  }

  // The client's connection has ended.
  void lose(const std::string& client) {
    queue_.forget(client);
    report_gone(client);
  }

  void report_gone(const std::string& client) {
    const auto known = tenant_of_client_.find(client);
    if (known == tenant_of_client_.end()) return;
    wire::Frames frames = *wire::encode({{}, wire::ClientGone{}});
    frames.insert(frames.begin(), client);
    scheduler_.send(known->second, frames);
    models_.send(known->second, for_models("", std::move(frames)));
    tenant_of_client_.erase(known);
  }

  const Live<curve::AllowList>& allowed_;
  asio::io_context io_;
  ZapHandler zap_;
  ZmqPort clients_;
  ClientQueue queue_;
  TenantPorts scheduler_;
  TenantPorts models_;
  const ServiceStart& start_;
  std::map<std::string, std::string> tenant_of_client_;  // only clients that the scheduler knows
  bool stopped_ = false;
  std::exception_ptr failure_;
};

}  // namespace

void run_tcp_gateway(ZmqContext& context, const CurveDoor& door, uint64_t incarnation,
                     const std::function<void()>& on_listening) {
  TcpGateway gateway(context, door, incarnation);
  on_listening();
  gateway.run();
}

}  // namespace cascade
