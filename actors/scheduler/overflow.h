// Leaves the oldest turns of a request out of its prompt.
#pragma once

#include <cstdint>
#include <deque>
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
// Notes which of `request.summaries` the tokenizer has put into the prompt: the one with this cut.
void take_summarised(const std::optional<LeftOut>& cut, Request& request);
// Returns the chunks whose texts the prompt of the request has: what it was composed from, and
// summaries.
std::vector<std::string> texts_of(const Request& request);

// Return the chain that a prompt of the request begins with, if it is known: that of its system
// prompt, and that of the latest output before it, which holds if nothing is left out. Empty if it
// is not known. Valid until the registry changes.
std::span<const int32_t> system_chain(const Request& request, ChunkRegistry& registry);
std::span<const int32_t> history_chain(const Request& request, ChunkRegistry& registry);

// Returns what to leave out of the request's conversation so that it begins with turn `begin` of
// its session; nothing if no turn is left out then, or there is no such place.
LeftOut cut_before(const Request& request, int64_t begin);

// Whether summaries may stand in for turns of a request, but not for just those of `cut`.
bool loses_summary(std::span<const SummaryChoice> choices, const LeftOut& cut);

// Whether most of the shorter history of the request's session is in memory, as far as `queue`,
// that of the idle prefill, says: nothing waits for it, or half of it is computed.
bool is_mostly_computed(const Request& request, const std::deque<Reprefill>& queue);

// A history to be tokenized, and what becomes of it.
struct Ahead {
  wire::EncodeJob job;
  Reprefill chain;
};
// Returns the history of the session without its oldest turns, as it will be once there is no room
// for the next turn. `whole` is the job for the history of the request's answer, which was computed
// as `sampled`. `planned` is where the session is to begin, if that is decided already. `choices`
// are the summaries that may stand in for messages of `whole`. nullopt if there will be room, by
// the length of this turn, or if the memory, of `memory_tokens`, has no room for both histories.
std::optional<Ahead> shorten_ahead(const Request& request, const wire::EncodeJob& whole,
                                   const Reprefill& sampled, std::optional<int64_t> planned,
                                   int64_t memory_tokens,
                                   std::span<const SummaryChoice> choices = {});

}  // namespace cascade
