// The form that a request asks of its output, as a grammar.
#pragma once

#include <string>
#include <string_view>

#include "base/grammar_kind.h"
#include "model/grammar/answer_form.h"
#include "model/grammar/grammar.h"

namespace cascade {

inline constexpr int kGrammarDepthMax = 64;
// The longest name of a schema among parts, in bytes.
inline constexpr size_t kSchemaNameBytesMax = 200;
// The longest name of a function among parts, in bytes, and the largest number of functions.
inline constexpr size_t kFunctionNameBytesMax = 1024;
inline constexpr size_t kFunctionsMax = 1024;

// `text` is empty for kJsonObject, and the schema for kJsonSchema. For kParts it is JSON, one of
// these parts, which nest:
//   {"text": TEXT}               exactly this text, not empty
//   {"pattern": REGEX}           a text in which the pattern is found
//   {"json_schema": SCHEMA, "name": TEXT}  a document; errors call the schema by the name, if there
//                                is one, instead of by its place in the parts
//   {"sequence": [PART, ...]}    one after another
//   {"any_of": [PART, ...]}      one of them
//   {"repeat": PART, "min": N, "max": N, "separator": TEXT}  (0, unbounded, none)
// The whole, or one of the parts of an any_of that is the whole, may also be
//   {"tool_calls": [{"name": FUNCTION, "parameters": SCHEMA, "schema_name": TEXT}, ...], "max": N}
// which is one call or more, as a model of `form` writes them (schema_name as above). A call whose
// name or arguments that form cannot tell apart, or write, is written as in kTagged. In a call that
// is in neither kTagged nor kHarmony, parameters that say nothing about types allow objects only.
// Takes under a second for any text. Any thread.
// Errors: kInvalidArgument, field `field`; the message has the place in the text.
Result<Grammar> compile_grammar(GrammarKind kind, std::string_view text, std::string_view field,
                                AnswerForm form = AnswerForm::kTagged);

// The functions that a kParts grammar's calls may be of, as tools in OpenAI's form: the JSON text
// of an array, empty if there are none. Any text; what is malformed is left out.
std::string tools_of_parts(std::string_view text);

}  // namespace cascade
