// From messages to the store's interface.
#include "actors/store_actor.h"

#include <variant>

namespace cascade {
namespace {

wire::StoreAck acknowledge(uint64_t job, const Status& status) {
  return {job, status.ok() ? std::nullopt : std::optional(status.error())};
}

}  // namespace

std::optional<wire::Message> handle_store(ChunkStore& store, const wire::Message& message) {
  if (const auto* put = std::get_if<wire::StorePut>(&message)) {
    return acknowledge(put->job, store.put(put->chunk));
  }
  if (const auto* remove = std::get_if<wire::StoreDelete>(&message)) {
    return acknowledge(remove->job, store.remove(remove->tenant, remove->id));
  }
  if (const auto* load = std::get_if<wire::StoreLoad>(&message)) {
    auto chunks = store.load();
    // A store that cannot be read is a reason to stop, not to go on with nothing.
    if (!chunks.ok()) return wire::StoreAck{load->job, chunks.error()};
    return wire::StoreChunks{load->job, *std::move(chunks)};
  }
  return std::nullopt;
}

}  // namespace cascade
