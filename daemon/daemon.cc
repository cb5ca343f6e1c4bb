// Start: model, pages, actors. Stop: ask the scheduler, which tells the others.
#include "daemon/daemon.h"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <filesystem>

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

// Waits for SIGINT or SIGTERM, or for `wake` (an actor that cannot go on). Returns the signal.
int wait_for_signal(asio::io_context& io) {
  int received = 0;
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](const boost::system::error_code& error, int signal) {
    if (!error) received = signal;
  });
  io.run();
  return received;
}

void ask_to_stop(ZmqContext& context) {
  asio::io_context io(1);
  ZmqPort::Options options;
  options.routing_id = kMainActor;
  ZmqPort port(io, context, options);
  if (port.connect(kSchedulerEndpoint).ok()) port.send(wire::encode({{}, wire::Stop{}}));
}

Result<PageArena> make_arena(const Model& model, int64_t kv_bytes_max) {
  const size_t page_bytes = model.kv_layout.page_bytes();
  const size_t pages = static_cast<size_t>(kv_bytes_max) / page_bytes;
  if (pages == 0) {
    return invalid_argument("--kv-memory", "one page of this model takes " +
                                               std::to_string(page_bytes) + " bytes");
  }
  return PageArena::create(page_bytes, pages);
}

}  // namespace

Result<int> run_daemon(const DaemonOptions& options,
                       void (*on_ready)(const std::string& endpoint)) {
  RETURN_IF_ERROR(check_endpoint(options.endpoint));
  ASSIGN_OR_RETURN(const RunDir run_dir, RunDir::open(options.run_dir));
  ::umask(0077);  // the socket is for this user alone

  ThreadPool pool(options.threads);
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> model,
                   load_model(options.model_dir,
                              {options.weight_type, options.kv_type, options.isa}, pool));
  ASSIGN_OR_RETURN(PageArena arena, make_arena(*model, options.kv_bytes_max));
  spdlog::info("model {} ({}, {} layers): weights {} MiB as {}, KV {} bytes a token as {}, "
               "{} pages at most; {} kernels on {} threads",
               model->name, model->config.model_type, model->config.layers,
               model->weights.bytes() >> 20, to_string(options.weight_type),
               arena.page_bytes() / kPageTokens, to_string(options.kv_type), arena.page_count(),
               to_string(options.isa), options.threads);

  Engine engine(*model, arena, pool);
  MemoryStore store;
  ZmqContext context;
  asio::io_context main_io(1);
  std::atomic<bool> failed{false};
  Supervisor supervisor(system_clock(), {}, [&](const std::string& actor, const std::string& why) {
    spdlog::critical("actor {} failed too often ({}); the daemon stops", actor, why);
    failed = true;
    main_io.stop();
  });

  supervisor.start("scheduler", [&](uint64_t incarnation) {
    SchedulerOptions scheduler;
    scheduler.version = CASCADE_VERSION;
    scheduler.threads = options.threads;
    scheduler.incarnation = incarnation;
    scheduler.requests_waiting_max = options.requests_waiting_max;
    scheduler.requests_running_max = options.requests_running_max;
    scheduler.max_tokens_default = options.max_tokens_default;
    scheduler.planner.slice_tokens_max = Transformer::kRowsMax;
    run_scheduler(context, scheduler, *model, arena, system_clock());
  });
  supervisor.start(kPrefillActor, [&](uint64_t incarnation) {
    run_worker(context, kPrefillActor, incarnation,
               [&](const wire::Message& message) -> std::optional<wire::Message> {
                 if (const auto* encode = std::get_if<wire::EncodeJob>(&message)) {
                   return run_encode(*model, *encode);
                 }
                 if (const auto* prefill = std::get_if<wire::PrefillJob>(&message)) {
                   return run_prefill(engine, *prefill);
                 }
                 return std::nullopt;
               });
  });
  supervisor.start(kDecodeActor, [&](uint64_t incarnation) {
    run_worker(context, kDecodeActor, incarnation,
               [&](const wire::Message& message) -> std::optional<wire::Message> {
                 const auto* decode = std::get_if<wire::DecodeJob>(&message);
                 return decode == nullptr ? std::nullopt
                                          : std::optional<wire::Message>(run_decode(engine, *decode));
               });
  });
  supervisor.start(kStoreActor, [&](uint64_t incarnation) {
    run_worker(context, kStoreActor, incarnation,
               [&](const wire::Message& message) { return handle_store(store, message); });
  });
  supervisor.start(kGatewayActor, [&](uint64_t incarnation) {
    run_gateway(context, options.endpoint, incarnation);
  });

  on_ready(options.endpoint);
  const int signal = wait_for_signal(main_io);
  supervisor.stop_restarting();
  if (failed) {
    // Actors may be waiting for one that is gone: what they hold is in memory only.
    std::_Exit(1);
  }
  spdlog::info("signal {}: stopping", signal);
  ask_to_stop(context);
  supervisor.join();
  spdlog::info("stopped");
  return 0;
}

}  // namespace cascade
