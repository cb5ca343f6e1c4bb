// Puts the grammar of a whole answer together: its text, or calls of tools, as the model writes
// them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/grammar/answer_form.h"
#include "model/grammar/grammar.h"

namespace cascade {

// A function that the answer may call, and the grammar of its arguments.
struct CallGrammar {
  std::string function;
  GrammarNodeId arguments = 0;
  AnswerForm form = AnswerForm::kTagged;  // of this call: that of the model, or kTagged
};

// Calls of these functions, at most `max` of them (at least 1; GrammarNode::kUnbounded: any
// number), one after another. A model that writes harmony ends its generation after one call.
GrammarNodeId add_calls(GrammarBuilder& builder, AnswerForm form,
                        const std::vector<CallGrammar>& calls, uint32_t max);

// A generation that is one of `texts` or `calls`, which add_calls() made. For harmony: thoughts in
// any number of messages, then the header that belongs to the text or call. The other form has its
// thoughts outside the grammar.
GrammarNodeId add_answer(GrammarBuilder& builder, AnswerForm form, std::vector<GrammarNodeId> texts,
                         std::vector<GrammarNodeId> calls);

}  // namespace cascade
