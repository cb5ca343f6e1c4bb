// Leaves the oldest turns of a request out of its prompt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/scheduler/request.h"
#include "base/on_overflow.h"
#include "base/result.h"
#include "cache/chunk_registry.h"

namespace cascade {

// All functions: the scheduler's thread.

// Adds to `request.answers` the places of the request's parents, outputs whose answers are among
// its messages: the first message of the assistant, after that of the previous parent, with the
// same text. A parent that is not found, such as an answer that calls tools, has no place.
void find_answers(const std::vector<std::string>& parents, ChunkRegistry& registry,
                  Request& request);

// Returns what has to be left out so that the texts of the conversation have at most `bytes_max`
// bytes, so that what can never fit is not tokenized at each turn. What stays may still have more.
LeftOut cut_by_bytes(const Request& request, int64_t bytes_max);
// Returns the bytes of the texts that stay.
int64_t bytes_after(const Request& request, const LeftOut& cut);

// Leaves out these turns: changes messages, answers, parents and `left_out` of the request. A chunk
// whose turn is left out is no parent of the answer, which is not made of it.
void leave_out(const LeftOut& cut, ChunkRegistry& registry, Request& request);
// Does the same with what the tokenizer found to be too much (wire::EncodeDone). The message that
// the answer goes on with counts as a step.
void take_left_out(const LeftOut& cut, ChunkRegistry& registry, Request& request);

// Returns the longest chain that the conversation is known to begin with: that of its latest
// output, or of its system prompt; empty if neither is known. Valid until the registry changes.
std::span<const int32_t> known_chain(const Request& request, ChunkRegistry& registry);

// What a session leaves out of the history that ends with the request's answer, before there is no
// room for the next turn; nullopt if there will be room, by the length of this turn. The history
// has `history_tokens`. The caller finds out what is left out.
std::optional<SessionStart> start_ahead(const Request& request, int64_t history_tokens);

}  // namespace cascade
