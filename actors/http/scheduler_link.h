// The HTTP gateway's connections to the schedulers: each tenant has ports, and each request has an
// exchange.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "actors/http/abandonable.h"
#include "actors/tenant_ports.h"
#include "actors/zmq_port.h"
#include "wire/messages.h"

namespace cascade {

class SchedulerLink;

// One client, as the scheduler sees it. If it is destroyed before its request has ended, the
// scheduler is told that the client has left, and cancels the request. One thread: that of the
// link.
class Exchange : public Abandonable {
 public:
  // `model`: the model to ask; empty: the default model.
  Exchange(SchedulerLink& link, std::string tenant, std::string model = {});
  ~Exchange() override;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Sends a request. If the scheduler cannot be reached, next() says so.
  void send(wire::Message message);
  // The next answer to the request; nullopt after abandon(). Waiting deltas of one kind are joined.
  Task<std::optional<wire::Message>> next();
  // Does the same without waiting; nullopt if there is no answer yet.
  std::optional<wire::Message> take();
  // From now on, an answer or abandon() also cancels the timer, which outlives the exchange.
  void wakes(asio::steady_timer& timer) { also_wakes_ = &timer; }
  // Sends a request and returns its answer; nullopt after abandon().
  Task<std::optional<wire::Message>> call(wire::Message message);
  // The answer is not wanted any more.
  void abandon() override;
  bool abandoned() const { return abandoned_; }

 private:
  friend class SchedulerLink;
  // Errors: kUnavailable; those of wire::decode for messages that no client may send.
  Status transmit(const wire::Envelope& envelope);
  void deliver(const wire::RequestId& id, wire::Message&& message);
  void wake();

  SchedulerLink& link_;
  const std::string tenant_;
  const std::string model_;
  const std::string route_;
  wire::RequestId request_{};
  bool open_ = false;       // a request has not ended
  bool to_models_ = false;  // the request did not go to the default model's scheduler
  bool abandoned_ = false;
  std::deque<wire::Message> inbox_;
  size_t inbox_bytes_ = 0;
  asio::steady_timer wake_;
  asio::steady_timer* also_wakes_ = nullptr;
};

class SchedulerLink {
 public:
  // `on_stop` is called at the scheduler's Stop. `on_failure` is called with a std::runtime_error
  // if the scheduler has ended; by then all exchanges have ended with an error.
  SchedulerLink(asio::io_context& io, ZmqContext& context, uint64_t incarnation,
                std::function<void()> on_stop,
                std::function<void(const std::exception_ptr&)> on_failure);

  // From now on, exchanges of the tenant reach the schedulers; those of tenants that were not added
  // end with an error. Does nothing for a tenant that was added already, or after close(). Throws
  // std::runtime_error if no socket or descriptor is left.
  void add_tenant(const std::string& tenant);
  // Delivers no more answers. The io_context then has no work left from the link.
  void close();

  asio::io_context& io() { return io_; }

 private:
  friend class Exchange;
  // Receives for a tenant, until close().
  Task<> run(std::string tenant);
  Task<> run_models(std::string tenant);
  Task<> watch(std::string tenant);
  void deliver(const wire::Frames& frames);
  void fail_all();

  asio::io_context& io_;
  TenantPorts ports_;
  TenantPorts models_;
  const std::function<void()> on_stop_;
  const std::function<void(const std::exception_ptr&)> on_failure_;
  std::map<std::string, Exchange*> exchanges_;  // by route
  uint64_t next_route_ = 1;
};

}  // namespace cascade
