// The HTTP gateway's way to the scheduler: a port for each tenant, an exchange for each request.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "actors/tenant_ports.h"
#include "actors/zmq_port.h"
#include "wire/messages.h"

namespace cascade {

class SchedulerLink;

// One client, as the scheduler sees it. Destroyed while a request of it has not ended, the
// scheduler is told that the client is gone, which cancels it. One thread: that of the link.
class Exchange {
 public:
  Exchange(SchedulerLink& link, std::string tenant);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Sends a request. If the scheduler cannot be reached, next() says so.
  void send(wire::Message message);
  // The next answer to it. After abandon(): nullopt. Deltas of a kind that wait are joined.
  Task<std::optional<wire::Message>> next();
  // Sends a request and returns its answer; nullopt after abandon().
  Task<std::optional<wire::Message>> call(wire::Message message);
  // The answer is not wanted any more.
  void abandon();
  bool abandoned() const { return abandoned_; }

 private:
  friend class SchedulerLink;
  void deliver(const wire::RequestId& id, wire::Message&& message);

  SchedulerLink& link_;
  const std::string tenant_;
  const std::string route_;
  wire::RequestId request_{};
  bool open_ = false;  // a request has not ended
  bool abandoned_ = false;
  std::deque<wire::Message> inbox_;
  size_t inbox_bytes_ = 0;
  asio::steady_timer wake_;
};

class SchedulerLink {
 public:
  // Greets the scheduler, or will once it listens. Throws std::runtime_error.
  SchedulerLink(asio::io_context& io, ZmqContext& context, const std::set<std::string>& tenants,
                uint64_t incarnation);

  // Gives out what comes until Stop; then calls `on_stop` and returns. Throws std::runtime_error if
  // the scheduler is gone; all exchanges have ended with an error then.
  Task<> run(const std::string& tenant, std::function<void()> on_stop);
  Task<> watch(const std::string& tenant);
  // Ends run() and watch() of all tenants.
  void close() { ports_.close(); }

  bool has_tenant(const std::string& tenant) const { return ports_.contains(tenant); }
  asio::io_context& io() { return io_; }

 private:
  friend class Exchange;
  // Errors: kUnavailable; as wire::decode for what no client may send.
  Status send(const std::string& tenant, const std::string& route, const wire::Envelope& envelope);
  void fail_all();

  asio::io_context& io_;
  TenantPorts ports_;
  std::map<std::string, Exchange*> exchanges_;  // by route
  uint64_t next_route_ = 1;
};

}  // namespace cascade
