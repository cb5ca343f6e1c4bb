// The scheduler's doors: messages from clients and actors, time, the end.
#include "actors/scheduler/scheduler_core.h"

#include <spdlog/spdlog.h>

#include <type_traits>
#include <utility>
#include <variant>

#include "base/random.h"

namespace cascade {
namespace {

// A stream that is silent for so long gets a sign of life; sending it also finds dead clients.
constexpr int64_t kSilenceUs = 800'000;  // at least once a second, however ticks fall

// Memory that no request needed for so long goes back to the system. Not sooner: to take a page of
// 4 MB again cost 10 ms of page faults where that was measured, to give it back 0.04 ms.
constexpr int64_t kIdleMemoryUs = 10'000'000;
constexpr size_t kGivenBackAtOnceMax = 256;

// Of the time that a stop may take: until then outputs are computed as history; requests may run
// on; pages are written.
constexpr double kReprefillShare = 0.25, kDrainShare = 0.75, kWriteShare = 0.9;

const char* name_of(SchedulerCore::Actor actor) {
  switch (actor) {
    case SchedulerCore::Actor::kPrefill: return "prefill";
    case SchedulerCore::Actor::kDecode: return "decode";
    case SchedulerCore::Actor::kStore: return "store";
    case SchedulerCore::Actor::kGateway: return "gateway";
    case SchedulerCore::Actor::kHttp: return "http";
    case SchedulerCore::Actor::kTcp: return "tcp";
  }
  return "unknown";
}

// Where the clients of a door have their routes; nullopt for actors that have no clients.
std::optional<char> route_of(SchedulerCore::Actor actor) {
  switch (actor) {
    case SchedulerCore::Actor::kGateway: return kIpcRoute;
    case SchedulerCore::Actor::kHttp: return kHttpRoute;
    case SchedulerCore::Actor::kTcp: return kTcpRoute;
    default: return std::nullopt;
  }
}

// Requests that are done once, however often they are sent.
template <class M>
constexpr bool changes() {
  return std::is_same_v<M, wire::ChunkPut> || std::is_same_v<M, wire::ChunkDelete> ||
         std::is_same_v<M, wire::ChunkUpdate> || std::is_same_v<M, wire::SessionDelete> ||
         std::is_same_v<M, wire::PolicySet>;
}

}  // namespace

SchedulerCore::SchedulerCore(SchedulerOptions options, const Model& model, const PageArena& arena,
                             const Clock& clock)
    : options_(std::move(options)),
      model_(model),
      arena_(arena),
      clock_(clock),
      start_us_(clock.monotonic_us()),
      pool_(arena.page_count()),
      index_(model.root_key(""), pool_, options_.eviction),
      prompt_budget_(options_.planner),
      boot_id_(random_id("boot", options_.random)) {
  index_.set_shortened(
      [this](const Digest& before, const Digest& after) { uses_.copy(before, after); });
  if (options_.incarnation > 1) actors_restarted_.push_back("scheduler");
  send(Actor::kStore, wire::StoreLoad{next_job_++, model_.root_key("").hex()});
}

SchedulerCore::~SchedulerCore() = default;

std::vector<SchedulerCore::Outgoing> SchedulerCore::take_outgoing() {
  return std::exchange(outgoing_, {});
}

// Names come from the daemon's options, so there are few.
TenantId SchedulerCore::tenant_id(const std::string& tenant) {
  const auto found = tenants_.find(tenant);
  if (found != tenants_.end()) return found->second;
  return tenants_[tenant] = index_.add_tenant(model_.root_key(tenant));
}

void SchedulerCore::send(Actor to, wire::Message message) {
  auto& queue = connected_.contains({to, ""}) ? outgoing_ : held_;
  queue.push_back({to, {}, {{}, std::move(message)}});
}

void SchedulerCore::reply(const Client& client, const wire::RequestId& id, wire::Message message) {
  for (const Client& again : mutations_.end(client.tenant, id, message)) {
    if (again != client) outgoing_.push_back({Actor::kGateway, again, {id, message}});
  }
  outgoing_.push_back({Actor::kGateway, client, {id, std::move(message)}});
}

void SchedulerCore::reply_error(const Client& client, const wire::RequestId& id, Error error,
                                int64_t retry_after_ms) {
  reply(client, id, wire::ErrorReply{std::move(error), retry_after_ms});
}

void SchedulerCore::send_to(const Request& request, wire::Message message) {
  if (!request.client_gone) reply(request.client, request.id, std::move(message));
}

void SchedulerCore::on_actor_started(Actor actor, const std::string& tenant) {
  if (connected_.insert({actor, tenant}).second) {
    for (Outgoing& message : std::exchange(held_, {})) {
      (message.to == actor ? outgoing_ : held_).push_back(std::move(message));
    }
    return;
  }
  actors_restarted_.push_back(name_of(actor));
  if (actor == Actor::kPrefill || actor == Actor::kDecode) fail_in_flight(actor);
  if (actor == Actor::kStore) on_store_restarted();
  if (const std::optional<char> route = route_of(actor)) {
    // The clients of the earlier incarnation cannot be reached any more. Those of HTTP have seen
    // their connections end.
    if (route != kHttpRoute) boot_id_ = random_id("boot", options_.random);
    std::set<Client> clients;
    for (const auto& [handle, request] : requests_) {
      const Client& client = request->client;
      if (client.tenant == tenant && client.route.starts_with(*route)) clients.insert(client);
    }
    for (const Client& client : clients) on_client_gone(client);
  }
  plan();
}

// Whether the client sends once more what is under way or has been answered; it gets that answer.
bool SchedulerCore::repeats(const Client& client, const wire::RequestId& id,
                            const wire::Message& message) {
  const MutationLog::Begin begin = mutations_.begin(client, id, message);
  if (begin.answer != nullptr) outgoing_.push_back({Actor::kGateway, client, {id, *begin.answer}});
  return !begin.is_new;
}

void SchedulerCore::on_client(const Client& client, wire::Envelope envelope) {
  const wire::RequestId id = envelope.request;
  pass_time();
  answer_refused();
  std::visit(
      [&](auto&& message) {
        using M = std::decay_t<decltype(message)>;
        if constexpr (std::is_same_v<M, wire::Ping>) {
          reply(client, id, wire::Pong{boot_id_, options_.version});
        } else if constexpr (std::is_same_v<M, wire::ClientGone>) {
          std::erase_if(parked_, [&](const auto& parked) { return parked.first == client; });
          on_client_gone(client);
        } else if constexpr (requires { this->on(client, id, std::move(message)); }) {
          if (!loaded_) return park(client, {id, std::move(message)});
          if (changes<M>() && repeats(client, id, message)) return;
          this->on(client, id, std::move(message));
        } else {
          reply_error(client, id, unsupported("type", "this message is not for the daemon"));
        }
      },
      std::move(envelope.message));
  plan();
}

void SchedulerCore::on_answer(wire::Message message) {
  pass_time();
  answer_refused();
  std::visit(
      [&](auto&& answer) {
        if constexpr (requires { this->on(std::move(answer)); }) {
          this->on(std::move(answer));
        }
      },
      std::move(message));
  plan();
}

void SchedulerCore::on_tick() {
  pass_time();
  const int64_t now = clock_.monotonic_us();
  std::vector<uint64_t> handles;
  for (const auto& [handle, request] : requests_) handles.push_back(handle);
  for (const uint64_t handle : handles) {
    Request* request = find_request(handle);
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
      if (Request* request = find_request(handle)) end(*request, "cancelled");
    }
  }
  give_back_memory();
  retry_pins();
  heal_pins();
  answer_pins();
  look_for_evictions();
  retry_store();
  answer_refused();
  plan();
}

// Pages that were free for kIdleMemoryUs.
void SchedulerCore::give_back_memory() {
  const int64_t now = clock_.monotonic_us();
  if (now - idle_marked_us_ >= kIdleMemoryUs) {
    const std::vector<PageIndex> idle = pool_.take_idle(kGivenBackAtOnceMax);
    for (const PageIndex page : idle) arena_.discard(page);
    if (!idle.empty()) return;  // the next tick has the rest
    idle_marked_us_ = now;
    pool_.mark_idle();
  }
}

void SchedulerCore::stop() {
  if (!stopping_since_us_) stopping_since_us_ = clock_.monotonic_us();
  refuse_upkeep("the daemon is stopping");
  answer_pins();
  answer_refused();
}

// When the daemon stops, only what will be on disk is worth it: who asked a moment ago is to find
// it after a restart.
bool SchedulerCore::may_reprefill() const {
  if (!stopping_since_us_) return true;
  const auto share_us =
      static_cast<int64_t>(static_cast<double>(options_.stop_us) * kReprefillShare);
  return options_.keep_pages && clock_.monotonic_us() - *stopping_since_us_ < share_us;
}

bool SchedulerCore::stopped() const {
  if (!stopping_since_us_ || !requests_.empty() || in_flight_) return false;
  if (may_reprefill() && !(histories_.empty() && reprefills_.empty())) return false;
  if (!saving_.empty() || !removing_.empty()) return false;
  // A stop waits for writes and erasures, but only for a share of its time.
  const auto write_us = static_cast<int64_t>(static_cast<double>(options_.stop_us) * kWriteShare);
  const bool late = clock_.monotonic_us() - *stopping_since_us_ >= write_us;
  if (!erasures_.empty() && !store_error_ && !late) return false;
  return (writebacks_.empty() && !writing_) || disk_error_ || late;
}

}  // namespace cascade
