// Start: model, pages, actors. Stop: ask the scheduler, which tells the others.
#include "daemon/daemon.h"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <set>

#include "actors/gateway_actor.h"
#include "actors/supervisor.h"
#include "actors/worker.h"
#include "base/endpoint.h"
#include "base/tenant.h"
#include "daemon/health.h"
#include "daemon/http_door.h"
#include "daemon/model_host.h"
#include "daemon/model_router.h"
#include "daemon/reload.h"
#include "daemon/run_dir.h"
#include "daemon/tcp_door.h"
#include "wire/events_endpoint.h"

namespace cascade {
namespace {

// Of the calling thread, and of those that it starts from then on.
void set_blocked(int signal, bool blocked) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, signal);
  ::pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, nullptr);
}

// Everything that lives as long as the service does; members are destroyed after the actors'
// threads have ended.
class Service {
 public:
  Service(const ParsedOptions& parsed, ZmqContext& context, HttpDoor* http,
          std::optional<CurveDoor> tcp, ModelHost& host, Compute& compute, Surroundings& around)
      : settings_(parsed),
        options_(settings_.options),
        around_(around),
        health_(system_clock(), around.manager),
        context_(context),
        http_(http),
        tcp_(std::move(tcp)),
        host_(host),
        models_(context, options_, host, compute, health_,
                [this](const std::string& why) { on_failure("models", why); }),
        doors_(system_clock(), {}, [this](const std::string& actor, const std::string& why) {
          on_failure(actor, why);
        }) {
    health_.add(host.health());
    if (tcp_) tcp_->default_model = host.model().name;
  }

  ~Service() {
    if (http_ != nullptr) http_->when_serving({});
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  int run(const std::function<void()>& on_ready) {
    expect_doors(on_ready);
    host_.start(
        [this](const std::string& actor, const std::string& why) { on_failure(actor, why); });
    models_.start();
    start_gateways();
    const int signal = wait_for_signal();
    doors_.stop_restarting();
    if (http_ != nullptr) http_->stop_restarting();
    // Actors may be waiting for one that is gone, so they cannot be stopped in good order.
    if (failed_) std::_Exit(1);
    spdlog::info("signal {}: stopping", signal);
    around_.manager.stopping();
    around_.manager.status("stopping");
    // The doors take the answers of the other models, until the default model's scheduler stops.
    still_loading_ = models_.stop();
    host_.ask_to_stop();
    host_.join();
    doors_.join();
    models_.end();
    spdlog::info("stopped");
    return 0;
  }
  // After run(): a thread that cannot be waited for still loads a model.
  bool still_loading() const { return still_loading_; }

 private:
  void on_failure(const std::string& actor, const std::string& why) {
    spdlog::critical("actor {} failed too often ({}); the daemon stops", actor, why);
    failed_ = true;
    signals_io_.stop();
  }

  // Each door says that it serves on a thread of its own; the last of them makes the daemon ready.
  void expect_doors(const std::function<void()>& on_ready) {
    const size_t doors = 1 + options_.tenants.size() + (http_ != nullptr ? 1 : 0) + (tcp_ ? 1 : 0);
    on_serving_ = [this, on_ready, doors](const std::string& door) {
      const std::lock_guard lock(serving_mutex_);
      serving_.insert(door);
      if (serving_.size() < doors) return;
      on_ready();
      asio::post(signals_io_, [this] { tell_ready(); });
    };
    if (http_ != nullptr) http_->when_serving([this] { on_serving_("http"); });
  }

  void start_gateways() {
    if (tcp_) {
      doors_.start("tcp", [this](uint64_t incarnation) {
        run_tcp_gateway(context_, *tcp_, incarnation, [&] { on_serving_("tcp"); });
      });
    }
    start_gateway(kLocalTenant, options_.endpoint);
    for (const std::string& tenant : options_.tenants) {
      start_gateway(tenant, tenant_endpoint(options_.run_dir, tenant));
    }
  }

  void start_gateway(const std::string& tenant, const std::string& endpoint) {
    const GatewayDoor door = {tenant, host_.model().name, endpoint, wire::events_endpoint(endpoint),
                              around_.sockets.find_ipc(endpoint).value_or(-1)};
    doors_.start(door_name(Door::kIpc, tenant), [=, this](uint64_t incarnation) {
      run_gateway(context_, door, incarnation,
                  [&] { on_serving_(door_name(Door::kIpc, door.tenant)); });
    });
  }

  // The signal that ends it; 0 if an actor could not go on.
  int wait_for_signal() {
    int received = 0;
    take_signal(received);
    set_blocked(SIGHUP, false);
    beat();
    signals_io_.run();
    return received;
  }

  void take_signal(int& received) {
    signals_.async_wait([this, &received](const boost::system::error_code& error, int signal) {
      if (error) return;
      if (signal == SIGHUP && around_.read_again) {
        reload();
        return take_signal(received);
      }
      received = signal;
      signals_io_.stop();
    });
  }

  void reload() {
    around_.manager.reloading();
    const ParsedOptions read = around_.read_again();
    if (read.exit_code) {
      spdlog::error("the settings have mistakes, and stay as they were");
    } else {
      take(plan_reload(settings_, read), read);
    }
    around_.manager.ready();
  }

  void take(ReloadPlan plan, const ParsedOptions& read) {
    if (http_ != nullptr) {
      const Status keys = http_->reload_keys(plan.options.http_keys_file);
      if (!keys.ok()) {
        spdlog::error("keys stay as they were: {}", keys.error().to_string());
        std::erase_if(plan.applied,
                      [](const std::string& change) { return change.starts_with("--http-keys "); });
      }
    }
    if (tcp_) {
      const Status clients = reload_tcp_clients(*tcp_, plan.options.tcp_clients_file);
      if (!clients.ok())
        spdlog::error("clients stay as they were: {}", clients.error().to_string());
    }
    for (const std::string& change : plan.applied) spdlog::info("changed: {}", change);
    for (const std::string& change : plan.refused) {
      spdlog::warn("changed, but takes a restart: {}", change);
    }
    spdlog::set_level(spdlog::level::from_str(plan.options.log_level));
    settings_.options = std::move(plan.options);
    // What takes a restart is said again next time.
    for (const config::Setting& setting : config::settings()) {
      if (!setting.reloads) continue;
      settings_.configuration.values.erase(std::string(setting.name));
      const auto now = read.configuration.values.find(setting.name);
      if (now != read.configuration.values.end()) settings_.configuration.values.insert(*now);
    }
    host_.set_limits(options_);
    models_.set_limits(options_);
    spdlog::info("reloaded");
  }

  void beat() {
    if (!around_.manager.present()) return;
    beat_.expires_after(std::chrono::microseconds(health_.interval_us()));
    beat_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      if (ready_) health_.beat();
      beat();
    });
  }

  // Clients can connect.
  void tell_ready() {
    if (std::exchange(ready_, true)) return;
    health_.beat();
    around_.manager.ready();
  }

  ParsedOptions settings_;  // main thread
  const DaemonOptions& options_;
  Surroundings& around_;
  Health health_;
  ZmqContext& context_;
  HttpDoor* const http_;          // nullptr: none
  std::optional<CurveDoor> tcp_;  // nullopt: none
  ModelHost& host_;               // of the default model
  ModelRouter models_;            // the others
  bool still_loading_ = false;
  asio::io_context signals_io_{1};
  // Before anybody can be told that the daemon serves: who is may stop it at once. SIGHUP: read the
  // settings again; without such, the terminal of a daemon in the foreground was closed.
  asio::signal_set signals_{signals_io_, SIGINT, SIGTERM, SIGHUP};
  asio::steady_timer beat_{signals_io_};
  bool ready_ = false;                                  // and the service manager knows
  std::function<void(const std::string&)> on_serving_;  // a door, by its name
  std::mutex serving_mutex_;
  std::set<std::string> serving_;  // doors whose clients are answered
  std::atomic<bool> failed_{false};
  Supervisor doors_;
};

// Where clients connect: the tenant "local" first.
std::vector<std::string> endpoints_of(const DaemonOptions& options) {
  std::vector<std::string> endpoints = {options.endpoint};
  for (const std::string& tenant : options.tenants) {
    endpoints.push_back(tenant_endpoint(options.run_dir, tenant));
  }
  return endpoints;
}

}  // namespace

Result<int> run_daemon(const ParsedOptions& parsed, Surroundings& around,
                       const std::function<void()>& on_ready) {
  const DaemonOptions& options = parsed.options;
  // A reload waits until there is something to reload; another SIGHUP ends what loads.
  if (around.read_again) set_blocked(SIGHUP, true);
  auto run_dir = RunDir::open(options.run_dir);
  if (!run_dir.ok()) {
    const Error& error = run_dir.error();
    return Error{error.code, error.field, error.message + "; --run-dir names another folder"};
  }
  ::umask(0077);  // what is made is for this user alone
  Compute compute(options.threads);
  ZmqContext context;
  const std::vector<std::string> endpoints = endpoints_of(options);
  std::vector<SocketFile> sockets;
  for (const std::string& endpoint : endpoints) {
    // The others are the service manager's.
    if (!around.sockets.find_ipc(endpoint)) sockets.emplace_back(endpoint);
    sockets.emplace_back(wire::events_endpoint(endpoint));
  }
  for (const SocketFile& socket : sockets) RETURN_IF_ERROR(socket.check_free());
  ASSIGN_OR_RETURN(std::unique_ptr<HttpDoor> http,
                   HttpDoor::open(options, around.sockets.take_others(endpoints), context));
  std::optional<CurveDoor> tcp;
  if (!options.tcp_address.empty()) {
    ASSIGN_OR_RETURN(tcp, open_tcp_door(options));
  }
  around.manager.status("loading " + options.model_dir);
  ASSIGN_OR_RETURN(std::unique_ptr<ModelHost> host,
                   ModelHost::load(options, {options.model_dir, options.state_dir, /*label=*/""},
                                   context, compute, compute.pool));
  auto service = std::make_unique<Service>(parsed, context, http.get(), std::move(tcp), *host,
                                           compute, around);
  int exit_code = service->run([&] {
    for (SocketFile& socket : sockets) socket.remember();
    // The other tenants' are for who runs the daemon to give away.
    if (!around.sockets.find_ipc(options.endpoint)) SocketFile(options.endpoint).open_to_group();
    SocketFile(wire::events_endpoint(options.endpoint)).open_to_group();
    on_ready();
  });
  for (const SocketFile& socket : sockets) socket.remove();
  const bool still_loading = service->still_loading();
  if (still_loading) static_cast<void>(service.release());
  service.reset();
  if (http && http->failed()) exit_code = kExitFailed;
  http.reset();
  host.reset();
  // Only the end of the process ends a load; it leaves nothing half done, as after a kill.
  if (still_loading) std::_Exit(exit_code);
  return exit_code;
}

}  // namespace cascade
