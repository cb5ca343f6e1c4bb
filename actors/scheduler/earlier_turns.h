// The turns that a request's prompt lacks: which they are, and what came back of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "actors/scheduler/request.h"
#include "base/on_overflow.h"
#include "cache/chunk_registry.h"
#include "model/conversation_cut.h"

namespace cascade {

// All functions: the scheduler's thread.

// Notes in `request.earlier` what is about to be left out of its messages: outputs by their ids,
// and turns without an output as texts. Does nothing unless the request retrieves.
void note_left_out(const ConversationCuts& cuts, const LeftOut& cut, Request& request);

// Returns the outputs of the conversation that are not in the request's prompt any more, oldest
// first: those that note_left_out() and the session named, and all that these and the prompt's
// outputs were made of. An output that was deleted is left out, and all that only it names.
std::vector<std::string> outputs_left_out(const Request& request, ChunkRegistry& registry);

// Returns the texts of the chunks among `ids` that are found, in the order of `ids`: `first`, as
// long as their texts have `bytes_max` bytes together, then the newest others.
std::vector<EarlierTurn> texts_of(const std::vector<std::string>& ids,
                                  std::span<const std::string> first, size_t count_max,
                                  size_t bytes_max, const std::string& tenant,
                                  ChunkRegistry& registry);

// Returns the newest of these turns: as many as have at most `bytes_max` bytes together.
std::span<const EarlierTurn> newest_of(std::span<const EarlierTurn> turns, size_t bytes_max);

// Takes the prompt with what was brought back. `request.prompt` is the prompt without it, by which
// the place of the text is found. Does nothing if nothing was brought back.
void take_retrieved(wire::EncodeDone& done, Request& request);
// Adds what was brought back to `request.texts`.
void add_retrieved(ChunkRegistry& registry, Request& request);

}  // namespace cascade
