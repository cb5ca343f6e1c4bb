// Computes chains while no request wants anything: outputs as their history will have them, what
// pins keep, and the pages of published chunks that every tenant finds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "actors/scheduler/disk/chain_restores.h"
#include "actors/scheduler/disk/page_loader.h"
#include "actors/scheduler/jobs.h"
#include "actors/scheduler/outbox.h"
#include "actors/scheduler/request.h"
#include "actors/scheduler/store_work.h"
#include "actors/scheduler/tenants.h"
#include "base/chunk.h"
#include "base/clock.h"
#include "base/hash.h"
#include "cache/chain_index.h"
#include "cache/chain_start.h"
#include "cache/chunk_registry.h"
#include "wire/messages.h"

namespace cascade {

struct IdleOptions {
  int reprefills_max;        // chains that wait
  int64_t slice_tokens_max;  // as in PlannerLimits
  AttentionMode attention;   // of the chains that begin with a pinned system prompt
};

// How a slice ended.
enum class SliceEnd {
  kComputed,  // K and V of its tokens are in pages
  kFailed,    // its chain is given up
  kYielded,   // the actor was wanted for something else: the same slice comes again
};

// One thread. A text is tokenized first, then its chain waits in a queue. Only the first chain of
// the queue has pages of its own; the pages that it has sealed stay in the index when it is paused.
// A chain with a draft grows by a token whenever all of it is computed. It is computed
// only when no chain without a draft waits.
class IdlePrefill {
 public:
  using Tokenizing = std::map<uint64_t, Reprefill>;  // by job
  struct Callbacks {
    // The first chain has left the queue. It is in memory if it is `complete`.
    std::function<void(Reprefill&&, bool complete)> ended;
    // The texts will not be tokenized: the actor was restarted.
    std::function<void(Tokenizing&&)> lost;
  };

  // The referenced objects must outlive this one.
  IdlePrefill(const IdleOptions& options, const Clock& clock, Jobs& jobs, Outbox& outbox,
              const ChainCaches& caches, Tenants& tenants, ChunkRegistry& registry,
              PageLoader& loader, ChainRestores& restores, Callbacks callbacks);

  // Has the conversation of `job` tokenized: as a prompt if `reprefill` has a draft, otherwise as
  // history. take_tokenized() gives `reprefill` back.
  void tokenize(wire::EncodeJob&& job, Reprefill&& reprefill);
  // Has the beginning of every conversation with the system prompt `chunk` tokenized. False if too
  // many chains wait.
  bool tokenize_prefix(const Chunk& chunk);
  // nullopt: the job is not from here, or is from before the actor's restart.
  std::optional<Reprefill> take_tokenized(uint64_t job) { return tokenizing_.take(job); }
  const Tokenizing& tokenizing() const { return tokenizing_.all(); }
  // Whether no further text should be tokenized for now.
  bool tokenizes_many() const { return tokenizing_.size() >= reprefills_max(); }

  void push(Reprefill&& reprefill) { queue_.push_back(std::move(reprefill)); }
  const std::deque<Reprefill>& queue() const { return queue_; }
  bool is_full() const { return queue_.size() >= reprefills_max(); }
  bool has(const StoredName& chunk) const;
  // Whether the chunk's text that ends with this page is queued.
  bool has_text(const StoredName& chunk, const Digest& end) const;
  // Takes the chunk's chains out of the queue and returns them, except one that is being computed
  // or loaded.
  std::vector<Reprefill> drop(const StoredName& chunk);
  // Whether the prefill actor or the store works on the first chain. drop() leaves it in the queue
  // then.
  bool is_computed() const { return computing_ || loading_; }
  bool is_loading() const { return loading_; }

  // Brings the first chain to where a slice of it can be computed, or moved (Reprefill::removal).
  // Chains to be moved come first. Chains before it that need no computing, are not worth it, or
  // have no room, leave the queue; so do those whose K and V are to be moved from pages that are
  // gone. False if no chain is left, or the first one is being loaded.
  bool start();
  // Does the same for chains to be moved alone, also while requests run, as long as moving one
  // takes at most available() pages. No other chain begins or ends, but the first one may be
  // paused.
  bool start_removal(const std::function<int64_t()>& available);
  // Precondition: the queue is not empty.
  const Reprefill& first() const { return queue_.front(); }
  // Returns the job for the next slice of the first chain, up to token `end`, with a new job
  // number. Precondition: start().
  wire::PrefillJob slice(int64_t end);
  // The slice has ended; `token` follows it, if the job had a sample. Precondition: slice().
  void ended(std::span<const int32_t> tokens, SliceEnd how, int32_t token = -1);
  // PageLoader has read pages of the first chain. Arguments and result are those of
  // PageLoader::Loaded.
  bool loaded(std::span<const int32_t> tokens, bool more);
  // The restore of the first chain, whose handle is 0, has ended.
  void restored();
  // Whether the first chain's chunk was deleted: then there is nothing to compute any more.
  // Precondition: the queue is not empty.
  bool is_gone() const;
  // Gives back the pages of the first chain, which starts again later. False if it has none, or is
  // being computed or loaded.
  bool pause();

  // Whether K and V of any of the chains will be on disk.
  bool any_to_write() const;
  // The mode of chains that begin with a pinned system prompt.
  const AttentionMode& attention() const { return options_.attention; }
  // The mode in which a stored chain of the chunk, computed in the mode `stored`, is to come back:
  // that of the daemon, if it is a pinned system prompt.
  const AttentionMode& mode_of(const Chunk& chunk, const AttentionMode& stored) const {
    return chunk.type == ChunkType::kSystemPrompt ? options_.attention : stored;
  }
  // The number of pages that the first chain keeps from eviction because its window sees them.
  int64_t pages_in_window() const;
  int64_t tokens_computed() const { return tokens_computed_; }
  int64_t tokens_moved() const { return tokens_moved_; }

 private:
  size_t reprefills_max() const { return static_cast<size_t>(options_.reprefills_max); }
  TenantId owner_of(const Reprefill& reprefill) const;
  int64_t pages_needed(const Reprefill& reprefill) const;
  void put_in_order();
  bool prepare_first();
  TenantId sampled_owner(const Reprefill& chain) const;
  bool start_sequence(Reprefill& first);
  void leave_chain(Reprefill& first);
  bool is_worth_computing(const Reprefill& first) const;
  bool restore(Reprefill& first);
  void end(bool complete);

  const IdleOptions options_;
  const Clock& clock_;
  Jobs& jobs_;
  Outbox& outbox_;
  const ChainCaches caches_;
  Tenants& tenants_;
  ChunkRegistry& registry_;
  PageLoader& loader_;
  ChainRestores& restores_;
  const Callbacks callbacks_;
  PendingJobs<Reprefill> tokenizing_;
  std::deque<Reprefill> queue_;
  bool computing_ = false;
  bool loading_ = false;
  // The latest slice of the first chain.
  struct Slice {
    uint64_t job = 0;
    int64_t end = 0;
    bool yielded = false;
  };
  Slice slice_;
  int yields_ = 0;  // slices in a row
  int64_t tokens_computed_ = 0;
  int64_t tokens_moved_ = 0;
};

}  // namespace cascade
