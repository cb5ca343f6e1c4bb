// One served model: its weights, its pages, its state directory, and the actors that work on them.
// It is loaded and stopped on its own, beside others.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "actors/engine.h"
#include "actors/scheduler/scheduler_options.h"
#include "actors/supervisor.h"
#include "actors/worker.h"
#include "actors/zmq_port.h"
#include "daemon/compute.h"
#include "daemon/health.h"
#include "daemon/options.h"
#include "model/model.h"
#include "persist/chain_states.h"
#include "persist/kv_part_files.h"
#include "persist/memory_store.h"
#include "persist/store.h"

namespace cascade {

class ModelHost {
 public:
  // Identifies one of the daemon's models.
  struct Place {
    std::string model;      // a folder or a GGUF file
    std::string state_dir;  // empty: nothing outlives the process
    std::string label;      // follows its actors' names in logs; empty: the default model's
  };

  // Opens the state directory and loads the model; blocks. `packing` packs the weights; it is not
  // the pool that others compute with. `progress` is updated if there is one. `context` is where
  // the model's scheduler will listen, at kSchedulerEndpoint. `context` and `compute` outlive the
  // host. Errors: as Store::open(), state_slots() and load_model(); "--kv-memory".
  static Result<std::unique_ptr<ModelHost>> load(const DaemonOptions& options, const Place& place,
                                                 ZmqContext& context, Compute& compute,
                                                 ThreadPool& packing,
                                                 LoadProgress* progress = nullptr);
  // Precondition: the actors were never started, or join() was called.
  ~ModelHost();
  ModelHost(const ModelHost&) = delete;
  ModelHost& operator=(const ModelHost&) = delete;

  // `on_failure(actor, why)` is called when an actor failed too often: on its thread, once for each
  // such actor.
  using OnFailure = std::function<void(const std::string&, const std::string&)>;
  void start(OnFailure on_failure);

  // The scheduler gets these limits at its next tick. Any thread.
  void set_limits(const DaemonOptions& options);

  // Asks the scheduler to stop: running requests end, and everything that was acknowledged is
  // durable.
  void ask_to_stop();
  // Stops the host after an actor has ended for good: nothing is waited for, and requests end
  // without answers.
  void give_up();
  // Waits until all actors have ended.
  void join();

  const Model& model() const { return *model_; }
  const std::shared_ptr<HostHealth>& health() const { return health_; }
  ZmqContext& context() const { return context_; }

 private:
  // Memory whose pages and slots the scheduler gives to sequences.
  struct Arenas {
    PageArena pages;
    std::optional<PageArena> states;  // of recurrent layers; nullopt: the model needs none
  };

  // What outlives the process.
  struct Disk {
    std::unique_ptr<Store> store;         // nullptr: nothing
    std::unique_ptr<ChainStates> states;  // nullptr: no states
  };

  ModelHost(const DaemonOptions& options, const Place& place, ZmqContext& context, Compute& compute,
            std::unique_ptr<Model> model, Arenas arenas, Disk disk);
  void start_worker(const char* name, Handle handle);
  void run_scheduler_actor(uint64_t incarnation);
  void run_store(uint64_t incarnation);
  void on_tick(const SchedulerLoad& load);
  SchedulerOptions scheduler_options(uint64_t incarnation);
  std::optional<SchedulerOptions> take_limits();
  std::string actor(const std::string& name) const;

  DaemonOptions options_;
  const std::string label_;
  ZmqContext& context_;
  Compute& compute_;
  const std::unique_ptr<Model> model_;
  Arenas arenas_;
  const Disk disk_;
  MemoryStore memory_store_;                  // used in place of disk_.store
  const std::unique_ptr<KvPartFiles> files_;  // nullptr if disk_.store is
  Engine engine_;
  const std::shared_ptr<HostHealth> health_;
  std::mutex options_mutex_;
  std::optional<SchedulerOptions> limits_;  // for the scheduler
  std::atomic<bool> given_up_{false};
  OnFailure on_failure_;
  Supervisor supervisor_;
};

}  // namespace cascade
