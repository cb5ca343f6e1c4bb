// The recurrent states of the store actor: it writes them from slots of memory, and reads them
// back.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "cache/kv_view.h"
#include "cache/page_arena.h"
#include "persist/chain_states.h"
#include "wire/messages.h"

namespace cascade {

// One thread: that of the store.
class StoreStates {
 public:
  using Send = std::function<void(wire::Message)>;

  // `slots` has the slots that messages name, and `pages` their pages, in this layout. Without
  // `slots` the model has no states: put() and load() must not be called, but states of another
  // model are removed all the same. All arguments must outlive this.
  StoreStates(ChainStates& states, const PageArena* slots, const PageArena& pages,
              const KvLayout& layout, const Clock& clock)
      : states_(states), slots_(slots), pages_(pages), layout_(layout), clock_(clock) {}

  // Stores the state, whose name is `key`. The answer holds after the next commit(), unless
  // contains() says then that the state is gone.
  wire::StateStored put(const wire::StoreState& store, const Digest& key);
  wire::StateLoaded load(const wire::LoadState& load);
  // Sends the names of all states of the model, in messages that others follow.
  void send_stored(uint64_t job, const Digest& model, const Send& send);

  // As ChainStates::commit().
  Status commit() { return states_.commit(); }
  bool contains(const Digest& key);
  // Tells which states were removed since the last call.
  void tell_removed(const Send& send);
  // The states that were put before the last commit() and did not reach the disk.
  std::vector<Digest> take_unwritten() { return states_.store().kv().take_unwritten(); }
  // Whether the bytes of the states that the last commit removed are erased.
  bool is_clean() const { return states_.store().kv().is_clean(); }
  // Clears remains of deleted tokens, and commits, as Store::forget_step().
  Result<bool> forget_step() { return states_.store().forget_step(); }
  // The store that states are in, to check it.
  Store& store() { return states_.store(); }
  // Moves states out of files that are more than half empty, and commits. True if there is more.
  Result<bool> compact(uint64_t bytes_max);

 private:
  ChainStates& states_;
  const PageArena* const slots_;
  const PageArena& pages_;
  const KvLayout layout_;
  const Clock& clock_;
};

}  // namespace cascade
