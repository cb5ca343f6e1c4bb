// The brain: which request does what next, which pages it uses, what is kept of it. No sockets, no
// threads, no clock of its own: messages in, messages out, so that tests drive it by hand.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/scheduler/request.h"
#include "base/clock.h"
#include "cache/chain_index.h"
#include "cache/chunk_registry.h"
#include "cache/page_arena.h"
#include "cache/page_pool.h"
#include "cache/planner.h"
#include "model/model.h"
#include "wire/frames.h"

namespace cascade {

struct SchedulerOptions {
  std::string version;
  int threads = 1;
  uint64_t incarnation = 1;       // of the scheduler actor
  int requests_waiting_max = 64;  // further ones are refused with retry_after_ms
  int64_t text_bytes_waiting_max = int64_t{64} << 20;  // of all requests that have not started
  int requests_running_max = 16;
  int32_t max_tokens_default = 2048;
  int reprefills_max = 256;      // further outputs are kept as text only
  int chunk_puts_max = 64;       // being tokenized
  int64_t drain_us = 5'000'000;  // how long running requests may go on after stop()
  PlannerLimits planner;
};

// One thread. Every handler returns at once; what it has to say is in take_outgoing().
class SchedulerCore {
 public:
  enum class Actor { kPrefill, kDecode, kStore, kGateway };
  struct Outgoing {
    Actor to;
    std::string client;  // kGateway: whom the gateway shall give it to
    wire::Envelope envelope;
  };

  // model, arena and clock outlive the core. Pages of the arena are this core's alone.
  SchedulerCore(SchedulerOptions options, const Model& model, const PageArena& arena,
                const Clock& clock);
  ~SchedulerCore();

  // An actor has connected: it gets the messages that waited for it. If it had connected before, it
  // was restarted, and what it was doing is lost.
  void on_actor_started(Actor actor);
  // A message of a client (Ping … ChunkDelete, ClientGone).
  void on_client(const std::string& client, wire::Envelope envelope);
  // An answer of the prefill, decode or store actor.
  void on_answer(wire::Message message);
  // Call several times a second: deadlines, signs of life.
  void on_tick();
  // Refuses new requests; running ones have drain_us to end. stopped() follows.
  void stop();
  bool stopped() const;

  std::vector<Outgoing> take_outgoing();

 private:
  using RequestPtr = std::unique_ptr<Request>;
  struct InFlight {
    uint64_t job;
    std::vector<uint64_t> requests;  // handles
    bool idle = false;               // works on the first re-prefill
    std::vector<int32_t> tokens;     // a prefill's slice
  };
  struct ChunkPutJob {
    std::string client;
    wire::RequestId id;
    Chunk chunk;
  };
  struct Counters {
    int64_t done = 0, failed = 0, cancelled = 0;
    int64_t tokens_reused = 0, tokens_prefilled = 0, tokens_reprefilled = 0, tokens_generated = 0;
  };

  // Sending.
  void send(Actor to, wire::Message message);
  void reply(const std::string& client, const wire::RequestId& id, wire::Message message);
  void reply_error(const std::string& client, const wire::RequestId& id, Error error,
                   int64_t retry_after_ms = 0);
  void send_to(const Request& request, wire::Message message);

  // Requests: scheduler_requests.cc.
  void on(const std::string& client, const wire::RequestId& id, wire::GenerateRequest&& params);
  void on(const std::string& client, const wire::RequestId& id, const wire::CancelRequest& cancel);
  void on_client_gone(const std::string& client);
  void on(wire::EncodeDone&& done);
  Status admit(const std::string& client, const wire::RequestId& id,
               const wire::GenerateRequest& params) const;
  Status prepare(Request& request);
  int64_t text_bytes_max() const;
  Status check_text_bytes(std::string_view field, int64_t bytes) const;
  void encode_request(Request& request);
  void prompt_ready(Request& request, wire::EncodeDone&& done);
  void set_sampling(Request& request);
  void start_waiting();
  bool start(Request& request);
  void end(Request& request, const std::string& finish_reason);
  void fail(Request& request, Error error);
  void finish(Request& request, const std::string& finish_reason);
  void forget(uint64_t handle);
  bool in_flight(const Request& request) const;
  Request* find_request(uint64_t handle);

  // Compute: scheduler_compute.cc.
  void plan();
  void dispatch_prefill(Request& request, int64_t slice_end);
  void dispatch_decode(int steps);
  void dispatch_idle(int64_t slice_end);
  void on(wire::PrefillDone&& done);
  void on(wire::DecodeDone&& done);
  void on_idle_done(const InFlight& job, const wire::PrefillDone& done);
  bool take_token(Request& request, int32_t token, float logprob, std::vector<wire::Delta>& deltas);
  void send_deltas(Request& request, std::vector<wire::Delta>&& deltas);
  int64_t available_pages() const;
  void fail_in_flight(Actor actor);

  // Retention: scheduler_retention.cc.
  std::string retain(Request& request, const std::string& finish_reason);
  void history_ready(const std::string& chunk_id, wire::EncodeDone&& done);
  void queue_reprefill(ChunkEntry& entry, Reprefill&& reprefill);
  bool start_idle();
  void finish_idle(bool complete);
  bool pause_idle();
  void use_chunks(const std::vector<std::string>& ids);
  void store(const Chunk& chunk);
  void refresh(ChunkEntry& entry);

  // Chunks and status: scheduler_chunks.cc.
  void on(const std::string& client, const wire::RequestId& id, wire::ChunkPut&& put);
  void on(const std::string& client, const wire::RequestId& id,
          const wire::ChunkListRequest& request);
  void on(const std::string& client, const wire::RequestId& id, const wire::ChunkGet& get);
  void on(const std::string& client, const wire::RequestId& id, const wire::ChunkDelete& request);
  void on(const std::string& client, const wire::RequestId& id, const wire::StatusRequest&);
  void chunk_text_ready(ChunkPutJob&& put, wire::EncodeDone&& done);
  void register_text(Chunk chunk);
  void forget_chain(ChunkEntry& entry);

  const SchedulerOptions options_;
  const Model& model_;
  const PageArena& arena_;
  const Clock& clock_;
  const int64_t start_us_;

  PagePool pool_;
  ChainIndex index_;
  ChunkRegistry registry_;
  SpeedEstimate speed_;

  uint64_t next_handle_ = 1;
  uint64_t next_job_ = 1;
  std::map<uint64_t, RequestPtr> requests_;  // all, by handle
  std::map<std::pair<std::string, wire::RequestId>, uint64_t> by_client_;
  std::list<uint64_t> waiting_;     // handles, in the order of their arrival
  std::list<uint64_t> prefilling_;  // handles; the first is computed
  std::list<uint64_t> decoding_;    // handles; rotated when there are more than a batch
  int64_t text_bytes_waiting_ = 0;

  std::map<uint64_t, uint64_t> encoding_requests_;      // job -> handle
  std::map<uint64_t, std::string> encoding_histories_;  // job -> chunk id
  std::map<uint64_t, Reprefill> histories_;             // job -> what follows
  std::map<uint64_t, ChunkPutJob> encoding_puts_;       // job -> client's put
  std::deque<Reprefill> reprefills_;
  std::optional<InFlight> in_flight_;  // the one job of the prefill or decode actor
  bool last_was_decode_ = false;

  Counters counters_;
  // Changes whenever answers to earlier requests may have been lost, so that clients notice.
  std::string boot_id_;
  std::set<Actor> connected_;
  std::vector<std::string> actors_restarted_;
  std::optional<int64_t> stopping_since_us_;
  std::vector<Outgoing> outgoing_;
  std::vector<Outgoing> held_;  // for actors that have not connected yet
};

}  // namespace cascade
