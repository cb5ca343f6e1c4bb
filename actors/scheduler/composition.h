// Turns the chunks that a request names into the conversation that they stand for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/chunk.h"
#include "base/on_overflow.h"
#include "base/result.h"
#include "cache/chunk_registry.h"
#include "wire/messages.h"

namespace cascade {

struct Composition {
  std::vector<ChatMessage> messages;
  std::vector<std::string> chunk_ids;  // of the registered chunks that were named
  // Chunks given by text that are worth an id: system prompts and contexts.
  std::vector<Chunk> new_chunks;
  // The ids of all these chunks, in the order of the request; "" stands for the next one of
  // new_chunks.
  std::vector<std::string> parent_ids;
  std::vector<wire::MissingChunk> missing;  // chunks that were to be in it but are gone
  // The places of the outputs' answers in `messages`, by the outputs' ids.
  std::vector<std::pair<std::string, size_t>> answers;
};

// The conversation before the chunks of a request.
struct Earlier {
  std::vector<wire::ChunkRef> chunks;  // named by id; if there is a system prompt, it is first
  std::string_view field;              // the field that names the conversation, for errors
  std::vector<wire::MissingChunk> missing = {};
  LeftOut left_out = {};            // what the conversation had before all these
  std::vector<int64_t> turns = {};  // of a session: the number of each turn in `chunks`
  std::vector<std::string> outputs_left_out = {};  // of a session: those of `left_out`
  std::string left_out_from = {};                  // as in GenerationRecord
  std::optional<Summarised> summarised = {};       // the same
};

// Returns the conversation that ends with an output: the chunks that the output's request named,
// and the output's own turn. The result has the field "previous_output". Errors, with that field:
// kInvalidArgument (the chunk is not an output, or it was made of kParentIdsMax chunks or more,
// which are not all known); kNotFound (the output, or a chunk that its turns are made of, has been
// deleted or has expired, and `on_missing` does not say to skip it).
Result<Earlier> conversation_of(const std::string& output, std::string_view tenant,
                                ChunkRegistry& registry, OnMissing on_missing);

// Returns the conversation of `refs`, which are in the order of cascade levels: a system prompt (at
// most one, first), contexts and outputs in the order given, a query (at most one, last).
//  - A context belongs to the user message that follows it: its text comes first, then a blank
//    line, then the message. A context is left out if the message of the next output was already
//    made of it, that is, if that output names it after the last output among its chunks. Two
//    contexts are the same if their ids, or their whole texts, are equal.
//  - An output stands for its turn: the user message that it answers, and the answer. It may also
//    be named as a context.
//  - Contexts that no query follows become a user message of their own.
// Errors: kInvalidArgument with field "chunks[i].…" (order, type, both or neither of id and text),
// or "chunks" (no user message at the end; more than `text_bytes_max` bytes of text, counted with
// the contexts that are left out as repeated); kNotFound as ChunkRegistry::find.
//
// A chunk that is named by an id and is gone is kNotFound, or is left out and named in `missing`.
// With `to_answer` false, for a prompt that others will begin with, the conversation may end with
// any message. The chunks of `earlier` come before all of `refs` except a system prompt, which
// replaces theirs.
Result<Composition> compose(const std::vector<wire::ChunkRef>& refs, std::string_view tenant,
                            ChunkRegistry& registry, int64_t text_bytes_max, bool to_answer = true,
                            const Earlier& earlier = {}, OnMissing on_missing = OnMissing::kError);

}  // namespace cascade
