// The scheduler's interface: messages, time, limits, the end.
#include "actors/scheduler/scheduler_core.h"
#include "persist/kv_format.h"

#include <spdlog/spdlog.h>

#include <functional>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>

namespace cascade {
namespace {

// A stream that has been silent for this long gets a sign of life; sending it also finds dead
// clients.
constexpr int64_t kSilenceUs = 800'000;  // at least once a second, however ticks fall

// Shares of the time that a stop may take. Until the first, outputs are computed as history; until
// the second, requests may run on; until the third, pages are written.
constexpr double kReprefillShare = 0.25, kDrainShare = 0.75, kWriteShare = 0.9;

const char* name_of(Actor actor) {
  switch (actor) {
    case Actor::kPrefill: return "prefill";
    case Actor::kDecode: return "decode";
    case Actor::kStore: return "store";
    case Actor::kGateway: return "gateway";
    case Actor::kHttp: return "http";
    case Actor::kTcp: return "tcp";
  }
  return "unknown";
}

// nullopt: the actor has no clients.
std::optional<Door> door_of(Actor actor) {
  switch (actor) {
    case Actor::kGateway: return Door::kIpc;
    case Actor::kHttp: return Door::kHttp;
    case Actor::kTcp: return Door::kTcp;
    default: return std::nullopt;
  }
}

// Requests that are carried out once, however often they are sent.
template <class M>
constexpr bool changes() {
  return std::is_same_v<M, wire::ChunkPut> || std::is_same_v<M, wire::ChunkDelete> ||
         std::is_same_v<M, wire::ChunkUpdate> || std::is_same_v<M, wire::SessionDelete> ||
         std::is_same_v<M, wire::PolicySet>;
}

template <class Room, class M>
concept Takes = requires(Room& room, const Client& client, const wire::RequestId& id, M&& message) {
  room.on(client, id, std::move(message));
};
// Whether one of the rooms takes the message.
template <class M, class... Rooms>
constexpr bool is_for() {
  return (Takes<Rooms, M> || ...);
}
// Gives the message to the room that takes it.
template <class M, class... Rooms>
void enter(const Client& client, const wire::RequestId& id, M&& message, Rooms&... rooms) {
  const auto try_room = [&](auto& room) {
    if constexpr (Takes<decltype(room), M>) room.on(client, id, std::forward<M>(message));
  };
  (try_room(rooms), ...);
}

// Says at the start what long requests would be told one by one: memory has no room for a prompt as
// long as the context in the daemon's mode. `seen` is what any layer of the model sees.
void warn_of_memory(const SchedulerOptions& options, const AttentionMode& seen, const Model& model,
                    const PageArena& arena) {
  const int64_t needed =
      working_pages(seen, model.config.context_tokens_max, options.planner.slice_tokens_max);
  if (seen.is_stored() || needed <= static_cast<int64_t>(arena.page_count())) return;
  spdlog::warn(
      "attention = {} needs KV memory for {} tokens at a time, and kv_memory has room for {}: "
      "longer prompts in this mode are refused",
      to_string(options.attention), needed * kPageTokens, arena.page_count() * kPageTokens);
}

// A state cannot go back to before a wrong draft.
SchedulerOptions without_drafts_of_states(SchedulerOptions options) {
  if (options.states == nullptr || options.attention.drafts.is_dense()) return options;
  spdlog::warn("attention = {}: answers are not drafted, since the model has recurrent layers",
               to_string(options.attention));
  options.attention.drafts = {};
  return options;
}

KeepOptions keep_options(const SchedulerOptions& options, const Model& model,
                         const PageArena& arena) {
  return {.keeps_pages = options.keep_pages,
          .pages = {arena.page_count(), arena.page_bytes(), model.kv_layout.page_bytes()},
          .page_uses_max = options.page_uses_max,
          .holds = {options.chunk_memory_ratio, options.prompt_leases_max},
          .max_pinned = options.max_pinned,
          .summaries = {options.summary_prompt, options.summary_divisor, options.random}};
}

// Restores are for requests or, with handle 0, for the first re-prefill.
ChainRestores::Callbacks tell_of_restores(IdlePrefill& idle, RequestTable& requests, Keep& keep) {
  return {.is_wanted =
              [&](uint64_t handle) {
                if (handle == 0) return !idle.is_gone();
                const Request* const request = requests.find(handle);
                return request != nullptr && !keep.uses.has_gone_text(request->texts);
              },
          .ended =
              [&](uint64_t handle, int64_t tokens) {
                if (handle == 0) return idle.restored();
                Request* const request = requests.find(handle);
                const bool is_new = request != nullptr && request->prefill_start_us == 0;
                if (is_new && tokens > 0) request->loaded_tokens = tokens;
              }};
}

}  // namespace

SchedulerCore::SchedulerCore(SchedulerOptions options, const Model& model, const PageArena& arena,
                             const Clock& clock)
    : options_(without_drafts_of_states(std::move(options))),
      model_(model),
      arena_(arena),
      clock_(clock),
      outbox_(clock, options_.events_max, options_.random),
      pool_(arena.page_count()),
      index_(model.root_key(""), pool_, options_.eviction),
      tenants_(index_, std::bind_front(&Model::root_key, &model), model.config.window,
               options_.attention.mode),
      metadata_(
          clock_, jobs_, outbox_, model.root_key("").hex(),
          [this](const StoredName& name) { save_again(name); }, tell_of_rows(keep_)),
      disk_{
          {jobs_, outbox_, index_, disk_.stored, model.kv_layout.page_bytes(), compute_.speed,
           [this](uint64_t handle, std::span<const int32_t> tokens, bool more) {
             return tokens_loaded(handle, tokens, more);
           }},
          {options_.keep_pages, clock_, jobs_, outbox_, index_, tenants_, disk_.stored,
           tell_of_writing(keep_, disk_.chains)},
          {options_.keep_pages, model.root_key("").hex(), jobs_, outbox_, tenants_, disk_.stored,
           disk_.writer, metadata_, tell_of_chains(keep_)},
          {index_, disk_.erasures, jobs_, outbox_,
           [this](const Digest& page) { return keep_.text_pins.ends_with(page); },
           tell_of_removed_pages(keep_)},
          {},
          {options_.keep_pages && static_cast<size_t>(model.config.layers) <= kKvPartsMax &&
               options_.states == nullptr,
           {arena.page_count(), model.kv_layout.page_bytes(), model.kv_layout.indexes_in_page()},
           options_.reader_slices,
           compute_.speed.prefill_time(),
           clock_,
           jobs_,
           outbox_,
           index_,
           disk_.stored,
           requests_,
           [this](Request& request, int64_t tokens) {
             (void)load_advanced(request, tokens, /*more=*/false);
           }},
          {options_.disk, disk_.stored, disk_.spills, index_, tenants_},
          {options_.keep_states, clock_, jobs_, outbox_, index_, tenants_, compute_.states,
           disk_.stored},
          {options_.states == nullptr ? 0 : options_.states->page_bytes(), clock_, jobs_, outbox_,
           compute_.caches, disk_.stored, disk_.states, disk_.loader,
           tell_of_restores(idle_, requests_, keep_)},
      },
      idle_({options_.reprefills_max, options_.planner.slice_tokens_max, options_.attention.mode},
            clock_, jobs_, outbox_, compute_.caches, tenants_, registry_, disk_.loader,
            disk_.restores, tell_of_idle(keep_)),
      admission_({.requests = options_.requests_waiting_max,
                  .tokens = options_.tokens_waiting_max,
                  .text_bytes = options_.text_bytes_waiting_max},
                 options_.threads, clock_, compute_.speed, outbox_),
      keep_(
          keep_options(options_, model, arena), model_, clock_, outbox_, index_, tenants_,
          registry_, requests_, disk_.erasures, metadata_, disk_.stored, disk_.writer, disk_.chains,
          idle_,
          {.text_is_gone =
               [this](const ChunkUses::ChunkName& chunk) { doors_.prefixes.drop_with(chunk); },
           .save_session = [this](const StoredName& session) { doors_.sessions.store(session); }}) {
  warn_of_memory(options_, tenants_.widest(options_.attention.mode), model, arena);
  if (options_.incarnation > 1) outbox_.note_restart("scheduler");
  load_stored();
}

SchedulerCore::~SchedulerCore() = default;

void SchedulerCore::on_actor_started(Actor actor, const std::string& tenant) {
  if (!outbox_.connect(actor, tenant)) return;
  outbox_.note_restart(name_of(actor));
  if (actor == Actor::kStore && !gate_.is_open()) load_stored();
  jobs_.lose(actor);
  if (const std::optional<Door> door = door_of(actor)) {
    // The clients of the earlier incarnation cannot be reached any more. Those of HTTP have seen
    // their connections end.
    if (door != Door::kHttp) outbox_.renew_boot_id();
    std::set<Client> clients;
    for (const auto& [handle, request] : requests_.all()) {
      const Client& client = request->client;
      if (client.tenant == tenant && client.door == *door) clients.insert(client);
    }
    for (const Client& client : clients) on_client_gone(client);
  }
  plan();
}

void SchedulerCore::on_client(const Client& client, wire::Envelope envelope) {
  const wire::RequestId id = envelope.request;
  pass_time();
  admission_.answer_refused();
  std::visit(
      [&](auto&& message) {
        using M = std::decay_t<decltype(message)>;
        if constexpr (std::is_same_v<M, wire::Ping>) {
          outbox_.reply(client, id, wire::Pong{outbox_.boot_id(), options_.version});
        } else if constexpr (std::is_same_v<M, wire::ClientGone>) {
          gate_.client_gone(client);
          on_client_gone(client);
        } else if constexpr (requires { this->on(client, id, std::move(message)); }) {
          if (!gate_.is_open()) return gate_.park(client, {id, std::move(message)});
          if (changes<M>() && outbox_.repeats(client, id, message)) return;
          this->on(client, id, std::move(message));
        } else if constexpr (is_for<M, TextDoor, UpkeepDoor, PolicyDoor, SearchDoor, SessionDoor,
                                    PrefixDoor, StatusDoor>()) {
          if (!gate_.is_open()) return gate_.park(client, {id, std::move(message)});
          if (changes<M>() && outbox_.repeats(client, id, message)) return;
          enter(client, id, std::move(message), text_door_, doors_.upkeep, doors_.policy,
                doors_.search, doors_.sessions, doors_.prefixes, doors_.status);
        } else {
          outbox_.reply_error(
              client, id, unsupported("type", "clients may not send this message to the daemon"));
        }
      },
      std::move(envelope.message));
  plan();
}

void SchedulerCore::on_answer(wire::Message message) {
  pass_time();
  admission_.answer_refused();
  std::visit(
      [&](auto&& answer) {
        if constexpr (requires { this->on(std::move(answer)); }) {
          this->on(std::move(answer));
        } else if constexpr (requires { disk_.loader.on(std::move(answer)); }) {
          disk_.loader.on(std::move(answer));
        } else if constexpr (requires { disk_.states.on(std::move(answer)); }) {
          disk_.states.on(std::move(answer));
        } else if constexpr (requires { disk_.restores.on(std::move(answer)); }) {
          disk_.restores.on(std::move(answer));
        } else if constexpr (requires { disk_.spills.on(std::move(answer)); }) {
          disk_.spills.on(std::move(answer));
        } else if constexpr (requires { keep_.lifecycle.on(std::move(answer)); }) {
          keep_.lifecycle.on(std::move(answer));
        } else if constexpr (requires { disk_.writer.on(std::move(answer)); }) {
          disk_.writer.on(std::move(answer));
        } else if constexpr (requires { disk_.chains.on(std::move(answer)); }) {
          disk_.chains.on(std::move(answer));
        } else if constexpr (requires { doors_.upkeep.on(std::move(answer)); }) {
          doors_.upkeep.on(std::move(answer));
        } else if constexpr (requires { doors_.search.on(std::move(answer)); }) {
          doors_.search.on(std::move(answer));
        } else if constexpr (requires { encoding_.retrievals.on(std::move(answer)); }) {
          encoding_.retrievals.on(std::move(answer));
        }
      },
      std::move(message));
  plan();
}

void SchedulerCore::on_tick() {
  pass_time();
  const int64_t now = clock_.monotonic_us();
  std::vector<uint64_t> handles;
  for (const auto& [handle, request] : requests_.all()) handles.push_back(handle);
  for (const uint64_t handle : handles) {
    Request* request = requests_.find(handle);
    if (request == nullptr) continue;
    if (now >= request->deadline_us()) {
      Error late = {
          ErrorCode::kDeadlineExceeded, "timeout_ms",
          "the request's " + std::to_string(request->params.timeout_ms) + " ms have passed"};
      if (in_flight(*request)) {
        request->pending_error = std::move(late);
      } else {
        fail(*request, std::move(late));
      }
    } else if (request->params.stream && now - request->last_sent_us >= kSilenceUs) {
      send_progress(*request);
    }
  }
  const auto drain_us = static_cast<int64_t>(static_cast<double>(options_.stop_us) * kDrainShare);
  if (stopping_since_us_ && now - *stopping_since_us_ >= drain_us) {
    for (const uint64_t handle : handles) {
      if (Request* request = requests_.find(handle)) end(*request, "cancelled");
    }
  }
  idle_memory_.give_back();
  compute_.idle_states.give_back();
  keep_.pins.retry();
  keep_.pins.heal();
  keep_.pin_replies.answer();
  keep_.holds.look_for_evictions();
  retry_store();
  admission_.answer_refused();
  plan();
}

void SchedulerCore::stop() {
  if (!stopping_since_us_) stopping_since_us_ = clock_.monotonic_us();
  doors_.upkeep.stop();
  keep_.pin_replies.stop();
  admission_.answer_all_refused();
}

// While the daemon stops, only chains that will be on disk are worth computing: a client that asked
// a moment ago is to find them after a restart.
bool SchedulerCore::may_reprefill() const {
  if (!stopping_since_us_) return true;
  const auto share_us =
      static_cast<int64_t>(static_cast<double>(options_.stop_us) * kReprefillShare);
  return options_.keep_pages && clock_.monotonic_us() - *stopping_since_us_ < share_us;
}

bool SchedulerCore::stopped() const {
  if (!stopping_since_us_ || !requests_.empty() || jobs_.delay_stop()) return false;
  if (may_reprefill() && idle_.any_to_write()) return false;
  // A stop waits for writes and erasures, but only for a share of its time.
  const auto write_us = static_cast<int64_t>(static_cast<double>(options_.stop_us) * kWriteShare);
  const bool late = clock_.monotonic_us() - *stopping_since_us_ >= write_us;
  if (!disk_.erasures.empty() && !metadata_.error() && !late) return false;
  const bool states_written = disk_.states.is_idle() || disk_.states.error();
  return (disk_.writer.is_idle() && states_written) || disk_.writer.error() || late;
}

SchedulerLoad SchedulerCore::load() const {
  SchedulerLoad load;
  load.running = static_cast<int64_t>(requests_.running());
  load.waiting = static_cast<int64_t>(requests_.not_running());
  load.prefill_owes = jobs_.owes(Actor::kPrefill);
  load.decode_owes = jobs_.owes(Actor::kDecode);
  load.store_owes = !gate_.is_open() || jobs_.owes(Actor::kStore);
  return load;
}

void SchedulerCore::set_limits(const SchedulerOptions& limits) {
  options_.requests_waiting_max = limits.requests_waiting_max;
  options_.tokens_waiting_max = limits.tokens_waiting_max;
  admission_.set_limits(limits.requests_waiting_max, limits.tokens_waiting_max);
  options_.requests_running_max = limits.requests_running_max;
  options_.max_tokens_default = limits.max_tokens_default;
  options_.think_policy = limits.think_policy;
  options_.heal = limits.heal;
  keep_.pin_budget.set_max_pinned(limits.max_pinned);
  keep_.holds.set_memory_ratio(limits.chunk_memory_ratio);
  options_.stop_us = limits.stop_us;
  keep_.holds.trim();
  plan();
}

}  // namespace cascade
