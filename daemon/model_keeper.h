// Decides which models are in memory: loads and unloads them, one after the other, within the
// budget.
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

// Tells what happens to the models that the keeper is asked for. Called on its thread.
struct KeeperHooks {
  std::function<void(const std::string&)> on_loaded;  // the model takes requests, perhaps again
  std::function<void(const std::string&, const Error&)> on_not_loaded;
  // The model's actors have ended: ports to its context must be closed now.
  std::function<void(const std::string&)> on_ended;
  // Whether requests for the model wait.
  std::function<bool(const std::string&)> is_waited_for;
};

// Runs on one thread, that of the io_context. Names are those of the catalog; the default model is
// listed, but never loaded or unloaded here.
class ModelKeeper {
 public:
  using Done = std::function<void(const Status&)>;

  // `default_host`, `compute` and `health` outlive this object.
  ModelKeeper(asio::io_context& io, const DaemonOptions& options, const ModelHost& default_host,
              Compute& compute, Health& health, KeeperHooks hooks);
  ~ModelKeeper();

  // Reads the models directory again, then calls `then`.
  void rescan(std::function<void()> then);

  bool contains(const std::string& name) const { return models_.contains(name); }
  bool is_default(const std::string& name) const { return name == default_name_; }
  // All models, the default model first.
  std::vector<wire::ModelInfo> list() const;
  wire::ModelInfo info(const std::string& name) const;
  std::optional<Error> problem(const std::string& name) const {
    return models_.at(name).entry.problem;
  }
  int64_t total_bytes() const;
  int64_t total_bytes_max() const { return options_.model_bytes_max; }
  const std::string& models_dir() const { return catalog_.models_dir(); }

  // The context of a model that takes requests; nullptr if the model does not.
  ZmqContext* serving(const std::string& name) const;
  bool is_loaded(const std::string& name) const;
  // Why requests must not have the model loaded for now: it failed a moment ago. `retry_after_ms`
  // is how long this still holds.
  std::optional<Error> recent_failure(const std::string& name, int64_t& retry_after_ms) const;

  // Loads the model, after everything that was asked for before; `done` may be called at once. A
  // caller that only waits with a request for the model gives no `done`. Preconditions:
  // contains(name), not the default model.
  void load(const std::string& name, Done done);
  void unload(const std::string& name, Done done);

  // Call the first when a request is given to the model, and the second when the request has ended.
  // `counts`: whether the request counts as a use of the model.
  void begin_request(const std::string& name, bool counts);
  void end_request(const std::string& name);

  void set_limits(const DaemonOptions& options);

  // Unloads all models; models that wait to be loaded are not loaded. Then calls `then`, with
  // whether a load is still under way: it ends only with the process.
  void stop(std::function<void(bool)> then);

 private:
  enum class State { kUnloaded, kLoading, kLoaded, kUnloading };
  struct Model {
    CatalogEntry entry;
    State state = State::kUnloaded;
    std::shared_ptr<LoadedModel> loaded;
    bool draining = false;  // takes no new requests: the model makes room once it is idle
    int64_t requests = 0;
    int64_t last_used_us = 0;
    std::optional<Error> failure;  // of the last load
    int64_t failed_us = 0;         // monotonic
  };
  struct Operation {
    bool load = false;
    std::string name;
    std::vector<Done> done{};
    Status refusal{};                     // why a load must be refused
    bool checked = false;                 // the check of a load that needs room has passed
    std::vector<std::string> unloaded{};  // models that made room for this load
    bool restores = false;                // no client asked: the model was in memory before
  };
  // The state of a load. kDecided: it begins or is refused. kOnTheWay: its model is being checked,
  // or another model is being unloaded for it. kAwaited: requests of another model must end first.
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
  void refuse(Error why);  // by value: the operation that has the error ends
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
  std::map<std::string, Model> models_;  // includes the default model
  std::set<std::string> warned_;         // warnings already given about the models directory
  std::deque<Operation> operations_;     // waiting, in order
  std::optional<Operation> running_;     // the operation that has begun
  std::function<void(bool)> on_stopped_;
  bool checking_ = false;  // the model of the first waiting operation is being checked
  bool scanning_ = false;
  std::vector<std::function<void()>> after_scan_, after_next_scan_;
  ModelCatalog catalog_;  // used by the job that scans
  BackgroundJobs jobs_;
  BackgroundThread loader_;
};

}  // namespace cascade
