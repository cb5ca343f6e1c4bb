// The scheduler's doors: messages from clients and actors, time, the end.
#include "actors/scheduler/scheduler_core.h"

#include <spdlog/spdlog.h>

#include <type_traits>
#include <utility>
#include <variant>

#include "actors/scheduler/tenant.h"
#include "base/random.h"

namespace cascade {
namespace {

// A stream that is silent for so long gets a sign of life; sending it also finds dead clients.
constexpr int64_t kSilenceUs = 1'000'000;

const char* name_of(SchedulerCore::Actor actor) {
  switch (actor) {
    case SchedulerCore::Actor::kPrefill: return "prefill";
    case SchedulerCore::Actor::kDecode: return "decode";
    case SchedulerCore::Actor::kStore: return "store";
    case SchedulerCore::Actor::kGateway: return "gateway";
  }
  return "unknown";
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
      index_(model.root_key(kLocalTenant), pool_),
      boot_id_(random_id("boot")) {
  if (options_.incarnation > 1) actors_restarted_.push_back("scheduler");
  send(Actor::kStore, wire::StoreLoad{next_job_++});
}

SchedulerCore::~SchedulerCore() = default;

std::vector<SchedulerCore::Outgoing> SchedulerCore::take_outgoing() {
  return std::exchange(outgoing_, {});
}

void SchedulerCore::send(Actor to, wire::Message message) {
  auto& queue = connected_.contains(to) ? outgoing_ : held_;
  queue.push_back({to, "", {{}, std::move(message)}});
}

void SchedulerCore::reply(const std::string& client, const wire::RequestId& id,
                          wire::Message message) {
  outgoing_.push_back({Actor::kGateway, client, {id, std::move(message)}});
}

void SchedulerCore::reply_error(const std::string& client, const wire::RequestId& id, Error error,
                                int64_t retry_after_ms) {
  reply(client, id, wire::ErrorReply{std::move(error), retry_after_ms});
}

void SchedulerCore::send_to(const Request& request, wire::Message message) {
  if (!request.client_gone) reply(request.client, request.id, std::move(message));
}

void SchedulerCore::on_actor_started(Actor actor) {
  if (connected_.insert(actor).second) {
    for (Outgoing& message : std::exchange(held_, {})) {
      (message.to == actor ? outgoing_ : held_).push_back(std::move(message));
    }
    return;
  }
  actors_restarted_.push_back(name_of(actor));
  if (actor == Actor::kPrefill || actor == Actor::kDecode) fail_in_flight(actor);
  if (actor == Actor::kGateway) {
    // The clients of the earlier incarnation cannot be reached any more.
    boot_id_ = random_id("boot");
    std::set<std::string> clients;
    for (const auto& [handle, request] : requests_) clients.insert(request->client);
    for (const std::string& client : clients) on_client_gone(client);
  }
  plan();
}

void SchedulerCore::on_client(const std::string& client, wire::Envelope envelope) {
  const wire::RequestId id = envelope.request;
  std::visit(
      [&](auto&& message) {
        using M = std::decay_t<decltype(message)>;
        if constexpr (std::is_same_v<M, wire::Ping>) {
          reply(client, id, wire::Pong{boot_id_, options_.version});
        } else if constexpr (std::is_same_v<M, wire::ClientGone>) {
          on_client_gone(client);
        } else if constexpr (requires { this->on(client, id, std::move(message)); }) {
          this->on(client, id, std::move(message));
        } else {
          reply_error(client, id, unsupported("type", "this message is not for the daemon"));
        }
      },
      std::move(envelope.message));
  plan();
}

void SchedulerCore::on_answer(wire::Message message) {
  std::visit(
      [&](auto&& answer) {
        using M = std::decay_t<decltype(answer)>;
        if constexpr (std::is_same_v<M, wire::StoreChunks>) {
          for (Chunk& chunk : answer.chunks) {
            // The pages of an earlier incarnation are gone; its texts are not.
            chunk.kv_state = KvState::kNone;
            chunk.kv_tokens = chunk.kv_bytes = 0;
            const auto added = registry_.add(std::move(chunk));
            if (!added.ok()) spdlog::warn("a stored chunk is left out: {}", added.error().message);
          }
        } else if constexpr (std::is_same_v<M, wire::StoreAck>) {
          if (answer.error) spdlog::error("the store failed: {}", answer.error->to_string());
        } else if constexpr (requires { this->on(std::move(answer)); }) {
          this->on(std::move(answer));
        }
      },
      std::move(message));
  plan();
}

void SchedulerCore::on_tick() {
  const int64_t now = clock_.monotonic_us();
  std::vector<uint64_t> handles;
  for (const auto& [handle, request] : requests_) handles.push_back(handle);
  for (const uint64_t handle : handles) {
    Request* request = find_request(handle);
    if (request == nullptr) continue;
    if (now >= request->deadline_us()) {
      Error late = {ErrorCode::kDeadlineExceeded, "timeout_ms",
                    "the request's " + std::to_string(request->params.timeout_ms) +
                        " ms have passed"};
      if (in_flight(*request)) {
        request->pending_error = std::move(late);
      } else {
        fail(*request, std::move(late));
      }
    } else if (request->params.stream && now - request->last_sent_us >= kSilenceUs) {
      request->last_sent_us = now;
      const int64_t done = request->sequence ? request->sequence->committed() : 0;
      const auto prompt = static_cast<int64_t>(request->prompt.size());
      send_to(*request, wire::Progress{prompt, std::min(done, prompt)});
    }
  }
  if (stopping_since_us_ && now - *stopping_since_us_ >= options_.drain_us) {
    for (const uint64_t handle : handles) {
      if (Request* request = find_request(handle)) end(*request, "cancelled");
    }
  }
  plan();
}

void SchedulerCore::stop() {
  if (!stopping_since_us_) stopping_since_us_ = clock_.monotonic_us();
}

bool SchedulerCore::stopped() const {
  return stopping_since_us_ && requests_.empty() && !in_flight_;
}

}  // namespace cascade
