// From the chunks that a request names to the conversation that they stand for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/chunk.h"
#include "base/result.h"
#include "cache/chunk_registry.h"
#include "wire/messages.h"

namespace cascade {

struct Composition {
  std::vector<ChatMessage> messages;
  std::vector<std::string> chunk_ids;  // of the registered chunks that were named
  // Chunks given by text that are worth an id: system prompts and contexts.
  std::vector<Chunk> new_chunks;
  // Of all these in the order of the request; "" stands for the next of new_chunks.
  std::vector<std::string> parent_ids;
  std::vector<wire::MissingChunk> missing;  // that were to be in it and are gone
  // Where the outputs' answers are: places in `messages`, by id.
  std::vector<std::pair<std::string, size_t>> answers;
};

// What stands before the chunks of a request.
struct Earlier {
  std::vector<wire::ChunkRef> chunks;  // by ids; a system prompt first, if there is one
  std::string_view field;              // that names it, for errors
  std::vector<wire::MissingChunk> missing = {};
};

// The conversation that an output ended: what its request named, and its own turn. For Earlier, of
// the field "previous_output". Errors, with that field: kInvalidArgument (no output; one that was
// made of kParentIdsMax chunks or more, which are not all known); kNotFound (it, or, unless those
// are to be skipped, what its turns are made of has been deleted or has expired).
Result<Earlier> conversation_of(const std::string& output, std::string_view tenant,
                                ChunkRegistry& registry, OnMissing on_missing);

// The conversation of `refs`, in the order of cascade levels: a system prompt (at most one, first),
// contexts and outputs in the order given, a query (at most one, last).
//  - A context belongs to the user message that follows it, before it and a blank line. A context
//    that the following output's own message was made of, which names it as the last before its
//    query, is not repeated. It is compared by its id, or by its whole text, and by nothing less.
//  - An output stands for its turn: the user message that it answers, and the answer. It may be
//    named as context too.
//  - Contexts that no query follows are a user message themselves.
// Errors: kInvalidArgument with field "chunks[i].…" (order, type, both or neither of id and text),
// or "chunks" (no user message at the end; more than `text_bytes_max` bytes of text before what is
// repeated has been left out); kNotFound as ChunkRegistry::find.
// A chunk that is named by an id and is gone is kNotFound, or left out and in `missing`.
// With `to_answer` false, for a prompt that others will begin with, it may end with any message.
// What is `earlier` stands before all but a system prompt of `refs`, which replaces its own.
Result<Composition> compose(const std::vector<wire::ChunkRef>& refs, std::string_view tenant,
                            ChunkRegistry& registry, int64_t text_bytes_max, bool to_answer = true,
                            const Earlier& earlier = {}, OnMissing on_missing = OnMissing::kError);

}  // namespace cascade
