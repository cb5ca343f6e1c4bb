// For tests: checks which texts a grammar accepts.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "model/grammar/compile.h"
#include "model/grammar/matcher.h"

namespace cascade::testing {

// A compiled grammar with a matcher's automaton; the test fails if the schema is refused.
class Accepting {
 public:
  Accepting(GrammarKind kind, std::string_view text, AnswerForm form = AnswerForm::kTagged) {
    auto grammar = compile_grammar(kind, text, "schema", form);
    EXPECT_TRUE(grammar.ok()) << text << "\n" << (grammar.ok() ? "" : grammar.error().to_string());
    if (!grammar.ok()) grammar = compile_grammar(GrammarKind::kJsonObject, "", "schema");
    automaton_ = std::make_unique<GrammarAutomaton>(std::make_shared<Grammar>(*std::move(grammar)));
  }
  explicit Accepting(std::string_view schema) : Accepting(GrammarKind::kJsonSchema, schema) {}

  GrammarAutomaton& automaton() { return *automaton_; }
  // Whether the grammar accepts all of `text` as a whole.
  bool takes(std::string_view text) {
    Matcher matcher(*automaton_);
    return matcher.accept(text) && matcher.is_complete();
  }
  // Whether the grammar accepts `text` as a beginning.
  bool begins(std::string_view text) { return Matcher(*automaton_).accept(text); }

 private:
  std::unique_ptr<GrammarAutomaton> automaton_;
};

// The message with which a schema is refused; empty if it is accepted.
inline std::string refusal(std::string_view text, GrammarKind kind = GrammarKind::kJsonSchema) {
  const auto grammar = compile_grammar(kind, text, "schema");
  if (grammar.ok()) return "";
  EXPECT_EQ(grammar.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(grammar.error().field, "schema");
  return grammar.error().message;
}

}  // namespace cascade::testing
