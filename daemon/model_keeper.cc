// Loads may take long and run on threads of their own; all decisions are made on one thread.
#include "daemon/model_keeper.h"

#include <malloc.h>
#include <pthread.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "base/clock.h"
#include "base/thread_priority.h"
#include "daemon/model_plan.h"

namespace cascade {
namespace {

// A model that could not be loaded is not tried again for every request that names it.
constexpr int64_t kFailurePauseUs = 10'000'000;

Error keeper_stops() {
  return {ErrorCode::kUnavailable, "", "the daemon is stopping"};
}

}  // namespace

ModelKeeper::ModelKeeper(asio::io_context& io, const DaemonOptions& options,
                         const ModelHost& default_host, Compute& compute, Health& health,
                         KeeperHooks hooks)
    : io_(io),
      options_(options),
      default_name_(default_host.model().name),
      compute_(compute),
      health_(health),
      default_health_(default_host.health()),
      hooks_(std::move(hooks)),
      catalog_(options, default_name_),
      jobs_(io),
      loader_(io, [] {
        pthread_setname_np(pthread_self(), "loader");
        lower_thread_priority();  // packing leaves the cores to running requests
      }) {
  Model& model = models_[default_name_];
  model.entry.name = default_name_;
  model.entry.path = options.model_dir;
  model.state = State::kLoaded;
}

ModelKeeper::~ModelKeeper() = default;

void ModelKeeper::rescan(std::function<void()> then) {
  if (scanning_) {
    after_next_scan_.push_back(std::move(then));  // this scan may have passed the new files already
    return;
  }
  scanning_ = true;
  after_scan_.push_back(std::move(then));
  jobs_.run([this]() -> std::function<void()> {
    auto default_model = std::make_shared<CatalogEntry>(catalog_.default_model());
    auto found = std::make_shared<Catalog>(catalog_.scan());
    return [this, found, default_model] {
      scanning_ = false;
      take(std::move(*found), std::move(*default_model));
      for (const auto& next : std::exchange(after_scan_, {})) next();
      std::vector<std::function<void()>> late = std::exchange(after_next_scan_, {});
      for (auto& next : late) rescan(std::move(next));
    };
  });
}

void ModelKeeper::take(Catalog catalog, CatalogEntry default_model) {
  for (const std::string& warning : catalog.warnings) {
    if (warned_.insert(warning).second) spdlog::warn("{}", warning);
  }
  std::set<std::string> there = {default_name_};
  models_[default_name_].entry = std::move(default_model);
  for (CatalogEntry& entry : catalog.models) {
    there.insert(entry.name);
    Model& model = models_[entry.name];
    // The entry of a model in memory stays as it was when the model was loaded.
    if (model.state == State::kUnloaded) model.entry = std::move(entry);
  }
  std::erase_if(models_, [&](const auto& known) {
    const bool wanted = std::ranges::any_of(
        operations_, [&](const Operation& operation) { return operation.name == known.first; });
    return known.second.state == State::kUnloaded && !wanted && !there.contains(known.first);
  });
}

std::string_view ModelKeeper::to_string(State state) {
  switch (state) {
    case State::kUnloaded: return "unloaded";
    case State::kLoading: return "loading";
    case State::kLoaded: return "loaded";
    case State::kUnloading: return "unloading";
  }
  CHECK(false);
}

wire::ModelInfo ModelKeeper::info(const std::string& name) const {
  const Model& model = models_.at(name);
  const CatalogEntry& entry = model.entry;
  wire::ModelInfo info;
  info.name = entry.name;
  info.state = to_string(model.state);
  info.is_default = name == default_name_;
  info.path = entry.path;
  info.format = entry.format;
  info.weight_type = entry.size.weight_types;
  info.disk_bytes = entry.disk_bytes;
  info.weights_bytes = entry.size.weights;
  info.kv_bytes = entry.size.kv;
  info.other_bytes = entry.size.other;
  info.total_bytes = entry.size.total();
  info.requests = model.requests;
  info.last_used_us = model.last_used_us;
  if (info.is_default) {
    const SchedulerLoad load = default_health_->load();
    info.requests = load.running + load.waiting;
    info.last_used_us = default_health_->last_busy_us();
  }
  if (entry.problem) info.problem = entry.problem->to_string();
  if (model.failure) info.problem = model.failure->to_string();
  return info;
}

std::vector<wire::ModelInfo> ModelKeeper::list() const {
  std::vector<wire::ModelInfo> all = {info(default_name_)};
  for (const auto& [name, model] : models_) {
    if (name != default_name_) all.push_back(info(name));
  }
  return all;
}

int64_t ModelKeeper::total_bytes() const {
  int64_t bytes = 0;
  for (const auto& [name, model] : models_) {
    if (model.state != State::kUnloaded) bytes += model.entry.size.total();
  }
  return bytes;
}

bool ModelKeeper::is_loaded(const std::string& name) const {
  return models_.at(name).state == State::kLoaded;
}

ZmqContext* ModelKeeper::serving(const std::string& name) const {
  const Model& model = models_.at(name);
  return model.state == State::kLoaded && !model.draining ? &model.loaded->context : nullptr;
}

std::optional<Error> ModelKeeper::recent_failure(const std::string& name,
                                                 int64_t& retry_after_ms) const {
  const Model& model = models_.at(name);
  const int64_t left_us = model.failed_us + kFailurePauseUs - system_clock().monotonic_us();
  if (!model.failure || left_us <= 0) return std::nullopt;
  retry_after_ms = left_us / 1000 + 1;
  return model.failure;
}

void ModelKeeper::begin_request(const std::string& name, bool counts) {
  Model& model = models_.at(name);
  ++model.requests;
  if (counts) model.last_used_us = system_clock().wall_us();
}

void ModelKeeper::end_request(const std::string& name) {
  Model& model = models_.at(name);
  CHECK(model.requests > 0);
  if (--model.requests > 0 || operations_.empty()) return;
  asio::post(io_, [this] { advance(); });
}

void ModelKeeper::set_limits(const DaemonOptions& options) {
  options_ = options;
  for (auto& [name, model] : models_) {
    if (model.state == State::kLoaded && model.loaded) model.loaded->host->set_limits(options);
  }
}

void ModelKeeper::load(const std::string& name, Done done) {
  request(true, name, std::move(done));
}

void ModelKeeper::unload(const std::string& name, Done done) {
  request(false, name, std::move(done));
}

// A repeated request joins the operation on the model that is under way or waits, if nothing else
// was asked of the model since.
void ModelKeeper::request(bool load, const std::string& name, Done done) {
  if (on_stopped_) {
    if (done) done(keeper_stops());
    return;
  }
  Operation* last = nullptr;
  if (running_ && running_->name == name) last = &*running_;
  for (Operation& operation : operations_) {
    if (operation.name == name) last = &operation;
  }
  if (last == nullptr || last->load != load) {
    last = &operations_.emplace_back(Operation{.load = load, .name = name});
  }
  last->restores = false;
  if (done) last->done.push_back(std::move(done));
  asio::post(io_, [this] { advance(); });
}

// Whether there is nothing left to do for the operation.
bool ModelKeeper::is_served(const Operation& operation) const {
  const State state = models_.at(operation.name).state;
  return state == (operation.load ? State::kLoaded : State::kUnloaded);
}

// Only one model at a time is on its way into memory or out of it.
bool ModelKeeper::is_moving() const {
  return checking_ || std::ranges::any_of(models_, [](const auto& known) {
           return known.second.state == State::kLoading || known.second.state == State::kUnloading;
         });
}

void ModelKeeper::advance() {
  while (!is_moving() && !operations_.empty() && !on_stopped_) {
    size_t next = 0;
    if (operations_.front().load && !is_served(operations_.front())) {
      const Room room = make_room(operations_.front());
      if (room == Room::kOnTheWay) return;
      if (room == Room::kAwaited) {
        // An unload that was asked for may run first: it makes room.
        const auto found = next_unload();
        if (!found) return;
        next = *found;
      }
    }
    start(next);
  }
  let_go_of_drained();
}

// Begins the operation, or ends it if there is nothing left to do.
void ModelKeeper::start(size_t index) {
  running_ = std::move(operations_[index]);
  operations_.erase(operations_.begin() + static_cast<ptrdiff_t>(index));
  Model& model = models_.at(running_->name);
  if (is_served(*running_)) {
    finish({});
  } else if (!running_->load) {
    end_host(model);
  } else if (running_->refusal.ok()) {
    begin_load(model);
  } else {
    refuse(running_->refusal.error());
  }
}

// The first unload, unless something else was asked of its model earlier.
std::optional<size_t> ModelKeeper::next_unload() const {
  const auto found = std::ranges::find_if(operations_, std::not_fn(&Operation::load));
  if (found == operations_.end()) return std::nullopt;
  const bool later = std::any_of(operations_.begin(), found,
                                 [&](const Operation& other) { return other.name == found->name; });
  if (later) return std::nullopt;
  return static_cast<size_t>(found - operations_.begin());
}

// Decides whether the model may be loaded now or its operation must be refused. Until that is
// decided, checks the model, unloads another model, or waits for the requests of one.
ModelKeeper::Room ModelKeeper::make_room(Operation& operation) {
  const Model& model = models_.at(operation.name);
  if (!operation.refusal.ok()) return Room::kDecided;
  const bool is_wanted = operation.restores || !operation.done.empty();
  if (!is_wanted && !hooks_.is_waited_for(operation.name)) {
    operation.refusal = Error{ErrorCode::kCancelled, "", "no request waits for it any more"};
    return Room::kDecided;
  }
  if (model.entry.problem) {
    operation.refusal = *model.entry.problem;
    return Room::kDecided;
  }
  std::vector<ResidentModel> resident;
  for (const auto& [name, other] : models_) {
    if (other.state == State::kUnloaded) continue;
    resident.push_back({name, other.entry.size.total(), name == default_name_, other.requests > 0,
                        other.last_used_us});
  }
  const auto plan =
      plan_room(operation.name, model.entry.size.total(), resident, options_.model_bytes_max);
  if (!plan.ok()) operation.refusal = plan.error();
  if (!plan.ok() || plan->fits) return Room::kDecided;
  if (operation.restores) {
    operation.refusal =
        resource_exhausted("max_model_memory", "another model took its room meanwhile");
    return Room::kDecided;
  }
  if (!operation.checked) {
    begin_check(model);
    return Room::kOnTheWay;
  }
  Model& victim = models_.at(plan->unload);
  victim.draining = true;
  if (plan->unload_is_busy) return Room::kAwaited;
  spdlog::info("unloading {}: {} needs its memory", plan->unload, operation.name);
  operation.unloaded.push_back(plan->unload);
  end_host(victim);
  return Room::kOnTheWay;
}

// Checks the model first: no other model makes room for one that cannot be loaded.
void ModelKeeper::begin_check(const Model& model) {
  checking_ = true;
  loader_.run([this, options = options_, entry = model.entry]() -> std::function<void()> {
    const auto size = check_load(options, entry);
    return [this, name = entry.name, size] { finish_check(name, size); };
  });
}

void ModelKeeper::finish_check(const std::string& name, const Result<ModelSize>& size) {
  checking_ = false;
  if (on_stopped_) return;
  // This is still the first operation: none begins during a check.
  Operation& operation = operations_.front();
  CHECK(operation.load && operation.name == name);
  operation.checked = true;
  if (size.ok()) {
    models_.at(name).entry.size = *size;
  } else {
    note_failure(name, size.error());
    operation.refusal = size.error();
  }
  advance();
}

void ModelKeeper::begin_load(Model& model) {
  spdlog::info("loading {} from {}", model.entry.name, model.entry.path);
  model.state = State::kLoading;
  loader_.run([this, options = options_, entry = model.entry]() -> std::function<void()> {
    const auto loaded = load_host(options, entry, compute_);
    return [this, name = entry.name, loaded] { finish_load(name, loaded); };
  });
}

void ModelKeeper::note_failure(const std::string& name, const Error& why) {
  spdlog::error("{} was not loaded: {}", name, why.to_string());
  Model& model = models_.at(name);
  model.failure = why;
  model.failed_us = system_clock().monotonic_us();
}

// Ends the running load with an error.
void ModelKeeper::refuse(Error why) {
  const std::string name = running_->name;
  const std::vector<std::string> unloaded = running_->unloaded;
  finish(why);
  hooks_.on_not_loaded(name, why);
  bring_back(unloaded, name);
}

// Loads the models that made room for a model that was not loaded, before any other operation.
void ModelKeeper::bring_back(const std::vector<std::string>& names, const std::string& failed) {
  for (const std::string& name : names) {
    const bool is_asked_for = std::ranges::any_of(
        operations_, [&](const Operation& operation) { return operation.name == name; });
    const auto model = models_.find(name);  // its files may have been removed
    if (is_asked_for || model == models_.end() || model->second.state != State::kUnloaded) continue;
    spdlog::info("loading {} again, since {}, which it made room for, was not loaded", name,
                 failed);
    operations_.push_front(Operation{.load = true, .name = name, .restores = true});
  }
}

void ModelKeeper::finish_load(const std::string& name,
                              const Result<std::shared_ptr<LoadedModel>>& loaded) {
  Model& model = models_.at(name);
  if (on_stopped_) return;  // the process is about to end
  if (!loaded.ok()) {
    model.state = State::kUnloaded;
    note_failure(name, loaded.error());
    refuse(loaded.error());
    return advance();
  }
  model.state = State::kLoaded;
  model.failure.reset();
  model.draining = false;
  if (!running_->restores) model.last_used_us = system_clock().wall_us();
  model.loaded = *loaded;
  const LoadedModel* const host = model.loaded.get();
  health_.add(host->host->health());
  model.loaded->host->set_limits(options_);
  model.loaded->host->start([this, name, host](const std::string& actor, const std::string& why) {
    asio::post(io_, [=, this] { fail_host(name, host, actor, why); });
  });
  spdlog::info("serving {}", name);
  hooks_.on_loaded(name);
  finish({});
  advance();
}

// Called when an actor of the model failed too often: the other models go on without this one.
void ModelKeeper::fail_host(const std::string& name, const LoadedModel* of,
                            const std::string& actor, const std::string& why) {
  const auto found = models_.find(name);
  if (found == models_.end() || found->second.loaded.get() != of) return;
  Model& model = found->second;
  spdlog::error("actor {} of {} failed too often ({}); the model is unloaded", actor, name, why);
  model.loaded->host->give_up();
  model.failure = Error{ErrorCode::kInternal, actor, why};
  model.failed_us = system_clock().monotonic_us();
  if (model.state == State::kLoaded) end_host(model);
}

// Ends the model's actors, then gives its memory back.
void ModelKeeper::end_host(Model& model) {
  model.state = State::kUnloading;
  model.loaded->host->ask_to_stop();
  const std::string name = model.entry.name;
  jobs_.run([this, name, loaded = model.loaded]() mutable -> std::function<void()> {
    loaded->host->join();
    loaded.reset();
    return [this, name] { host_ended(name); };
  });
}

void ModelKeeper::host_ended(const std::string& name) {
  Model& model = models_.at(name);
  hooks_.on_ended(name);
  health_.remove(*model.loaded->host->health());
  // Ending the model's context waits for the ports that were just closed, so a job does it.
  jobs_.run([this, name,
             loaded = std::exchange(model.loaded, nullptr)]() mutable -> std::function<void()> {
    loaded.reset();
    ::malloc_trim(0);
    return [this, name] { host_gone(name); };
  });
}

void ModelKeeper::host_gone(const std::string& name) {
  Model& model = models_.at(name);
  model.state = State::kUnloaded;
  model.draining = false;
  spdlog::info("unloaded {}", name);
  if (on_stopped_) return stop_if_done();
  if (running_ && !running_->load && running_->name == name) finish({});
  // If requests for the model have come in the meantime, it is loaded again.
  if (hooks_.is_waited_for(name)) load(name, {});
  advance();
}

void ModelKeeper::finish(const Status& status) {
  const Operation ended = *std::exchange(running_, std::nullopt);
  for (const Done& done : ended.done) done(status);
}

// Nobody needs the room of these models any more, so they take requests again.
void ModelKeeper::let_go_of_drained() {
  const bool wanted = std::ranges::any_of(operations_, &Operation::load);
  if (wanted || on_stopped_ || (running_ && running_->load)) return;
  for (auto& [name, model] : models_) {
    if (!std::exchange(model.draining, false)) continue;
    if (model.state == State::kLoaded) hooks_.on_loaded(name);
  }
}

void ModelKeeper::stop(std::function<void(bool)> then) {
  on_stopped_ = std::move(then);
  std::deque<Operation> refused = std::exchange(operations_, {});
  if (running_) refused.push_back(*std::exchange(running_, std::nullopt));
  for (const Operation& operation : refused) {
    for (const Done& done : operation.done) done(keeper_stops());
  }
  for (auto& [name, model] : models_) {
    if (model.loaded && model.state == State::kLoaded) end_host(model);
  }
  stop_if_done();
}

void ModelKeeper::stop_if_done() {
  bool loading = false;
  for (const auto& [name, model] : models_) {
    if (model.loaded || model.state == State::kUnloading) return;
    loading = loading || model.state == State::kLoading;
  }
  loading = loading || checking_;
  if (on_stopped_) std::exchange(on_stopped_, [](bool) {})(loading || scanning_);
}

}  // namespace cascade
