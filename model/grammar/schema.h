// JSON schemas as grammars.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "model/grammar/json_pieces.h"

namespace cascade {

// How many schemas within a schema are looked at, counting each combination of those that hold
// together.
inline constexpr size_t kSchemasMax = 5000;
// The work that compiling one grammar may take, in units of some ten nanoseconds.
inline constexpr size_t kGrammarWorkMax = 20'000'000;

// Adds a part of the documents that `schema` (of JSON Schema, drafts 4 to 2020-12) describes. It
// holds for all of this part; docs/constrained_output.md says which part it is. `work` is the work
// that may be done, from which the work done is subtracted. `schema` must outlive the call. Errors:
// kInvalidArgument, field `field`; the message has the JSON pointer of the schema within, and what
// it has that is malformed, not supported or over a limit.
Result<GrammarNodeId> add_schema(GrammarBuilder& builder, JsonPieces& pieces,
                                 const OrderedJson& schema, std::string_view field, size_t& work);

}  // namespace cascade
