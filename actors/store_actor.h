// The store actor: it keeps what outlives the process, and speaks in messages.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "actors/store_states.h"
#include "actors/store_upkeep.h"
#include "base/clock.h"
#include "cache/kv_view.h"
#include "cache/page_arena.h"
#include "persist/chunk_store.h"
#include "persist/store.h"
#include "wire/messages.h"

namespace cascade {

// One thread: that of the store.
class StoreActor {
 public:
  using Send = std::function<void(wire::Message)>;

  // Keeps only chunks: K and V are not kept, and texts cannot be searched.
  StoreActor(ChunkStore& chunks, const Clock& clock) : chunks_(chunks), clock_(clock) {}
  // `arena` has the pages that messages name, in this layout. `states` are those of `store`;
  // nullptr: the model has none. All arguments must outlive the actor.
  StoreActor(Store& store, const PageArena& arena, const KvLayout& layout, const Clock& clock,
             StoreStates* states = nullptr)
      : chunks_(store),
        durable_(&store),
        arena_(&arena),
        layout_(layout),
        parts_(parts_of_layers(layout.part_sizes())),
        states_(states),
        clock_(clock),
        upkeep_(std::in_place, store, states == nullptr ? nullptr : &states->store()) {}

  // Works on the messages, in their order, and answers them. Reads are answered at once. Changes
  // share one commit, and are answered after it. Messages that are not for the store are dropped.
  void handle(const std::vector<wire::Message>& batch, const Send& send);

  // Does a part of the work that can wait: a check or a backup, or else compaction and clearing
  // what was deleted. This takes milliseconds (the first part of a check takes as long as reading
  // the database), or nothing if there is nothing to do. Errors of tidying are logged, and dealt
  // with by the next commit.
  void tidy(const Send& send);
  // Whether tidy() should be called again at once: a check or a backup is under way, or somebody
  // waits until what was deleted is erased.
  bool busy() const { return forgetting() || checking(); }
  bool forgetting() const { return !forgetting_.empty(); }

 private:
  // An answer that waits for the commit.
  struct Waiting {
    wire::Message answer;
    std::vector<Digest> written = {};  // the keys of written pages, or that of a written state
    bool erases_pages = false;         // the answer says that pages' bytes are erased
    bool erases_text = false;          // the answer says that no byte of a text remains
  };

  void work(const wire::StorePut& put, const Send& send);
  void work(const wire::StoreTouch& touch, const Send& send);
  void work(const wire::StoreDelete& remove, const Send& send);
  void work(const wire::StoreSession& put, const Send& send);
  void work(const wire::StoreSessionDelete& remove, const Send& send);
  void work(const wire::StorePolicy& put, const Send& send);
  void work(const wire::StoreLoad& load, const Send& send);
  void work(const wire::StorePages& store, const Send& send);
  void work(const wire::LoadPages& load, const Send& send);
  void work(const wire::PrefetchPages& prefetch, const Send& send);
  void work(const wire::StoreState& store, const Send& send);
  void work(const wire::LoadState& load, const Send& send);
  void work(const wire::LeasePages& lease, const Send& send);
  void work(const wire::ReleaseLeases& release, const Send& send);
  void work(const wire::StoreUses& stored, const Send& send);
  void work(const wire::StoreChain& chain, const Send& send);
  void work(const wire::RemovePages& remove, const Send& send);
  void work(const wire::ReadChain& read, const Send& send);
  void work(const wire::StoreSearch& search, const Send& send);
  void work(const wire::StoreRank& rank, const Send& send);
  void work(const wire::StoreCheck& check, const Send& send);
  void work(const wire::StoreBackup& backup, const Send& send);
  bool checking() const { return upkeep_ && upkeep_->busy(); }
  static Waiting acknowledgement(uint64_t job, const Status& status);
  void acknowledge(uint64_t job, const Status& status);
  void answer(Waiting&& waiting, const Send& send);
  void forget_more(const Send& send);
  Result<bool> forget_step();
  Result<bool> compact();
  Status append(const wire::StorePages& store, std::vector<Digest>& written,
                std::vector<std::string>& removed, const Send& send);
  Result<bool> make_room(uint64_t bytes, const Digest& kept, std::vector<std::string>& removed,
                         const Send& send);
  Status note(const wire::PageUses& uses, const std::vector<wire::PageOwner>& owners);
  Status commit(const Send& send);
  void tell_forgotten(const Send& send);

  ChunkStore& chunks_;
  Store* durable_ = nullptr;
  const PageArena* arena_ = nullptr;
  const KvLayout layout_{};
  const std::vector<uint32_t> parts_;  // the sizes of a page's parts on disk
  StoreStates* const states_ = nullptr;
  const Clock& clock_;
  std::vector<Waiting> waiting_;
  std::vector<wire::Message> forgetting_;  // sent when forget_step() is finished
  std::optional<StoreUpkeep> upkeep_;      // only if the store is durable
  bool tidy_ = false;                      // unchanged since tidy() found nothing to do
};

}  // namespace cascade
