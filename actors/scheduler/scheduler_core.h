// The brain. It decides which request does what next, which pages it uses, and what is kept of it.
// It has no sockets and no threads: messages come in, messages go out. So tests drive it by hand,
// with a clock of their own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/scheduler/attention_growth.h"
#include "actors/scheduler/chunk_settings.h"
#include "actors/scheduler/composition.h"
#include "actors/scheduler/disk/disk.h"
#include "actors/scheduler/doors/policy_door.h"
#include "actors/scheduler/doors/prefix_door.h"
#include "actors/scheduler/doors/search_door.h"
#include "actors/scheduler/doors/session_door.h"
#include "actors/scheduler/doors/status_door.h"
#include "actors/scheduler/doors/text_door.h"
#include "actors/scheduler/doors/upkeep_door.h"
#include "actors/scheduler/idle_memory.h"
#include "actors/scheduler/idle_prefill.h"
#include "actors/scheduler/jobs.h"
#include "actors/scheduler/keep/keep.h"
#include "actors/scheduler/metadata_writer.h"
#include "actors/scheduler/outbox.h"
#include "actors/scheduler/request.h"
#include "actors/scheduler/request_admission.h"
#include "actors/scheduler/request_table.h"
#include "actors/scheduler/retrievals.h"
#include "actors/scheduler/scheduler_load.h"
#include "actors/scheduler/scheduler_options.h"
#include "actors/scheduler/scheduler_work.h"
#include "actors/scheduler/start_gate.h"
#include "actors/scheduler/store_work.h"
#include "actors/scheduler/tenant_shares.h"
#include "actors/scheduler/tenants.h"
#include "base/clock.h"
#include "cache/chain_index.h"
#include "cache/chain_start.h"
#include "cache/chunk_registry.h"
#include "cache/page_arena.h"
#include "cache/page_pool.h"
#include "cache/planner.h"
#include "cache/state_table.h"
#include "cache/tenant_turn.h"
#include "model/model.h"
#include "wire/frames.h"

namespace cascade {

// One thread. Every handler returns at once; what it has to say is in take_outgoing().
class SchedulerCore {
 public:
  // model, arena and clock outlive the core. The arena's pages belong to this core alone.
  SchedulerCore(SchedulerOptions options, const Model& model, const PageArena& arena,
                const Clock& clock);
  ~SchedulerCore();

  // An actor has connected: it gets the messages that waited for it. If it had connected before, it
  // was restarted, and what it was doing is lost. kGateway, kHttp or kTcp is the door of `tenant`.
  void on_actor_started(Actor actor, const std::string& tenant = {});
  // A message of a client (Ping … ChunkDelete, ClientGone).
  void on_client(const Client& client, wire::Envelope envelope);
  // An answer of the prefill, decode or store actor.
  void on_answer(wire::Message message);
  // Checks deadlines and sends signs of life. Call it several times a second.
  void on_tick();
  // Refuses new requests. Running requests, and the writing of what is kept of them, have most of
  // stop_us to end. stopped() follows.
  void stop();
  bool stopped() const;
  // Takes from `limits` what it says of waiting and running requests, of answers without a limit,
  // of thoughts, pins, holds and the time of a stop. The rest of `limits` is ignored.
  void set_limits(const SchedulerOptions& limits);

  SchedulerLoad load() const;
  std::vector<Outgoing> take_outgoing() { return outbox_.take(); }

 private:
  // Returns a function that gives lost jobs of this kind to the handler that deals with them.
  template <class T>
  typename PendingJobs<T>::Lost lose() {
    return [this](std::map<uint64_t, T>&& jobs) { lost(std::move(jobs)); };
  }

  // Requests: scheduler_requests.cc.
  void on(const Client& client, const wire::RequestId& id, wire::GenerateRequest&& params);
  void on(const Client& client, const wire::RequestId& id, const wire::CancelRequest& cancel);
  void on(const Client& client, const wire::RequestId& id, const wire::DeltaCredit& credit);
  void on_client_gone(const Client& client);
  void on(wire::EncodeDone&& done);
  Status admit(const Client& client, const wire::RequestId& id,
               const wire::GenerateRequest& params) const;
  void accept(const Client& client, const wire::RequestId& id, wire::GenerateRequest&& params,
              bool prefix);
  Status prepare(Request& request);
  Status take_token_ids(Request& request);
  void encode_request(Request& request);
  void prompt_ready(Request& request, wire::EncodeDone&& done);
  int32_t answer_tokens(Request& request);
  Status promise_pages(Request& request, int64_t tokens) const;
  void wait(Request& request);
  void end(Request& request, const std::string& finish_reason);
  void fail(Request& request, Error error);
  void finish(Request& request, const std::string& finish_reason);
  void close(uint64_t handle);
  bool in_flight(const Request& request) const;

  // Which requests run: scheduler_queue.cc.
  void start_waiting();
  bool start(Request& request);
  bool start_of(const std::string& tenant);
  std::vector<std::string> tenants_waiting() const;
  TenantTurn turn_of(const std::string& tenant) const;
  size_t running_max() const;
  bool make_room_for(const std::string& tenant);
  void preempt(Request& request);
  void refuse_starved();
  Miss explain_miss(const Request& request);
  Request* next_to_prefill();
  bool is_owed(const Request& request) const;
  void catch_up(Request& request);
  int64_t available_pages() const;

  // Compute: scheduler_compute.cc.
  void plan();
  Request* next_prompt();
  void end_prompt(Request& request);
  void dispatch_prefill(Request& request, int64_t slice_end);
  bool dispatch_repair();
  void page_repaired(Request& request, const InFlight::Repair& repair,
                     const wire::PrefillDone& done);
  void dispatch_decode(int steps);
  bool prompt_advanced(Request& request, std::span<const int32_t> tokens);
  void dispatch_idle(int64_t slice_end);
  bool dispatch_removal();
  void on(wire::PrefillDone&& done);
  void on(wire::DecodeDone&& done);
  bool take_token(Request& request, int32_t token, float logprob, std::vector<wire::Delta>& deltas);
  void send_deltas(Request& request, std::vector<wire::Delta>&& deltas, bool last = false);
  int64_t known_tokens(const Request& request);
  void keep_leased(const Request& request);
  void send_progress(Request& request);
  void lost(std::map<uint64_t, InFlight>&& jobs);
  void lost(std::map<uint64_t, EncodingRequest>&& jobs);
  void lost(std::map<uint64_t, ChunkPutJob>&& jobs);

  // Retention: scheduler_retention.cc.
  Chunk output_chunk(const Request& request, const std::string& finish_reason) const;
  std::string retain(Request& request, const std::string& finish_reason);
  bool may_reprefill() const;
  void use_chunks(const std::string& tenant, const std::vector<std::string>& ids);

  // What outlives the process: scheduler_store.cc.
  void on(wire::StoreAck&& ack);
  void on(wire::StoreChunks&& loaded);
  void on(wire::PendingChain&& chain);
  void on(wire::StoredSettings&& stored);
  void end_loading();
  void save_again(const StoredName& name);
  void retry_store();
  void load_stored();

  // What a prompt is made of: scheduler_conversation.cc.
  Result<Earlier> earlier_of(Request& request);
  Status compose_chunks(Request& request);
  Status take_messages(Request& request);

  // Pages between memory and disk: scheduler_disk.cc.
  void write_prompt_behind(Request& request);
  void write_pages();
  void rows_removed();
  bool tokens_loaded(uint64_t handle, std::span<const int32_t> tokens, bool more);
  bool load_advanced(Request& request, int64_t count, bool more);
  bool end_if_pending(Request& request);
  void on(wire::StoredPages&& stored);

  // Time passes: scheduler_expiry.cc.
  void pass_time();

  // Changes of chunks: scheduler_chunk_updates.cc.
  void on(const Client& client, const wire::RequestId& id, wire::ChunkUpdate&& update);
  Status check(const ChunkSettings& settings, const ChunkEntry* entry, const Chunk& chunk) const;
  std::vector<Holder> holders_of(const std::string& tenant, ChunkType type,
                                 const ChunkSettings& settings, const std::string& session) const;
  Status change_holders(const ChunkSettings& settings, ChunkEntry& entry, EndedHolders& ended);

  // Requests for a prefix: scheduler_prefixes.cc.
  void on(const Client& client, const wire::RequestId& id, wire::PrefixCache&& params);
  void prefix_ready(Request& request);
  void finish_prefix(Request& request);
  void answer_prefix(Request& request, const PrefixName& name);

  // Chunks by name: scheduler_chunks.cc.
  void on(const Client& client, const wire::RequestId& id, wire::ChunkPut&& put);
  void on(const Client& client, const wire::RequestId& id, const wire::ChunkListRequest& request);
  void on(const Client& client, const wire::RequestId& id, const wire::ChunkGet& get);
  void on(const Client& client, const wire::RequestId& id, const wire::ChunkDelete& request);
  Status read_text(wire::ChunkPut& put, Chunk& chunk) const;
  void chunk_text_ready(ChunkPutJob&& put, wire::EncodeDone&& done);
  std::string register_text(Chunk chunk);

  // The rooms that answer clients by themselves. Members lose their jobs in this order. TextDoor is
  // not among them, since its jobs are lost before those of idle_.
  struct Doors {
    UpkeepDoor upkeep;
    SearchDoor search;
    PolicyDoor policy;
    SessionDoor sessions;
    PrefixDoor prefixes;
    StatusDoor status;
  };

  // The jobs of the tokenizer, and the search for turns that come back. Members lose their jobs in
  // this order.
  struct Encoding {
    PendingJobs<EncodingRequest> requests;
    PendingJobs<ChunkPutJob> puts;
    Retrievals retrievals;
  };

  // The one job that is computed, what the planner knows of earlier jobs, and what chains begin
  // with. Members lose their jobs in this order.
  struct Compute {
    PendingJobs<InFlight> slices;
    PendingJobs<InFlight> bursts;
    StateTable states;
    IdleMemory idle_states;
    ChainCaches caches;
    SpeedEstimate speed;
    PromptBudget prompt_budget;
    bool last_was_decode = false;
    uint64_t last_prompt = 0;  // the request whose prompt was computed last

    bool busy() const { return !slices.empty() || !bursts.empty(); }
  };

  SchedulerOptions options_;
  const Model& model_;
  const PageArena& arena_;
  const Clock& clock_;
  Outbox outbox_;

  // Sequences give their pages back when they are destroyed, so members with sequences come later.
  PagePool pool_;
  IdleMemory idle_memory_{pool_, arena_, clock_};
  ChainIndex index_;
  Tenants tenants_;
  ChunkRegistry registry_;

  // The tables of jobs that actors owe. When an actor is restarted, its jobs are dropped table by
  // table, in the order in which the tables, and the rooms that have tables, are declared here.
  Jobs jobs_;
  Compute compute_{
      .slices = {jobs_, {.actor = Actor::kPrefill, .delays_stop = true}, lose<InFlight>()},
      .bursts = {jobs_, {.actor = Actor::kDecode, .delays_stop = true}, lose<InFlight>()},
      .states = {options_.states == nullptr ? 0 : options_.states->page_count(), index_},
      .idle_states = {compute_.states.memory(),
                      options_.states == nullptr ? arena_ : *options_.states, clock_},
      .caches = {index_, pool_, arena_, compute_.states},
      .speed = SpeedEstimate(attention_growth(model_.config), model_.config.layers),
      .prompt_budget = PromptBudget(options_.planner)};
  Encoding encoding_{.requests = {jobs_, {Actor::kPrefill}, lose<EncodingRequest>()},
                     .puts = {jobs_, {Actor::kPrefill}, lose<ChunkPutJob>()},
                     .retrievals = {jobs_, outbox_, registry_, requests_,
                                    [this](Request& request) { encode_request(request); }}};
  TextDoor text_door_{model_, clock_, jobs_, outbox_, options_.chunk_puts_max};
  MetadataWriter metadata_;
  Disk disk_;
  IdlePrefill idle_;

  RequestTable requests_;
  RequestAdmission admission_;
  TenantShares shares_{clock_};
  StartGate gate_{outbox_};
  Keep keep_;
  Counters counters_;
  std::optional<int64_t> stopping_since_us_;
  Doors doors_{{jobs_, outbox_, options_.keep_pages, [this] { rows_removed(); }},
               {jobs_, outbox_, registry_, options_.searches_max},
               {clock_, outbox_, metadata_},
               {clock_, outbox_, metadata_, registry_, disk_.erasures, keep_.pins, keep_.removals},
               {outbox_, index_, options_.prefixes_max},
               StatusDoor({options_,       stopping_since_us_,
                           clock_,         model_,
                           arena_,         pool_,
                           index_,         tenants_,
                           registry_,      requests_,
                           admission_,     idle_,
                           compute_.speed, counters_,
                           metadata_,      disk_.loader,
                           disk_.writer,   disk_.stored,
                           disk_.room,     compute_.states,
                           disk_.states,   disk_.restores,
                           keep_,          outbox_})};
};

}  // namespace cascade
