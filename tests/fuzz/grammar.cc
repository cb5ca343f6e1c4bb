// Schemas and parts as grammars, and answers that must follow them.
#include <memory>

#include "model/grammar/compile.h"
#include "model/grammar/output_constraint.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/small_tokenizer.h"

namespace cascade::fuzz {
namespace {

// Answers of this length reach every part of a schema that a fuzzer makes.
constexpr size_t kAnswerTokensMax = 64;

const GrammarVocabulary& vocabulary() {
  static const auto made = GrammarVocabulary::make(
      small_tokenizer(), {kSmallEnd}, static_cast<size_t>(small_tokenizer().id_count()));
  CHECK(made.ok());
  return *made;
}

std::vector<int32_t> ids_of(const TokenSet& set) {
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < static_cast<int32_t>(vocabulary().tokens); ++id) {
    if (set.has(id)) ids.push_back(id);
  }
  return ids;
}

// Takes allowed tokens, chosen by `choices`. Returns the answer if the tokens ended it.
std::optional<std::string> answer(const std::shared_ptr<SharedGrammar>& grammar,
                                  std::string_view choices) {
  auto constraint = OutputConstraint::behind(grammar, vocabulary(), Thoughts::kNone, {});
  CHECK(constraint.ok());
  std::vector<int32_t> taken;
  std::string text;
  while (taken.size() < kAnswerTokensMax) {
    const auto allowed = constraint->allowed();
    if (!is_ok(allowed)) return std::nullopt;
    const std::vector<int32_t> ids = ids_of(**allowed);
    CHECK(!ids.empty());
    // When no choices are left, takes the first token: closing brackets and quotes come before most
    // letters.
    const size_t choice =
        taken.size() < choices.size() ? static_cast<uint8_t>(choices[taken.size()]) : 0;
    const int32_t token = ids[choice % ids.size()];
    if (token == kSmallEnd) return text;
    CHECK(constraint->take(token).ok());
    taken.push_back(token);
    text += vocabulary().bytes[static_cast<size_t>(token)];
  }
  // Tokens that were taken one by one can be taken again from the beginning, as after a restart.
  CHECK(OutputConstraint::behind(grammar, vocabulary(), Thoughts::kNone, taken).ok());
  return std::nullopt;
}

bool hold_to(GrammarKind kind, std::string_view text, std::string_view choices) {
  auto compiled = compile_grammar(kind, text, "grammar.schema");
  if (!is_ok(compiled)) {
    CHECK(compiled.error().code == ErrorCode::kInvalidArgument);
    CHECK(compiled.error().field == "grammar.schema");
    return false;
  }
  const auto grammar = std::make_shared<SharedGrammar>(*std::move(compiled), vocabulary());
  const auto said = answer(grammar, choices);
  if (said) CHECK(is_utf8(*said));
  if (said && kind == GrammarKind::kJsonSchema) CHECK(Json::accept(*said));
  return true;
}

}  // namespace

bool read_grammar(Bytes input) {
  constexpr std::string_view kParts = "parts ";
  auto [text, choices] = split_at_nul(text_of(input), "");
  if (!text.starts_with(kParts)) return hold_to(GrammarKind::kJsonSchema, text, choices);
  text.remove_prefix(kParts.size());
  return hold_to(GrammarKind::kParts, text, choices);
}

}  // namespace cascade::fuzz
