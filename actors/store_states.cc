// Messages about states, as calls of ChainStates.
#include "actors/store_states.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "actors/message_digest.h"
#include "persist/kv_format.h"

namespace cascade {
namespace {

// The most states in one message.
constexpr size_t kStatesAtOnceMax = 10'000;

}  // namespace

wire::StateStored StoreStates::put(const wire::StoreState& store, const Digest& key) {
  wire::StateStored answer;
  answer.job = store.job;
  const auto stored = states_.put({.tenant = store.tenant,
                                   .model = message_digest(store.model),
                                   .key = key,
                                   .parent = message_digest(store.parent),
                                   .position = store.position,
                                   .token_ids = store.token_ids,
                                   .attention = store.attention,
                                   .bytes = {slots_->data(store.slot), slots_->page_bytes()}},
                                  clock_.wall_us());
  if (stored.ok()) {
    answer.stored = *stored;
  } else {
    answer.error = stored.error();
  }
  return answer;
}

wire::StateLoaded StoreStates::load(const wire::LoadState& load) {
  wire::StateLoaded answer;
  answer.job = load.job;
  const int64_t start_us = clock_.monotonic_us();
  const Digest key = message_digest(load.key);
  const std::span<uint8_t> slot(slots_->data(load.slot), slots_->page_bytes());
  const Status loaded = states_.read(key, load.token_ids, slot, clock_.wall_us());
  if (!loaded.ok()) answer.error = loaded.error();
  if (loaded.ok() && load.page) {
    auto tokens = states_.read_cover(
        key, layout_.page_bytes(), parts_of_layers(layout_.part_sizes()), pages_.data(*load.page));
    if (tokens.ok()) {
      answer.page_token_ids = *std::move(tokens);
    } else {
      answer.error = tokens.error();
    }
  }
  answer.load_us = clock_.monotonic_us() - start_us;
  return answer;
}

// An error is not a reason to stop: states that are not known are computed again.
void StoreStates::send_stored(uint64_t job, const Digest& model, const Send& send) {
  const auto states = states_.of_model(model);
  if (!states.ok()) {
    return spdlog::warn("stored states are not known: {}", states.error().to_string());
  }
  wire::StoredPages message = {job, {}, {}, {}, true};
  for (const StoredPage& state : *states) {
    const KvPageHeader& header = state.header;
    message.states.push_back(
        {header.key.hex(), header.parent.hex(), static_cast<int32_t>(header.token_ids.size())});
    if (message.states.size() < kStatesAtOnceMax) continue;
    send(std::exchange(message, {job, {}, {}, {}, true}));
  }
  if (!message.states.empty()) send(std::move(message));
}

bool StoreStates::contains(const Digest& key) {
  const auto stored = states_.contains(key);
  return stored.ok() && *stored;
}

void StoreStates::tell_removed(const Send& send) {
  (void)states_.store().kv().take_forgotten();  // they are among the removed ones
  const auto removed = states_.take_removed();
  if (!removed.ok()) {
    return spdlog::warn("removed states are not known: {}", removed.error().to_string());
  }
  wire::StatesForgotten forgotten;
  for (const Digest& key : *removed) {
    forgotten.keys.push_back(key.hex());
    if (forgotten.keys.size() == kStatesAtOnceMax) send(std::exchange(forgotten, {}));
  }
  if (!forgotten.keys.empty()) send(std::move(forgotten));
}

Result<bool> StoreStates::compact(uint64_t bytes_max) {
  ASSIGN_OR_RETURN(const bool more, states_.store().kv().compact(bytes_max));
  RETURN_IF_ERROR(states_.store().commit());
  return more;
}

}  // namespace cascade
