// The arguments of calls whose values are between tags (model/calls/tagged_body.h).
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "base/tool_types.h"
#include "model/grammar/answer_form.h"
#include "model/grammar/grammar.h"
#include "model/grammar/json_pieces.h"

namespace cascade {

// Belongs to one builder.
class TaggedArguments {
 public:
  // `form` has tags. `types` reads what is written. The work done is subtracted from `work`, as in
  // add_schema().
  TaggedArguments(GrammarBuilder& builder, AnswerForm form, ToolTypes types, size_t& work);

  // The text between the function's name and the end of the call: some of the properties of
  // `parameters`, in their order, and all that are required. What is written is read as arguments
  // for which the schema holds, as long as no value exceeds the limits of JsonLimits. nullopt if a
  // call of the function is to be written in the common form: a name or a value might be read as
  // something else, the schema has more than properties, or it is wrong.
  std::optional<GrammarNodeId> add(const std::string& function, const OrderedJson& parameters);
  // Whether add() has compiled a schema.
  bool has_tried() const { return has_tried_; }

 private:
  std::optional<GrammarNodeId> value(ArgumentText read_as, const OrderedJson& schema,
                                     OrderedJson& document);
  GrammarNodeId argument(const std::string& name, GrammarNodeId value);

  GrammarBuilder& builder_;
  const AnswerForm form_;
  const ToolTypes types_;
  size_t& work_;
  JsonPieces text_, text_or_null_, json_;
  bool has_tried_ = false;
};

}  // namespace cascade
