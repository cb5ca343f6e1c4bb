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

#include "actors/engine.h"
#include "actors/gateway_actor.h"
#include "actors/scheduler/tenant.h"
#include "actors/scheduler_actor.h"
#include "actors/store_actor.h"
#include "actors/supervisor.h"
#include "actors/worker.h"
#include "daemon/health.h"
#include "daemon/http_door.h"
#include "daemon/reload.h"
#include "daemon/run_dir.h"
#include "daemon/tcp_door.h"
#include "kernels/kv_format.h"
#include "persist/memory_store.h"
#include "persist/store.h"
#include "wire/events_endpoint.h"

namespace cascade {
namespace {

Result<PageArena> make_arena(const Model& model, int64_t kv_bytes_max) {
  const size_t page_bytes = model.kv_layout.page_bytes();
  const size_t pages = static_cast<size_t>(kv_bytes_max) / page_bytes;
  const std::string page_text = std::to_string(page_bytes) + " bytes, one page of " +
                                std::to_string(kPageTokens) + " tokens of this model";
  if (pages == 0) {
    return invalid_argument("--kv-memory", "must be at least " + page_text + ", got " +
                                               std::to_string(kv_bytes_max) + " bytes");
  }
  if (pages > UINT32_MAX) {
    return invalid_argument("--kv-memory", "must be below 2^32 times " + page_text + ", got " +
                                               std::to_string(kv_bytes_max) + " bytes");
  }
  Result<PageArena> arena = PageArena::create(page_bytes, pages);
  if (arena.ok()) return arena;
  return Error{arena.error().code, "--kv-memory", arena.error().message};
}

// Everything that lives as long as the service does; members are destroyed after the actors'
// threads have ended.
class Service {
 public:
  Service(const ParsedOptions& parsed, ZmqContext& context, HttpDoor* http,
          std::optional<CurveDoor> tcp, const Model& model, PageArena arena, ThreadPool& pool,
          std::unique_ptr<Store> store, Surroundings& around)
      : settings_(parsed),
        options_(settings_.options),
        around_(around),
        health_(system_clock(), around.manager, model.name),
        context_(context),
        http_(http),
        tcp_(std::move(tcp)),
        model_(model),
        arena_(std::move(arena)),
        store_(std::move(store)),
        engine_(model, arena_, pool),
        supervisor_(system_clock(), {}, [this](const std::string& actor, const std::string& why) {
          spdlog::critical("actor {} failed too often ({}); the daemon stops", actor, why);
          failed_ = true;
          signals_io_.stop();
        }) {}

  ~Service() {
    if (http_ != nullptr) http_->when_serving({});
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  int run(const std::function<void()>& on_ready) {
    expect_doors(on_ready);
    start_actors();
    start_gateways();
    const int signal = wait_for_signal();
    supervisor_.stop_restarting();
    if (http_ != nullptr) http_->stop_restarting();
    // Actors may be waiting for one that is gone, so they cannot be stopped in good order.
    if (failed_) std::_Exit(1);
    spdlog::info("signal {}: stopping", signal);
    around_.manager.stopping();
    around_.manager.status("stopping");
    ask_to_stop();
    supervisor_.join();
    spdlog::info("stopped");
    return 0;
  }

 private:
  void start_actors() {
    supervisor_.start("scheduler", [this](uint64_t incarnation) {
      run_scheduler(context_, scheduler_options(incarnation), model_, arena_, system_clock(),
                    {[this](const SchedulerLoad& load) { health_.on_tick(load); },
                     [this] { return take_limits(); }});
      // It returns when it was told to stop. A worker that has not connected yet was not told.
      context_.end_binding();
    });
    start_worker(kPrefillActor, [this](const wire::Message& m) -> std::optional<wire::Message> {
      const WorkMeter::Piece piece(health_.prefill);
      if (const auto* encode = std::get_if<wire::EncodeJob>(&m)) return run_encode(model_, *encode);
      if (const auto* job = std::get_if<wire::PrefillJob>(&m)) return run_prefill(engine_, *job);
      return std::nullopt;
    });
    start_worker(kDecodeActor, [this](const wire::Message& m) -> std::optional<wire::Message> {
      const WorkMeter::Piece piece(health_.decode);
      if (const auto* job = std::get_if<wire::DecodeJob>(&m)) return run_decode(engine_, *job);
      return std::nullopt;
    });
    supervisor_.start(kStoreActor, [this](uint64_t incarnation) { run_store(incarnation); });
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
      supervisor_.start("tcp", [this](uint64_t incarnation) {
        run_tcp_gateway(context_, *tcp_, incarnation, [&] { on_serving_("tcp"); });
      });
    }
    start_gateway(kLocalTenant, options_.endpoint);
    for (const std::string& tenant : options_.tenants) {
      start_gateway(tenant, tenant_endpoint(options_.run_dir, tenant));
    }
  }

  void start_gateway(const std::string& tenant, const std::string& endpoint) {
    const GatewayDoor door = {tenant, endpoint, wire::events_endpoint(endpoint),
                              around_.sockets.find_ipc(endpoint).value_or(-1)};
    supervisor_.start(door_name(Door::kIpc, tenant), [=, this](uint64_t incarnation) {
      run_gateway(context_, door, incarnation,
                  [&] { on_serving_(door_name(Door::kIpc, door.tenant)); });
    });
  }

  void start_worker(const char* name,
                    std::function<std::optional<wire::Message>(const wire::Message&)> handle) {
    supervisor_.start(name, [this, name, handle = std::move(handle)](uint64_t incarnation) {
      run_worker(context_, name, incarnation, handle);
    });
  }

  void run_store(uint64_t incarnation) {
    // What an earlier incarnation did not commit is made again by the scheduler.
    ChunkStore& chunks = store_ ? static_cast<ChunkStore&>(*store_) : memory_store_;
    const Status undone = chunks.rollback();
    if (!undone.ok()) throw std::runtime_error(undone.error().to_string());
    StoreActor actor = store_ ? StoreActor(*store_, arena_, system_clock())
                              : StoreActor(memory_store_, system_clock());
    run_batch_worker(context_, kStoreActor, incarnation,
                     [&](const std::vector<wire::Message>& batch, const Send& send) {
                       const WorkMeter::Piece piece(health_.store);
                       batch.empty() ? actor.tidy(send) : actor.handle(batch, send);
                       return actor.busy();
                     });
  }

  SchedulerOptions scheduler_options(uint64_t incarnation) {
    const std::lock_guard lock(options_mutex_);
    SchedulerOptions scheduler;
    scheduler.version = CASCADE_VERSION;
    scheduler.threads = options_.threads;
    scheduler.incarnation = incarnation;
    scheduler.requests_waiting_max = options_.requests_waiting_max;
    scheduler.tokens_waiting_max = options_.tokens_waiting_max;
    scheduler.requests_running_max = options_.requests_running_max;
    scheduler.stop_us = int64_t{options_.stop_timeout_s} * 1'000'000;
    scheduler.max_tokens_default = options_.max_tokens_default;
    scheduler.eviction = options_.eviction;
    scheduler.think_policy = options_.think_policy;
    scheduler.max_pinned = options_.max_pinned;
    scheduler.chunk_memory_ratio = options_.chunk_memory_ratio;
    scheduler.keep_pages = store_ != nullptr;
    scheduler.planner.slice_tokens_max = Transformer::kRowsMax;
    return scheduler;
  }

  // The signal that ends it; 0 if an actor could not go on.
  int wait_for_signal() {
    int received = 0;
    take_signal(received);
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
    std::vector<std::string> new_tenants;
    if (http_ != nullptr) {
      const Status keys = http_->reload_keys(plan.options.http_keys_file, new_tenants);
      if (!keys.ok()) spdlog::error("keys stay as they were: {}", keys.error().to_string());
    }
    if (tcp_) {
      const Status clients = reload_tcp_clients(*tcp_, plan.options.tcp_clients_file, new_tenants);
      if (!clients.ok())
        spdlog::error("clients stay as they were: {}", clients.error().to_string());
    }
    for (const std::string& tenant : new_tenants) {
      spdlog::warn("the tenant {} is new: its keys take a restart", tenant);
    }
    for (const std::string& change : plan.applied) spdlog::info("changed: {}", change);
    for (const std::string& change : plan.refused) {
      spdlog::warn("changed, but takes a restart: {}", change);
    }
    spdlog::set_level(spdlog::level::from_str(plan.options.log_level));
    {
      const std::lock_guard lock(options_mutex_);
      settings_.options = std::move(plan.options);
      // What takes a restart is said again next time.
      for (const config::Setting& setting : config::settings()) {
        if (!setting.reloads) continue;
        settings_.configuration.values.erase(std::string(setting.name));
        const auto now = read.configuration.values.find(setting.name);
        if (now != read.configuration.values.end()) settings_.configuration.values.insert(*now);
      }
    }
    SchedulerOptions limits = scheduler_options(0);
    const std::lock_guard lock(options_mutex_);
    limits_ = std::move(limits);
    spdlog::info("reloaded");
  }

  std::optional<SchedulerOptions> take_limits() {
    const std::lock_guard lock(options_mutex_);
    return std::exchange(limits_, std::nullopt);
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

  void ask_to_stop() {
    asio::io_context io(1);
    ZmqPort::Options port_options;
    port_options.routing_id = kMainActor;
    ZmqPort port(io, context_, port_options);
    if (port.connect(kSchedulerEndpoint).ok()) port.send(wire::encode({{}, wire::Stop{}}));
  }

  ParsedOptions settings_;  // main thread
  const DaemonOptions& options_;
  Surroundings& around_;
  Health health_;
  ZmqContext& context_;
  HttpDoor* const http_;                // nullptr: none
  const std::optional<CurveDoor> tcp_;  // nullopt: none
  const Model& model_;
  PageArena arena_;
  std::unique_ptr<Store> store_;  // nullptr: nothing outlives the process
  MemoryStore memory_store_;      // in its place
  Engine engine_;
  asio::io_context signals_io_{1};
  // Before anybody can be told that the daemon serves: who is may stop it at once. SIGHUP: read the
  // settings again; without such, the terminal of a daemon in the foreground was closed.
  asio::signal_set signals_{signals_io_, SIGINT, SIGTERM, SIGHUP};
  asio::steady_timer beat_{signals_io_};
  bool ready_ = false;                                  // and the service manager knows
  std::mutex options_mutex_;                            // of what a reload changes
  std::optional<SchedulerOptions> limits_;              // for the scheduler
  std::function<void(const std::string&)> on_serving_;  // a door, by its name
  std::mutex serving_mutex_;
  std::set<std::string> serving_;  // doors whose clients are answered
  std::atomic<bool> failed_{false};
  Supervisor supervisor_;
};

void log_load(const LoadReport& load, size_t packed_bytes) {
  for (const std::string& warning : load.warnings) spdlog::warn("{}", warning);
  spdlog::info("loaded in {} ms: {} MiB of weights {}, their digest {}", load.load_us / 1000,
               packed_bytes >> 20, load.from_cache ? "mapped from the cache" : "packed",
               load.hashed ? "computed" : "known");
}

// Opens the state directory; nullptr if there is none.
Result<std::unique_ptr<Store>> open_store(const DaemonOptions& options) {
  if (options.state_dir.empty()) {
    spdlog::warn(
        "no --state-dir, and no STATE_DIRECTORY, XDG_STATE_HOME or HOME to derive it from: "
        "chunks, K and V, and packed weights are not kept for the next start");
    return std::unique_ptr<Store>();
  }
  StoreOptions store;
  store.kv.disk_bytes_max = static_cast<uint64_t>(options.disk_bytes_max);
  // Compaction works on whole files: a small budget is to have several.
  store.kv.file_bytes_max =
      std::clamp<uint64_t>(store.kv.disk_bytes_max / 8, 1, store.kv.file_bytes_max);
  auto opened = Store::open(system_file_calls(), options.state_dir, store);
  if (!opened.ok()) return opened;
  for (const Finding& finding : (*opened)->findings()) {
    spdlog::warn("{}: {}", finding.where, finding.what);
  }
  return opened;
}

// So that people can tell what the digests in the state directory mean: a full disk is no reason
// not to start.
Status note_model(Store& store, const Model& model, const DaemonOptions& options) {
  Status noted = store.kv().put_model(
      {model.root_key(""), model.name, std::string(to_string(options.weight_type)),
       std::string(to_string(options.kv_type)), kKvLayoutVersion, kNumericsVersion});
  if (noted.ok()) noted = store.commit();
  if (noted.ok() || noted.error().code != ErrorCode::kResourceExhausted) return noted;
  spdlog::warn("the state directory takes no writes: {}", noted.error().to_string());
  return store.rollback();
}

void log_model(const Model& model, const PageArena& arena, const DaemonOptions& options) {
  spdlog::info(
      "model {} ({}, {} layers): weights {} MiB as {}; KV {} bytes a token as {}, {} MiB "
      "at most; {} kernels on {} threads",
      model.name, model.config.model_type, model.config.layers, model.weights.bytes() >> 20,
      to_string(options.weight_type), arena.page_bytes() / kPageTokens, to_string(options.kv_type),
      options.kv_bytes_max >> 20, to_string(options.isa), options.threads);
}

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
  ASSIGN_OR_RETURN(const RunDir run_dir, RunDir::open(options.run_dir));
  ::umask(0077);  // the socket is for this user alone
  ThreadPool pool(options.threads);
  ZmqContext context;
  const std::vector<std::string> endpoints = endpoints_of(options);
  ASSIGN_OR_RETURN(const std::unique_ptr<HttpDoor> http,
                   HttpDoor::open(options, around.sockets.take_others(endpoints), context));
  std::optional<CurveDoor> tcp;
  if (!options.tcp_address.empty()) {
    ASSIGN_OR_RETURN(tcp, open_tcp_door(options));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Store> store, open_store(options));
  const ModelOptions model_options = {options.weight_type, options.kv_type, options.isa,
                                      options.cache_dir};
  around.manager.status("loading " + options.model_dir);
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> model,
                   load_model(options.model_dir, model_options, pool));
  log_load(model->load, model->weights.bytes());
  ASSIGN_OR_RETURN(PageArena arena, make_arena(*model, options.kv_bytes_max));
  log_model(*model, arena, options);
  if (store) RETURN_IF_ERROR(note_model(*store, *model, options));
  Service service(parsed, context, http.get(), std::move(tcp), *model, std::move(arena), pool,
                  std::move(store), around);
  std::vector<SocketFile> sockets;
  for (const std::string& endpoint : endpoints) {
    // The others are the service manager's.
    if (!around.sockets.find_ipc(endpoint)) sockets.emplace_back(endpoint);
    sockets.emplace_back(wire::events_endpoint(endpoint));
  }
  const int exit_code = service.run([&] {
    for (SocketFile& socket : sockets) socket.remember();
    on_ready();
  });
  for (const SocketFile& socket : sockets) socket.remove();
  if (http && http->failed()) return kExitFailed;
  return exit_code;
}

}  // namespace cascade
