// A scheduler with real compute and no threads: tests inject messages, pump, and look at answers.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/engine.h"
#include "actors/scheduler/scheduler_core.h"
#include "actors/store_actor.h"
#include "base/clock.h"
#include "base/tenant.h"
#include "persist/chain_states.h"
#include "persist/memory_store.h"
#include "tests/emulated.h"
#include "tests/shared_dir.h"

namespace cascade::testing {

using cascade::Actor;

// The demo model, loaded once.
inline const Model& demo_model() {
  static ThreadPool pool(1);
  static const std::unique_ptr<Model> model = [] {
    // In an emulator, products of integers take a third of the time.
    const WeightType weights = kEmulated ? WeightType::kInt8 : WeightType::kBf16;
    auto loaded = load_model(demo_model_dir(), {weights, KvType::kBf16, best_isa()}, pool);
    if (!loaded.ok()) ADD_FAILURE() << loaded.error().to_string();
    return *std::move(loaded);
  }();
  return *model;
}

inline wire::RequestId request_id(uint64_t number) {
  wire::RequestId id{};
  for (size_t i = 0; i < 8; ++i) id[i] = static_cast<uint8_t>(number >> (8 * i));
  return id;
}

class SchedulerWorld {
 public:
  static constexpr size_t kPages = 400;

  // With `durable`, the world uses that store, also for K and V; the store must outlive the world.
  // `prepare` is called before the scheduler starts. The model must outlive the world, and so must
  // `states_on_disk`, the recurrent states of `durable`.
  explicit SchedulerWorld(SchedulerOptions options = {}, size_t pages = kPages,
                          Store* durable = nullptr,
                          const std::function<void(SchedulerWorld&)>& prepare = {},
                          const Model& model = demo_model(), size_t state_slots = 16,
                          ChainStates* states_on_disk = nullptr)
      : model_(model),
        pool_(1),
        arena_(*PageArena::create(model.kv_layout.indexed_page_bytes(), pages)),
        files_(durable == nullptr ? nullptr
                                  : std::make_unique<KvPartFiles>(durable->directory().calls(),
                                                                  durable->directory().kv_folder(),
                                                                  durable->kv().leases(), 1)),
        states_(state_arena(model, state_slots)),
        engine_(model, arena_, pool_, GrammarCache::kMemoryMax, files_.get(),
                states_ ? &*states_ : nullptr),
        store_(durable, states_on_disk, arena_, states_, model.kv_layout, clock),
        options_(std::move(options)) {
    options_.states = states_ ? &*states_ : nullptr;
    if (prepare) prepare(*this);
    start_scheduler();
  }

  // Starts a new scheduler, which knows what is stored.
  void start_scheduler() {
    jobs_.clear();
    core_ = std::make_unique<SchedulerCore>(options_, model_, arena_, clock);
    for (const Actor actor : {Actor::kStore, Actor::kPrefill, Actor::kDecode}) {
      core_->on_actor_started(actor);
    }
    core_->on_actor_started(Actor::kGateway, kLocalTenant);
    pump();
  }

  SchedulerCore& core() { return *core_; }
  Engine& engine() { return engine_; }
  const PageArena& arena() const { return arena_; }
  // A page on disk takes this much; in memory it has an index, too.
  static uint64_t page_bytes() { return demo_model().kv_layout.page_bytes(); }

  // Sends a client's message and pumps until nothing happens any more.
  uint64_t send(wire::Message message, const std::string& client = "client",
                const std::string& tenant = kLocalTenant) {
    const uint64_t number = post(std::move(message), client, tenant);
    pump();
    return number;
  }
  // Sends without letting anybody work.
  uint64_t post(wire::Message message, const std::string& client = "client",
                const std::string& tenant = kLocalTenant) {
    return post_from({tenant, client}, std::move(message));
  }
  uint64_t post_from(const Client& client, wire::Message message) {
    const uint64_t number = ++last_request_;
    core_->on_client(client, {request_id(number), std::move(message)});
    collect();
    return number;
  }
  uint64_t send_as(const std::string& tenant, wire::Message message) {
    return send(std::move(message), "client", tenant);
  }

  // Lets the actors work off their queues, one message after the other, at most `steps` of them.
  size_t pump(size_t steps = SIZE_MAX) {
    size_t done = 0;
    collect();
    while (done < steps && !jobs_.empty()) {
      Outgoing job = std::move(jobs_.front());
      jobs_.pop_front();
      ++done;
      clock.advance_us(1000);
      for (wire::Message& answer : work(job)) core_->on_answer(std::move(answer));
      collect();
    }
    return done;
  }

  // Gives the store idle time. Returns whether a check or a backup has more to do.
  bool idle_store() {
    std::vector<wire::Message> answers;
    store_.actor.tidy([&](wire::Message m) { answers.push_back(std::move(m)); });
    for (wire::Message& answer : answers) core_->on_answer(std::move(answer));
    pump();
    return store_.actor.busy();
  }

  // Restarts an actor. The jobs that it has been given and has not done yet are lost.
  void restart(Actor actor) {
    std::erase_if(jobs_, [&](const auto& job) { return job.to == actor; });
    core_->on_actor_started(actor, actor == Actor::kGateway ? kLocalTenant : "");
    collect();
  }

  size_t jobs_for(Actor actor) const {
    size_t count = 0;
    for (const auto& job : jobs_) count += job.to == actor;
    return count;
  }
  // The oldest job of that type that has not been done yet.
  template <class Job>
  const Job* next_job() const {
    for (const auto& job : jobs_) {
      if (const auto* found = std::get_if<Job>(&job.envelope.message)) return found;
    }
    return nullptr;
  }

  // All messages of type M that answered request `number`, oldest first.
  template <class M>
  std::vector<M> all(uint64_t number) const {
    std::vector<M> found;
    for (const auto& [id, message] : answers_) {
      if (id != request_id(number)) continue;
      if (const auto* typed = std::get_if<M>(&message)) found.push_back(*typed);
    }
    return found;
  }
  // The only message of type M that answered request `number`. Fails the test if there is none or
  // more than one.
  template <class M>
  M one(uint64_t number) const {
    const std::vector<M> found = all<M>(number);
    for (const auto& error : all<wire::ErrorReply>(number)) {
      if (found.empty()) ADD_FAILURE() << error.error.to_string();
    }
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? M{} : found.front();
  }
  Error error(uint64_t number) const {
    const auto errors = all<wire::ErrorReply>(number);
    EXPECT_EQ(errors.size(), 1u);
    return errors.empty() ? Error{} : errors.front().error;
  }

  wire::StatusReply status() { return one<wire::StatusReply>(send(wire::StatusRequest{})); }
  // The status, without letting any actor work.
  wire::StatusReply status_now() { return one<wire::StatusReply>(post(wire::StatusRequest{})); }
  Chunk chunk(const std::string& id) {
    return one<wire::ChunkReply>(send(wire::ChunkGet{id})).chunk;
  }

  FakeClock clock;
  // Whether the store answers by itself, without pump().
  bool store_at_once = true;
  // Is told of each event that a tenant's gateway publishes.
  std::function<void(const std::string& tenant, const wire::EventNotice&)> on_event;
  // May change or swallow what an actor answers.
  std::function<void(wire::Message&)> tamper;
  // Is told of each message of the scheduler, before anybody works on it.
  std::function<void(const Outgoing&)> on_outgoing;
  // If they are set, these functions answer jobs in place of the model.
  std::function<wire::PrefillDone(const wire::PrefillJob&)> prefill;
  std::function<wire::DecodeDone(const wire::DecodeJob&)> decode;

 private:
  // The store actor, and what it works on unless that is durable.
  struct StoreSide {
    StoreSide(Store* durable, ChainStates* states_on_disk, const PageArena& pages,
              const std::optional<PageArena>& slots, const KvLayout& layout, const Clock& clock)
        : states(states_on_disk == nullptr ? nullptr
                                           : std::make_unique<StoreStates>(*states_on_disk, &*slots,
                                                                           pages, layout, clock)),
          actor(durable == nullptr ? StoreActor(memory, clock)
                                   : StoreActor(*durable, pages, layout, clock, states.get())) {}

    MemoryStore memory;
    std::unique_ptr<StoreStates> states;
    StoreActor actor;
  };

  // The slots of recurrent states, if the model needs them.
  static std::optional<PageArena> state_arena(const Model& model, size_t slots) {
    const size_t floats = model.config.recurrent.state_floats();
    if (floats == 0) return std::nullopt;
    return *PageArena::create(floats * sizeof(float), slots);
  }

  void collect() {
    for (Outgoing& outgoing : core_->take_outgoing()) {
      EXPECT_TRUE(wire::encode(outgoing.envelope).ok());
      if (on_outgoing) on_outgoing(outgoing);
      const auto* event = std::get_if<wire::EventNotice>(&outgoing.envelope.message);
      if (event != nullptr) {
        EXPECT_EQ(outgoing.client.name, "");
        if (on_event) on_event(outgoing.client.tenant, *event);
      } else if (outgoing.to == Actor::kGateway) {
        answers_.emplace_back(outgoing.envelope.request, std::move(outgoing.envelope.message));
      } else if (outgoing.to == Actor::kStore && store_at_once) {
        for (wire::Message& answer : work(outgoing)) core_->on_answer(std::move(answer));
        collect();
      } else {
        jobs_.push_back(std::move(outgoing));
      }
    }
  }

  std::vector<wire::Message> work(const Outgoing& job) {
    const wire::Message& message = job.envelope.message;
    std::vector<wire::Message> answers;
    if (const auto* encode = std::get_if<wire::EncodeJob>(&message)) {
      answers.push_back(run_encode(model_, *encode));
    } else if (const auto* slice = std::get_if<wire::PrefillJob>(&message)) {
      answers.push_back(prefill ? prefill(*slice) : run_prefill(engine_, *slice));
    } else if (const auto* burst = std::get_if<wire::DecodeJob>(&message)) {
      answers.push_back(decode ? decode(*burst) : run_decode(engine_, *burst));
    } else {
      const auto take = [&](wire::Message m) { answers.push_back(std::move(m)); };
      store_.actor.handle({message}, take);
      while (store_.actor.forgetting()) store_.actor.tidy(take);
    }
    for (wire::Message& answer : answers) {
      if (tamper) tamper(answer);
    }
    return answers;
  }

  const Model& model_;
  ThreadPool pool_;
  PageArena arena_;
  std::unique_ptr<KvPartFiles> files_;
  std::optional<PageArena> states_;
  Engine engine_;
  StoreSide store_;
  SchedulerOptions options_;
  std::unique_ptr<SchedulerCore> core_;
  std::deque<Outgoing> jobs_;
  std::vector<std::pair<wire::RequestId, wire::Message>> answers_;
  uint64_t last_request_ = 0;
};

// ---- requests -----------------------------------------------------------------------------------

inline wire::GenerateRequest ask(const std::vector<wire::ChunkRef>& chunks) {
  wire::GenerateRequest request;
  request.chunks = chunks;
  request.sampling.temperature = 0;
  request.logprobs = true;
  request.max_tokens = 200;
  return request;
}
inline wire::ChunkRef system_text(const std::string& text) {
  return {ChunkType::kSystemPrompt, "", text};
}
inline wire::ChunkRef query_text(const std::string& text) {
  return {ChunkType::kQuery, "", text};
}
inline wire::ChunkRef output_ref(const std::string& id) {
  return {ChunkType::kOutput, id, ""};
}
inline constexpr char kGeographer[] = "You are a geographer.";

// A question whose answer stays as a chunk.
inline wire::GenerateRequest retained(const std::string& question) {
  wire::GenerateRequest request = ask({query_text(question)});
  request.retain_output = true;
  return request;
}

// A prompt that is continued to its `max_tokens`.
inline wire::GenerateRequest prompt_request(const std::string& prompt, int32_t max_tokens,
                                            bool stream = false) {
  wire::GenerateRequest request;
  request.prompt = prompt;
  request.sampling.temperature = 0;
  request.max_tokens = max_tokens;
  request.ignore_eos = true;
  request.stream = stream;
  return request;
}

// Texts with different names differ from the first word on.
inline std::string long_text(const std::string& name, int words) {
  std::string text = name;
  for (int i = 0; i < words; ++i) text += " word" + std::to_string(i);
  return text;
}

// ---- worlds -------------------------------------------------------------------------------------

inline SchedulerOptions bursts_of(int steps) {
  SchedulerOptions options;
  options.planner.burst_steps_max = steps;
  options.planner.burst_us = steps * int64_t{1'000'000};
  return options;
}

// Jobs take the same time on every machine.
inline void set_speeds(SchedulerWorld& world) {
  world.tamper = [](wire::Message& answer) {
    if (auto* prefill = std::get_if<wire::PrefillDone>(&answer)) prefill->compute_us = 10'000;
    if (auto* decode = std::get_if<wire::DecodeDone>(&answer)) {
      decode->compute_us = 1000 * decode->steps;
    }
  };
}

inline wire::CacheStats cache_stats(SchedulerWorld& world) {
  return *world.one<wire::StatsReply>(world.send(wire::StatsRequest{})).cache;
}

}  // namespace cascade::testing
