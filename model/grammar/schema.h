// JSON schemas as grammars.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "model/grammar/json_pieces.h"

namespace cascade {

// How many schemas within a schema are looked at. Each combination of schemas that hold together
// counts as one.
inline constexpr size_t kSchemasMax = 5000;
// The work that compiling one grammar may take, in units of some ten nanoseconds.
inline constexpr size_t kGrammarWorkMax = 20'000'000;

// Adds some of the documents that `schema` (of JSON Schema, drafts 4 to 2020-12) describes. The
// schema holds for all of them; docs/constrained_output.md says which documents they are. `work` is
// the amount of work allowed, and the work done is subtracted from it. `schema` must outlive the
// call. Errors: kInvalidArgument, field `field`; the message has the JSON pointer of the schema
// within, and what it has that is malformed, not supported or over a limit.
Result<GrammarNodeId> add_schema(GrammarBuilder& builder, JsonPieces& pieces,
                                 const OrderedJson& schema, std::string_view field, size_t& work);

}  // namespace cascade
