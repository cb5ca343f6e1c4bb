// Load: state directory, model, pages. Start: the scheduler and its workers. Stop: ask the
// scheduler, which tells the other actors.
#include "daemon/model_host.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>

#include "actors/scheduler_actor.h"
#include "actors/store_actor.h"
#include "actors/worker.h"
#include "daemon/model_catalog.h"
#include "daemon/stored_types.h"
#include "kernels/kv_format.h"
#include "persist/kv_format.h"
#include "persist/kv_record.h"

namespace cascade {
namespace {

Result<PageArena> make_arena(const Model& model, int64_t kv_bytes_max) {
  const size_t page_bytes = model.kv_layout.indexed_page_bytes();
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

// Returns the slots of recurrent states; nullopt if the model needs none.
Result<std::optional<PageArena>> make_state_arena(const ModelConfig& config,
                                                  const DaemonOptions& options) {
  ASSIGN_OR_RETURN(const int64_t slots, state_slots(config, options));
  if (slots == 0) return std::optional<PageArena>();
  const auto state_bytes = static_cast<size_t>(state_slot_bytes(config));
  Result<PageArena> arena = PageArena::create(state_bytes, static_cast<size_t>(slots));
  if (!arena.ok()) return Error{arena.error().code, "--state-memory", arena.error().message};
  spdlog::info("states of recurrent layers: {} of {} KiB at most", slots, state_bytes >> 10);
  return std::optional<PageArena>(*std::move(arena));
}

const char* how_loaded(const Model& model) {
  if (model.load.from_cache) return "mapped from the cache";
  return model.weights.keeper == nullptr ? "packed" : "packed (a file for later starts follows)";
}

void log_load(const Model& model) {
  const LoadReport& load = model.load;
  for (const std::string& warning : load.warnings) spdlog::warn("{}", warning);
  spdlog::info("loaded in {} ms: {} MiB of weights {}, their digest {}", load.load_us / 1000,
               model.weights.bytes() >> 20, how_loaded(model), load.hashed ? "computed" : "known");
  if (load.type_why.empty()) return;
  spdlog::info("weights as {}: {} (--weights says otherwise)", weight_types(model), load.type_why);
}

// Opens the state directory; nullptr if there is none.
Result<std::unique_ptr<Store>> open_store(const DaemonOptions& options, const std::string& folder) {
  if (folder.empty()) return std::unique_ptr<Store>();
  StoreOptions store;
  store.kv.disk_bytes_max = static_cast<uint64_t>(options.disk_bytes_max);
  // Compaction works on whole files, so even a small budget must have several.
  store.kv.file_bytes_max =
      std::clamp<uint64_t>(store.kv.disk_bytes_max / 8, 1, store.kv.file_bytes_max);
  auto opened = Store::open(system_file_calls(), folder, store);
  if (!opened.ok()) return opened;
  for (const Finding& finding : (*opened)->findings()) {
    spdlog::warn("{}: {}", finding.where, finding.what);
  }
  return opened;
}

// Opens the states of recurrent layers in the state directory. nullptr if the model has none, and
// the directory has none of another model, which deletes would have to remove, too.
Result<std::unique_ptr<ChainStates>> open_states(const DaemonOptions& options, Store* store,
                                                 const PageArena* slots) {
  if (store == nullptr || (slots == nullptr && !ChainStates::exists(*store))) {
    return std::unique_ptr<ChainStates>();
  }
  KvOptions kv;
  kv.disk_bytes_max = static_cast<uint64_t>(options.state_disk_bytes_max);
  // Compaction works on whole files.
  kv.file_bytes_max = std::clamp<uint64_t>(kv.disk_bytes_max / 8, 1, kv.file_bytes_max);
  auto opened = ChainStates::open(*store, kv);
  if (!opened.ok()) return opened;
  for (const Finding& finding : (*opened)->findings()) {
    spdlog::warn("{}: {}", finding.where, finding.what);
  }
  // The budget must hold the padded state, the block before it, and the first blocks of two files:
  // the one in use and its successor.
  const uint64_t needed = slots == nullptr ? 0 : slots->page_bytes() + 4 * kKvBlockBytes;
  if (kv.disk_bytes_max < needed) {
    spdlog::warn(
        "max_state_disk has no room for a state of this model, which takes {} KiB: after "
        "a restart, conversations are computed again",
        slots->page_bytes() >> 10);
  }
  return opened;
}

// When types change, chunks stay valid, but their K and V do not. This is said once, at the first
// start with the new types, so that a user who did not mean to change them can go back.
Status say_what_is_not_used(Store& store, const ModelRecord& now, const Model& model,
                            const std::string& path) {
  ASSIGN_OR_RETURN(const std::vector<ModelRecord> known, store.kv().models());
  const ModelRecord* before = nullptr;
  for (const ModelRecord& record : known) {
    if (record.digest == now.digest) return {};
    if (record.name == now.name) before = &record;
  }
  if (before == nullptr || store.kv().bytes_on_disk() == 0) return {};
  if (const auto types = types_with_key(model, path, before->digest)) {
    spdlog::warn(
        "the state directory has K and V of {} with weights as {}, K and V as {}: this start's "
        "types ({}, {}) cannot use them and compute anew; --weights {} --kv {} would use them",
        now.name, types->weight_types, to_string(types->kv), weight_types(model), now.kv_type,
        types->weights, to_string(types->kv));
    return {};
  }
  spdlog::warn(
      "the state directory has K and V of another version of {} or of this program, or with "
      "another rope_scaling: they cannot be used, and are removed when max_disk needs their room",
      now.name);
  return {};
}

// Records what the digests in the state directory mean, for people. If the disk is full, the daemon
// starts all the same.
Status note_model(Store& store, const Model& model, const DaemonOptions& options,
                  const std::string& path) {
  const ModelRecord record = {model.root_key(""),
                              model.name,
                              std::string(to_string(model.options.weight_type)),
                              std::string(to_string(options.kv_type)),
                              kKvLayoutVersion,
                              kNumericsVersion};
  RETURN_IF_ERROR(say_what_is_not_used(store, record, model, path));
  Status noted = store.kv().put_model(record);
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
      weight_types(model), arena.page_bytes() / kPageTokens, to_string(options.kv_type),
      options.kv_bytes_max >> 20, to_string(options.isa), options.threads);
  if (model.options.rope_scaling) {
    spdlog::info("model {}: rope_scaling ({}) replaces the scaling of its files; context {} tokens",
                 model.name, describe(*model.options.rope_scaling),
                 model.config.context_tokens_max);
  }
}

}  // namespace

Result<std::unique_ptr<ModelHost>> ModelHost::load(const DaemonOptions& options, const Place& place,
                                                   ZmqContext& context, Compute& compute,
                                                   ThreadPool& packing, LoadProgress* progress) {
  ASSIGN_OR_RETURN(std::unique_ptr<Store> store, open_store(options, place.state_dir));
  ModelOptions model_options = model_options_of(options, place.label);
  model_options.memory = memory_limit();
  model_options.late_warning = [](const std::string& warning) { spdlog::warn("{}", warning); };
  ASSIGN_OR_RETURN(const ModelConfig config, load_model_config(place.model));
  ASSIGN_OR_RETURN(std::optional<PageArena> states, make_state_arena(config, options));
  ASSIGN_OR_RETURN(std::unique_ptr<Model> model,
                   load_model(place.model, model_options, packing, progress));
  // If the folder is reached by a link, the model has the name of the link.
  if (!place.label.empty()) model->name = place.label;
  log_load(*model);
  ASSIGN_OR_RETURN(PageArena arena, make_arena(*model, options.kv_bytes_max));
  log_model(*model, arena, options);
  if (store) RETURN_IF_ERROR(note_model(*store, *model, options, place.model));
  ASSIGN_OR_RETURN(std::unique_ptr<ChainStates> stored_states,
                   open_states(options, store.get(), states ? &*states : nullptr));
  return std::unique_ptr<ModelHost>(new ModelHost(
      options, place, context, compute, std::move(model), {std::move(arena), std::move(states)},
      {std::move(store), std::move(stored_states)}));
}

ModelHost::ModelHost(const DaemonOptions& options, const Place& place, ZmqContext& context,
                     Compute& compute, std::unique_ptr<Model> model, Arenas arenas, Disk disk)
    : options_(options),
      label_(place.label),
      context_(context),
      compute_(compute),
      model_(std::move(model)),
      arenas_(std::move(arenas)),
      disk_(std::move(disk)),
      files_(disk_.store == nullptr ? nullptr
                                    : std::make_unique<KvPartFiles>(
                                          system_file_calls(), disk_.store->directory().kv_folder(),
                                          disk_.store->kv().leases())),
      engine_(*model_, arenas_.pages, compute.pool, static_cast<size_t>(options.grammar_bytes_max),
              files_.get(), arenas_.states ? &*arenas_.states : nullptr),
      health_(std::make_shared<HostHealth>(model_->name, label_, compute.layers)),
      supervisor_(system_clock(), {}, [this](const std::string& actor, const std::string& why) {
        on_failure_(actor, why);
      }) {}

ModelHost::~ModelHost() = default;

void ModelHost::start(OnFailure on_failure) {
  on_failure_ = std::move(on_failure);
  // With a long context on a slow machine, a job can take longer than the watchdog's time.
  engine_.transformer.observe(
      [this](int, std::span<const Transformer::Row>, const float*) { compute_.layers->move(); });
  supervisor_.start(actor("scheduler"),
                    [this](uint64_t incarnation) { run_scheduler_actor(incarnation); });
  using Answer = std::optional<wire::Message>;
  start_worker(kPrefillActor, [this](const wire::Message& m, const Interrupt& wanted) -> Answer {
    const WorkMeter::Piece piece(health_->prefill);
    if (const auto* encode = std::get_if<wire::EncodeJob>(&m)) return run_encode(*model_, *encode);
    if (const auto* job = std::get_if<wire::PrefillJob>(&m)) {
      const FairTurn::Hold turn(compute_.turn);
      return run_prefill(engine_, *job, wanted);
    }
    return std::nullopt;
  });
  start_worker(kDecodeActor, [this](const wire::Message& m, const Interrupt&) -> Answer {
    const WorkMeter::Piece piece(health_->decode);
    if (const auto* job = std::get_if<wire::DecodeJob>(&m)) {
      const FairTurn::Hold turn(compute_.turn);
      return run_decode(engine_, *job);
    }
    return std::nullopt;
  });
  supervisor_.start(actor(kStoreActor), [this](uint64_t incarnation) { run_store(incarnation); });
}

std::string ModelHost::actor(const std::string& name) const {
  return label_.empty() ? name : name + " of " + label_;
}

void ModelHost::run_scheduler_actor(uint64_t incarnation) {
  // An earlier incarnation leased pages that this one does not know of.
  if (disk_.store) disk_.store->kv().leases().release_all();
  run_scheduler(
      context_, scheduler_options(incarnation), *model_, arenas_.pages, system_clock(),
      {[this](const SchedulerLoad& load) { on_tick(load); }, [this] { return take_limits(); }});
  // The scheduler returns when it was told to stop. A worker that has not connected yet was not
  // told.
  context_.end_binding();
}

void ModelHost::on_tick(const SchedulerLoad& load) {
  // Ends the scheduler; the other actors see that it has ended.
  if (given_up_) throw std::runtime_error("an actor that it needs is gone");
  health_->on_tick(load);
}

void ModelHost::start_worker(const char* name, Handle handle) {
  supervisor_.start(actor(name), [this, name, handle = std::move(handle)](uint64_t incarnation) {
    run_worker(context_, name, incarnation, handle);
  });
}

void ModelHost::run_store(uint64_t incarnation) {
  // The scheduler repeats the changes that an earlier incarnation of the store did not commit, so
  // they are undone here.
  ChunkStore& chunks = disk_.store ? static_cast<ChunkStore&>(*disk_.store) : memory_store_;
  Status undone = chunks.rollback();
  if (undone.ok() && disk_.states) undone = disk_.states->rollback();
  if (!undone.ok()) throw std::runtime_error(undone.error().to_string());
  std::optional<StoreStates> states;
  if (disk_.states) {
    states.emplace(*disk_.states, arenas_.states ? &*arenas_.states : nullptr, arenas_.pages,
                   model_->kv_layout, system_clock());
  }
  StoreActor actor = disk_.store ? StoreActor(*disk_.store, arenas_.pages, model_->kv_layout,
                                              system_clock(), states ? &*states : nullptr)
                                 : StoreActor(memory_store_, system_clock());
  run_batch_worker(context_, kStoreActor, incarnation,
                   [&](const std::vector<wire::Message>& batch, const Send& send) {
                     const WorkMeter::Piece piece(health_->store);
                     batch.empty() ? actor.tidy(send) : actor.handle(batch, send);
                     return actor.busy();
                   });
}

static_assert(ReaderSliceLimits{}.usual_tokens == Transformer::kRowsUsual);
static_assert(ReaderSliceLimits{}.tokens_max == Transformer::kRowsMax);

SchedulerOptions ModelHost::scheduler_options(uint64_t incarnation) {
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
  scheduler.heal = options_.heal;
  if (!options_.summary_prompt.empty()) scheduler.summary_prompt = options_.summary_prompt;
  scheduler.summary_divisor = options_.summary_divisor;
  scheduler.attention = options_.attention;
  scheduler.max_pinned = options_.max_pinned;
  scheduler.chunk_memory_ratio = options_.chunk_memory_ratio;
  scheduler.keep_pages = disk_.store != nullptr;
  scheduler.keep_states = disk_.states != nullptr && arenas_.states.has_value();
  scheduler.states = arenas_.states ? &*arenas_.states : nullptr;
  if (disk_.store) {
    const KvOptions& kv = disk_.store->kv().options();
    scheduler.disk.page_bytes =
        static_cast<int64_t>(kv_record_bytes(parts_of_layers(model_->kv_layout.part_sizes())));
    // Each file has a block before its pages.
    const uint64_t files = kv.disk_bytes_max / kv.file_bytes_max + 1;
    scheduler.disk.bytes_max = static_cast<int64_t>(
        kv.disk_bytes_max - std::min(kv.disk_bytes_max, files * kKvBlockBytes));
    scheduler.disk.free_bytes = [folder = disk_.store->directory().kv_folder(),
                                 reserve = kv.free_bytes_min] {
      uint64_t bytes = 0;
      if (system_file_calls().free_bytes(folder, bytes) != 0) return INT64_MAX / 2;  // not known
      return static_cast<int64_t>(bytes - std::min(bytes, reserve));
    };
  }
  scheduler.planner.slice_tokens_max = Transformer::kRowsUsual;
  return scheduler;
}

void ModelHost::set_limits(const DaemonOptions& options) {
  {
    const std::lock_guard lock(options_mutex_);
    options_ = options;
  }
  SchedulerOptions limits = scheduler_options(0);
  const std::lock_guard lock(options_mutex_);
  limits_ = std::move(limits);
}

std::optional<SchedulerOptions> ModelHost::take_limits() {
  const std::lock_guard lock(options_mutex_);
  return std::exchange(limits_, std::nullopt);
}

void ModelHost::ask_to_stop() {
  supervisor_.stop_restarting();
  asio::io_context io(1);
  ZmqPort::Options port_options;
  port_options.routing_id = kMainActor;
  ZmqPort port(io, context_, port_options);
  if (port.connect(kSchedulerEndpoint).ok()) port.send(*wire::encode({{}, wire::Stop{}}));
}

void ModelHost::give_up() {
  supervisor_.stop_restarting();
  given_up_ = true;
  context_.end_binding();
}

void ModelHost::join() {
  supervisor_.join();
}

}  // namespace cascade
