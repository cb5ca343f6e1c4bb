// Which models are in memory: loads and unloads them, one after the other, within the budget.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/background_jobs.h"
#include "daemon/model_catalog.h"
#include "daemon/model_host.h"
#include "daemon/model_loading.h"
#include "wire/messages.h"

namespace cascade {

// What becomes of the models that the keeper is asked for. Called on its thread.
struct KeeperHooks {
  std::function<void(const std::string&)> on_loaded;  // it takes requests, perhaps again
  std::function<void(const std::string&, const Error&)> on_not_loaded;
  // Its actors have ended: ports to its context are to be closed now.
  std::function<void(const std::string&)> on_ended;
  // Whether requests for it wait.
  std::function<bool(const std::string&)> is_waited_for;
};

// One thread, that of the io_context. Names are those of the catalog; the default model is listed,
// but never loaded or unloaded here.
class ModelKeeper {
 public:
  using Done = std::function<void(const Status&)>;

  // `default_host`, `compute` and `health` outlive it.
  ModelKeeper(asio::io_context& io, const DaemonOptions& options, const ModelHost& default_host,
              Compute& compute, Health& health, KeeperHooks hooks);
  ~ModelKeeper();

  // Reads the models directory again, then calls `then`.
  void rescan(std::function<void()> then);

  bool contains(const std::string& name) const { return models_.contains(name); }
  bool is_default(const std::string& name) const { return name == default_name_; }
  // The default model first.
  std::vector<wire::ModelInfo> list() const;
  wire::ModelInfo info(const std::string& name) const;
  std::optional<Error> problem(const std::string& name) const {
    return models_.at(name).entry.problem;
  }
  int64_t total_bytes() const;
  int64_t total_bytes_max() const { return options_.model_bytes_max; }
  const std::string& models_dir() const { return catalog_.models_dir(); }

  // The context of a model that takes requests; nullptr of one that does not.
  ZmqContext* serving(const std::string& name) const;
  bool is_loaded(const std::string& name) const;
  // Why requests are not to have it loaded just now: it failed a moment ago. And for how long.
  std::optional<Error> recent_failure(const std::string& name, int64_t& retry_after_ms) const;

  // Loads it, behind what was asked for before; `done` may be called at once. Whoever only waits
  // for it with a request gives no `done`. Preconditions: contains(name), not the default model.
  void load(const std::string& name, Done done);
  void unload(const std::string& name, Done done);

  // A request of the model is given to it, and has ended. `counts`: as a use of the model.
  void begin_request(const std::string& name, bool counts);
  void end_request(const std::string& name);

  void set_limits(const DaemonOptions& options);

  // Unloads all; what waits to be loaded is not. Then calls `then`, with whether a load is still
  // under way: only the end of the process ends it.
  void stop(std::function<void(bool)> then);

 private:
  enum class State { kUnloaded, kLoading, kLoaded, kUnloading };
  struct Model {
    CatalogEntry entry;
    State state = State::kUnloaded;
    std::shared_ptr<LoadedModel> loaded;
    bool draining = false;  // takes no new requests: it is to make room when it is idle
    int64_t requests = 0;
    int64_t last_used_us = 0;
    std::optional<Error> failure;  // of the last load
    int64_t failed_us = 0;         // monotonic
  };
  struct Operation {
    bool load = false;
    std::string name;
    std::vector<Done> done{};
    Status refusal{};                     // of a load that cannot be
    bool checked = false;                 // a load that needs room was found to be possible
    std::vector<std::string> unloaded{};  // models that made room for it
    bool restores = false;                // nobody asked: the model is to be where it was
  };
  // Of a load: it begins, or is refused; another model is being unloaded for it; requests of
  // another model are to end first.
  enum class Room { kDecided, kOnTheWay, kAwaited };

  void take(Catalog catalog, CatalogEntry default_model);
  void request(bool load, const std::string& name, Done done);
  bool is_served(const Operation& operation) const;
  bool is_moving() const;
  void advance();
  void start(size_t index);
  std::optional<size_t> next_unload() const;
  Room make_room(Operation& operation);
  void begin_check(const Model& model);
  void finish_check(const std::string& name, const Result<ModelSize>& size);
  void begin_load(Model& model);
  void finish_load(const std::string& name, const Result<std::shared_ptr<LoadedModel>>& loaded);
  void note_failure(const std::string& name, const Error& why);
  void refuse(Error why);  // a copy: the operation that has it ends
  void bring_back(const std::vector<std::string>& names, const std::string& failed);
  void fail_host(const std::string& name, const LoadedModel* of, const std::string& actor,
                 const std::string& why);
  void end_host(Model& model);
  void host_ended(const std::string& name);
  void host_gone(const std::string& name);
  void finish(const Status& status);
  void let_go_of_drained();
  void stop_if_done();
  static std::string_view to_string(State state);

  asio::io_context& io_;
  DaemonOptions options_;
  const std::string default_name_;
  Compute& compute_;
  Health& health_;
  const std::shared_ptr<HostHealth> default_health_;
  const KeeperHooks hooks_;
  std::map<std::string, Model> models_;  // the default model, too
  std::set<std::string> warned_;         // what was said of the models directory
  std::deque<Operation> operations_;     // in order
  std::optional<Operation> running_;     // that has begun
  std::function<void(bool)> on_stopped_;
  bool checking_ = false;  // whether the first operation's model can be loaded
  bool scanning_ = false;
  std::vector<std::function<void()>> after_scan_, after_next_scan_;
  ModelCatalog catalog_;  // of the job that scans
  BackgroundJobs jobs_;
  BackgroundThread loader_;
};

}  // namespace cascade
