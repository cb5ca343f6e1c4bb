// Start: model, pages, actors. Stop: ask the scheduler, which tells the other actors.
#include "daemon/daemon.h"

#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>

#include "actors/accept_guard.h"
#include "actors/client_queue.h"
#include "daemon/descriptor_plan.h"
#include "daemon/doors.h"
#include "daemon/health.h"
#include "daemon/http_door.h"
#include "daemon/model_host.h"
#include "daemon/model_router.h"
#include "daemon/reload.h"
#include "daemon/run_dir.h"
#include "daemon/tcp_door.h"
#include "daemon/thread_room.h"
#include "wire/loading.h"

namespace cascade {
namespace {

// Blocks or unblocks `signal` for the calling thread, and for the threads that it starts from then
// on.
void set_blocked(int signal, bool blocked) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, signal);
  ::pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, nullptr);
}

// How often the service manager is told the progress of the load.
constexpr std::chrono::milliseconds kLoadLook{500};

// The parts of a ready daemon that exist so far: the model, and doors whose clients are answered.
// Any thread.
class OpenParts {
 public:
  // Calls `then` if all of `count` parts exist now, also when one of them has been opened again.
  void add(const std::string& part, size_t count, const std::function<void()>& then) {
    const std::lock_guard lock(mutex_);
    parts_.insert(part);
    if (parts_.size() == count) then();
  }

 private:
  std::mutex mutex_;
  std::set<std::string> parts_;
};

// Connections are accepted while this number of descriptors is left. The plan leaves more; this
// number is for needs that the plan did not foresee.
constexpr int64_t kLastDescriptors = 16;

// Raises the limit of descriptors as far as more of them are of use, and divides the descriptors.
Result<DescriptorPlan> divide_descriptors(const DaemonOptions& options, bool http,
                                          const std::optional<CurveDoor>& tcp) {
  const DescriptorNeeds needs = {.ipc_tenants = 1 + options.tenants.size(),
                                 .http = http,
                                 .tcp = tcp.has_value(),
                                 .key_tenants = HttpDoor::count_key_tenants(options) +
                                                (tcp ? tcp->clients->get()->tenant_count() : 0),
                                 .other_models = !options.models_dir.empty()};
  const int64_t limit = raise_descriptor_limit(descriptors_wanted(needs));
  ASSIGN_OR_RETURN(DescriptorPlan plan, plan_descriptors(needs, limit));
  AcceptGuard::set_descriptors_max(
      static_cast<int>(std::min<int64_t>(limit, INT_MAX) - kLastDescriptors));
  return plan;
}

// Everything that lives as long as the service does; members are destroyed after the actors'
// threads have ended.
class Service {
 public:
  Service(const ParsedOptions& parsed, ZmqContext& context, Compute& compute, Surroundings& around,
          const std::function<void()>& on_ready)
      : settings_(parsed),
        options_(settings_.options),
        around_(around),
        on_ready_(on_ready),
        health_(system_clock(), around.manager),
        context_(context),
        compute_(compute) {}

  ~Service() {
    if (http_) http_->when_serving({});
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Opens the doors. Their clients are told that the model is being loaded. Errors: as
  // run_daemon().
  Status open_doors() {
    std::optional<CurveDoor> tcp;
    if (!options_.tcp_address.empty()) {
      ASSIGN_OR_RETURN(tcp, open_tcp_door(options_, start_));
    }
    std::vector<int> for_http = around_.sockets.take_others(endpoints_of(options_));
    const bool http = !options_.http_address.empty() || !for_http.empty();
    ASSIGN_OR_RETURN(const DescriptorPlan descriptors, divide_descriptors(options_, http, tcp));
    if (tcp) tcp->connections_max = descriptors.tcp;
    ASSIGN_OR_RETURN(
        http_, HttpDoor::open(options_, std::move(for_http), descriptors.http, context_, start_));
    const auto on_failure = [this](const std::string& actor, const std::string& why) {
      this->on_failure(actor, why);
    };
    auto doors =
        std::make_unique<Doors>(context_, options_, around_.sockets, std::move(tcp), descriptors,
                                start_, Doors::Hooks{[this] { open("ZeroMQ"); }, on_failure});
    RETURN_IF_ERROR(doors->check_free());
    doors_ = std::move(doors);
    if (http_) http_->when_serving([this] { open("HTTP"); });
    doors_->start();
    return {};
  }

  // Loads the default model while the doors are open. Returns true if it is loaded, and false if a
  // signal came first or a door could not go on: the process must end then. Errors: as
  // ModelHost::load().
  Result<bool> load() {
    Result<std::unique_ptr<ModelHost>> loaded = std::unique_ptr<ModelHost>();
    bool ended = false;
    const auto work = [&] {
      pthread_setname_np(pthread_self(), "load");
      auto host = ModelHost::load(options_, {options_.model_dir, options_.state_dir, /*label=*/""},
                                  context_, compute_, compute_.pool, &start_->progress());
      asio::post(signals_io_, [&, host = std::make_shared<decltype(host)>(std::move(host))] {
        loaded = std::move(*host);
        ended = true;
        signals_io_.stop();
      });
    };
    std::thread loader;
    try {
      loader = std::thread(work);
    } catch (const std::system_error& error) {
      return resource_exhausted(
          "threads", std::string("no memory is left to load the model: ") + error.what());
    }
    take_signal();
    tell_progress();
    signals_io_.run();
    if (!ended) {
      loader.detach();  // the load ends only with the process, and leaves nothing half done
      return false;
    }
    loader.join();
    progress_.cancel();
    signals_io_.restart();
    if (!loaded.ok()) return loaded.error();
    host_ = *std::move(loaded);
    return true;
  }

  // Called instead of serve(). Connected clients are told nothing more.
  void close_doors() {
    around_.manager.stopping();
    doors_->stop_restarting();
    if (http_) http_->stop_restarting();
    context_.end_binding();
    doors_->join();
    http_.reset();
  }

  // Called after load(). Serves until a signal comes; returns the exit code. `still_loading`
  // becomes true if a thread that cannot be waited for is loading another model.
  int serve(bool& still_loading) {
    health_.add(host_->health());
    models_.emplace(context_, options_, *host_, compute_, health_,
                    [this](const std::string& why) { on_failure("models", why); });
    host_->start(
        [this](const std::string& actor, const std::string& why) { on_failure(actor, why); });
    try {
      models_->start();
    } catch (const std::exception& error) {  // no thread or descriptor was left for the router
      on_failure("models", error.what());
    }
    start_->serve(host_->model().name);
    open("model");
    set_blocked(SIGHUP, false);
    beat();
    signals_io_.run();
    doors_->stop_restarting();
    if (http_) http_->stop_restarting();
    // Actors may be waiting for an actor that has ended, so they cannot be stopped in good order.
    if (failed_) std::_Exit(1);
    spdlog::info("signal {}: stopping", signal_);
    around_.manager.stopping();
    around_.manager.status("stopping");
    // The doors take the answers of the other models until the default model's scheduler stops.
    still_loading = models_->stop();
    host_->ask_to_stop();
    host_->join();
    doors_->join();
    models_->end();
    spdlog::info("stopped");
    const int exit_code = failed() ? kExitFailed : 0;
    http_.reset();
    if (still_loading) host_.reset();  // then this object's destructor never runs
    return exit_code;
  }
  // Whether some part could not go on.
  bool failed() const { return failed_ || (http_ && http_->failed()); }

 private:
  void on_failure(const std::string& actor, const std::string& why) {
    spdlog::critical("actor {} failed too often ({}); the daemon stops", actor, why);
    failed_ = true;
    // Posted, so that the stop is not lost between two calls of run().
    asio::post(signals_io_, [this] { signals_io_.stop(); });
  }

  // Called on the part's thread; the last part makes the daemon ready.
  void open(const std::string& part) {
    parts_.add(part, http_ ? 3 : 2, [this] {
      on_ready_();
      asio::post(signals_io_, [this] { tell_ready(); });
    });
  }

  void take_signal() {
    signals_.async_wait([this](const boost::system::error_code& error, int signal) {
      if (error) return;
      if (signal == SIGHUP && around_.read_again) {
        reload();
        return take_signal();
      }
      signal_ = signal;
      signals_io_.stop();
    });
  }

  void tell_progress() {
    const auto percent = wire::percent_of(start_->loading());
    around_.manager.status("loading " + options_.model_dir +
                           (percent ? ": " + std::to_string(*percent) + " %" : ""));
    progress_.expires_after(kLoadLook);
    progress_.async_wait([this](const boost::system::error_code& error) {
      if (!error) tell_progress();
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
    if (http_) {
      const Status keys = http_->reload_keys(plan.options.http_keys_file);
      if (!keys.ok()) {
        spdlog::error("keys stay as they were: {}", keys.error().to_string());
        std::erase_if(plan.applied,
                      [](const std::string& change) { return change.starts_with("--http-keys "); });
      }
    }
    if (const CurveDoor* tcp = doors_->tcp()) {
      const Status clients = reload_tcp_clients(*tcp, plan.options.tcp_clients_file);
      if (!clients.ok())
        spdlog::error("clients stay as they were: {}", clients.error().to_string());
    }
    for (const std::string& change : plan.applied) spdlog::info("changed: {}", change);
    for (const std::string& change : plan.refused) {
      spdlog::warn("changed, but needs a restart: {}", change);
    }
    spdlog::set_level(spdlog::level::from_str(plan.options.log_level));
    settings_.options = std::move(plan.options);
    // Only settings that reload are taken over: changes that need a restart are reported again next
    // time.
    for (const config::Setting& setting : config::settings()) {
      if (!setting.reloads) continue;
      settings_.configuration.values.erase(std::string(setting.name));
      const auto now = read.configuration.values.find(setting.name);
      if (now != read.configuration.values.end()) settings_.configuration.values.insert(*now);
    }
    host_->set_limits(options_);
    models_->set_limits(options_);
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

  // Called when clients can connect.
  void tell_ready() {
    if (std::exchange(ready_, true)) return;
    health_.beat();
    around_.manager.ready();
  }

  ParsedOptions settings_;  // main thread
  const DaemonOptions& options_;
  Surroundings& around_;
  const std::function<void()> on_ready_;
  const std::shared_ptr<ServiceStart> start_ = std::make_shared<ServiceStart>();
  Health health_;
  ZmqContext& context_;
  Compute& compute_;
  std::unique_ptr<ModelHost> host_;    // of the default model; nullptr until it is loaded
  std::optional<ModelRouter> models_;  // the other models
  std::unique_ptr<HttpDoor> http_;     // nullptr: none
  std::unique_ptr<Doors> doors_;
  asio::io_context signals_io_{1};
  // This exists before anybody can be told that the daemon serves, since they may stop it at once.
  // SIGHUP reads the settings again. If there are none to read again, SIGHUP means that the
  // terminal of a daemon in the foreground was closed.
  asio::signal_set signals_{signals_io_, SIGINT, SIGTERM, SIGHUP};
  int signal_ = 0;  // the signal that ends the service; 0: an actor could not go on
  asio::steady_timer beat_{signals_io_};
  asio::steady_timer progress_{signals_io_};
  bool ready_ = false;  // the parts are open, and the service manager has been told
  OpenParts parts_;
  std::atomic<bool> failed_{false};
};

// Says at the start that nothing is kept: as a warning, unless it was asked for.
void say_that_nothing_is_kept(const ParsedOptions& parsed) {
  const auto given = parsed.configuration.values.find("state-dir");
  const std::string lost = "chunks, K and V, and packed weights are not kept for the next start";
  if (given != parsed.configuration.values.end()) {
    return spdlog::info("{} is empty: {}", given->second.origin, lost);
  }
  spdlog::warn(
      "no --state-dir, and no STATE_DIRECTORY, XDG_STATE_HOME or HOME of this user to derive it "
      "from: {}",
      lost);
}

// Ends the process while a thread that cannot be waited for goes on. Clients get everything that
// was sent to them.
[[noreturn]] void end_at_once(ZmqContext& context, int exit_code) {
  constexpr int kMarginMs = 500;  // for the I/O thread, after the last client's time
  if (!context.end_within(std::chrono::milliseconds(kClientLingerMs + kMarginMs))) {
    spdlog::warn("clients may not have received their last answers");
  }
  std::_Exit(exit_code);
}

}  // namespace

Result<int> run_daemon(const ParsedOptions& parsed, Surroundings& around,
                       const std::function<void()>& on_ready) {
  const DaemonOptions& options = parsed.options;
  // With settings to read again, SIGHUP waits until there is a service to reload. Otherwise SIGHUP
  // ends the load.
  if (around.read_again) set_blocked(SIGHUP, true);
  auto run_dir = RunDir::open(options.run_dir);
  if (!run_dir.ok()) {
    const Error& error = run_dir.error();
    return Error{error.code, error.field, error.message + "; --run-dir names another folder"};
  }
  ::umask(0077);  // new files are for this user alone
  if (options.state_dir.empty()) say_that_nothing_is_kept(parsed);
  RETURN_IF_ERROR(check_thread_room(threads_needed(options)));
  Compute compute(options.threads);
  ZmqContext context;
  auto service = std::make_unique<Service>(parsed, context, compute, around, on_ready);
  RETURN_IF_ERROR(service->open_doors());
  const auto loaded = service->load();
  if (!loaded.ok() || !*loaded) {
    const bool failed = service->failed();
    service->close_doors();
    if (!loaded.ok()) return loaded.error();
    spdlog::info("stopped before it served");
    end_at_once(context, failed ? kExitFailed : 0);
  }
  bool still_loading = false;
  const int exit_code = service->serve(still_loading);
  // A load ends only with the process; it leaves nothing half done, as after a kill.
  if (still_loading) end_at_once(context, exit_code);
  return exit_code;
}

}  // namespace cascade
