// The store: chunk metadata behind messages.
#pragma once

#include <optional>

#include "persist/chunk_store.h"
#include "wire/messages.h"

namespace cascade {

// Answers StorePut, StoreDelete and StoreLoad; nullopt for anything else. One thread.
std::optional<wire::Message> handle_store(ChunkStore& store, const wire::Message& message);

}  // namespace cascade
