// Start: model, pages, actors. Stop: ask the scheduler, which tells the others.
#include "daemon/daemon.h"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <cstdlib>

#include "actors/engine.h"
#include "actors/gateway_actor.h"
#include "actors/scheduler_actor.h"
#include "actors/store_actor.h"
#include "actors/supervisor.h"
#include "actors/worker.h"
#include "daemon/run_dir.h"
#include "persist/memory_store.h"

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
  Service(const DaemonOptions& options, const Model& model, PageArena arena, ThreadPool& pool)
      : options_(options),
        model_(model),
        arena_(std::move(arena)),
        engine_(model, arena_, pool),
        supervisor_(system_clock(), {}, [this](const std::string& actor, const std::string& why) {
          spdlog::critical("actor {} failed too often ({}); the daemon stops", actor, why);
          failed_ = true;
          signals_io_.stop();
        }) {}

  int run(const std::function<void()>& on_ready) {
    start_actors(on_ready);
    const int signal = wait_for_signal();
    supervisor_.stop_restarting();
    // Actors may be waiting for one that is gone, so they cannot be stopped in good order.
    if (failed_) std::_Exit(1);
    spdlog::info("signal {}: stopping", signal);
    ask_to_stop();
    supervisor_.join();
    spdlog::info("stopped");
    return 0;
  }

 private:
  void start_actors(const std::function<void()>& on_ready) {
    supervisor_.start("scheduler", [this](uint64_t incarnation) {
      run_scheduler(context_, scheduler_options(incarnation), model_, arena_, system_clock());
      // It returns when it was told to stop. A worker that has not connected yet was not told.
      context_.end_binding();
    });
    start_worker(kPrefillActor, [this](const wire::Message& m) -> std::optional<wire::Message> {
      if (const auto* encode = std::get_if<wire::EncodeJob>(&m)) return run_encode(model_, *encode);
      if (const auto* job = std::get_if<wire::PrefillJob>(&m)) return run_prefill(engine_, *job);
      return std::nullopt;
    });
    start_worker(kDecodeActor, [this](const wire::Message& m) -> std::optional<wire::Message> {
      if (const auto* job = std::get_if<wire::DecodeJob>(&m)) return run_decode(engine_, *job);
      return std::nullopt;
    });
    start_worker(kStoreActor, [this](const wire::Message& m) { return handle_store(store_, m); });
    supervisor_.start(kGatewayActor, [this, on_ready](uint64_t incarnation) {
      run_gateway(context_, options_.endpoint, incarnation, on_ready);
    });
  }

  void start_worker(const char* name,
                    std::function<std::optional<wire::Message>(const wire::Message&)> handle) {
    supervisor_.start(name, [this, name, handle = std::move(handle)](uint64_t incarnation) {
      run_worker(context_, name, incarnation, handle);
    });
  }

  SchedulerOptions scheduler_options(uint64_t incarnation) const {
    SchedulerOptions scheduler;
    scheduler.version = CASCADE_VERSION;
    scheduler.threads = options_.threads;
    scheduler.incarnation = incarnation;
    scheduler.requests_waiting_max = options_.requests_waiting_max;
    scheduler.requests_running_max = options_.requests_running_max;
    scheduler.max_tokens_default = options_.max_tokens_default;
    scheduler.planner.slice_tokens_max = Transformer::kRowsMax;
    return scheduler;
  }

  // SIGINT, SIGTERM or SIGHUP; 0 if an actor could not go on.
  int wait_for_signal() {
    int received = 0;
    // SIGHUP: the terminal of a daemon in the foreground was closed.
    asio::signal_set signals(signals_io_, SIGINT, SIGTERM, SIGHUP);
    signals.async_wait([&](const boost::system::error_code& error, int signal) {
      if (!error) received = signal;
    });
    signals_io_.run();
    return received;
  }

  void ask_to_stop() {
    asio::io_context io(1);
    ZmqPort::Options port_options;
    port_options.routing_id = kMainActor;
    ZmqPort port(io, context_, port_options);
    if (port.connect(kSchedulerEndpoint).ok()) port.send(wire::encode({{}, wire::Stop{}}));
  }

  const DaemonOptions& options_;
  const Model& model_;
  PageArena arena_;
  Engine engine_;
  MemoryStore store_;
  ZmqContext context_;
  asio::io_context signals_io_{1};
  std::atomic<bool> failed_{false};
  Supervisor supervisor_;
};

void log_load(const LoadReport& load, size_t packed_bytes) {
  for (const std::string& warning : load.warnings) spdlog::warn("{}", warning);
  spdlog::info("loaded in {} ms: {} MiB of weights {}, their digest {}", load.load_us / 1000,
               packed_bytes >> 20, load.from_cache ? "mapped from the cache" : "packed",
               load.hashed ? "computed" : "known");
}

}  // namespace

Result<int> run_daemon(const DaemonOptions& options, const std::function<void()>& on_ready) {
  ASSIGN_OR_RETURN(const RunDir run_dir, RunDir::open(options.run_dir));
  ::umask(0077);  // the socket is for this user alone
  ThreadPool pool(options.threads);
  if (options.state_dir.empty()) {
    spdlog::warn(
        "no --state-dir, and no STATE_DIRECTORY, XDG_STATE_HOME or HOME to derive it from: "
        "packed weights are not kept for the next start");
  }
  const ModelOptions model_options = {options.weight_type, options.kv_type, options.isa,
                                      options.state_dir};
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> model,
                   load_model(options.model_dir, model_options, pool));
  log_load(model->load, model->weights.bytes());
  ASSIGN_OR_RETURN(PageArena arena, make_arena(*model, options.kv_bytes_max));
  spdlog::info(
      "model {} ({}, {} layers): weights {} MiB as {}; KV {} bytes a token as {}, {} MiB "
      "at most; {} kernels on {} threads",
      model->name, model->config.model_type, model->config.layers, model->weights.bytes() >> 20,
      to_string(options.weight_type), arena.page_bytes() / kPageTokens, to_string(options.kv_type),
      options.kv_bytes_max >> 20, to_string(options.isa), options.threads);
  Service service(options, *model, std::move(arena), pool);
  SocketFile socket(options.endpoint);
  const int exit_code = service.run([&] {
    socket.remember();
    on_ready();
  });
  socket.remove();
  return exit_code;
}

}  // namespace cascade
