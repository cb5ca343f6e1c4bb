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
// and what no output stands for as texts. Only requests that retrieve have these; of all others it
// is only noted which output leads to what is left out.
void note_left_out(const ConversationCuts& cuts, const LeftOut& cut, Request& request);

// Returns the outputs of the conversation that are not in the request's prompt any more, oldest
// first. They are those that note_left_out() and the session named, and those that
// GenerationRecord::left_out_from leads to: if an output on this way was deleted, the way ends
// there. At most some 4,096.
std::vector<std::string> outputs_left_out(const Request& request, ChunkRegistry& registry);

// Returns the texts of at most `count_max` of the outputs `ids` that are found, in the order of
// `ids`: those of `first`, and then the newest others, until there are about `bytes_max` bytes. Of
// a text that is longer than a quarter of that, it is the end.
std::vector<EarlierTurn> texts_of(const std::vector<std::string>& ids,
                                  std::span<const std::string> first, size_t count_max,
                                  size_t bytes_max, const std::string& tenant,
                                  ChunkRegistry& registry);
// Returns the newest of these turns: at most `bytes_max` bytes, of the oldest of them the end.
std::vector<EarlierTurn> newest_of(std::vector<EarlierTurn>&& turns, size_t bytes_max);

// Takes the prompt with what was brought back. `request.prompt` is the prompt without it, by which
// the place of the text is found. Does nothing if nothing was brought back.
void take_retrieved(wire::EncodeDone& done, Request& request);
// Adds what was brought back to `request.texts`: its outputs, and the contexts that their questions
// may have the texts of.
void add_retrieved(ChunkRegistry& registry, Request& request);

}  // namespace cascade
