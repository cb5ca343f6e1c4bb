// Makes the vocabulary; tokens that are not text are left out.
#include "model/grammar/vocabulary.h"

#include <algorithm>
#include <array>
#include <utility>

#include "model/calls/call_marks.h"
#include "model/harmony.h"
#include "model/mark_bytes.h"

namespace cascade {
namespace {

// Whether each byte of UTF-8, without control characters but with the line end, is a token. Then
// every text can be spelled, and a token may come wherever a byte may.
bool spells_every_text(const std::vector<std::string>& tokens) {
  std::array<bool, 256> spelled{};
  for (const std::string& token : tokens) {
    if (token.size() == 1) spelled[static_cast<uint8_t>(token[0])] = true;
  }
  for (int byte = 0; byte < 256; ++byte) {
    const bool control = (byte < 0x20 && byte != '\n') || byte == 0x7F;
    const bool never = byte == 0xC0 || byte == 0xC1 || byte > 0xF4;
    if (!control && !never && !spelled[byte]) return false;
  }
  return true;
}

// A special token that is a mark, and its bytes.
using Marks = std::vector<std::pair<int32_t, std::string>>;

Marks marks_of(const HarmonyTokens& tokens) {
  Marks marks;
  for (const auto& [mark, spelling] : kHarmonyMarks) {
    const bool ends = mark == HarmonyMark::kCall || mark == HarmonyMark::kReturn;
    if (!ends) marks.emplace_back(tokens.id(mark), mark_bytes(spelling));
  }
  return marks;
}

// The form in which calls are held by a grammar; `marks` becomes its tokens. A model that lacks one
// of the tokens gets the common form, and so does one whose marks around tags are special tokens.
AnswerForm form_of(CallForm calls, const Tokenizer& tokenizer, Marks& marks) {
  if (calls == CallForm::kLlama3) return AnswerForm::kLlama3;
  if (has_tags(calls) && call_marks(calls, tokenizer).tokens.empty()) {
    return calls == CallForm::kQwenTags ? AnswerForm::kQwenTags : AnswerForm::kGlmTags;
  }
  if (calls != CallForm::kGemma && calls != CallForm::kMistral) return AnswerForm::kTagged;
  marks = call_marks(calls, tokenizer).tokens;
  const auto has = [&](std::string_view mark) {
    return std::ranges::count(marks, mark_bytes(mark), &Marks::value_type::second) > 0;
  };
  const bool is_gemma = has("<|tool_call>") && has("<tool_call|>") && has("<|\"|>");
  if (calls == CallForm::kGemma && is_gemma) return AnswerForm::kGemma;
  if (calls == CallForm::kMistral && has("[TOOL_CALLS]") && has("[ARGS]")) {
    return AnswerForm::kMistral;
  }
  marks.clear();
  return AnswerForm::kTagged;
}

// Gives marks their bytes. Tokens of text that have the same first byte are left out; they are not
// UTF-8.
void add_marks(const Marks& marks, std::vector<std::string>& bytes) {
  if (marks.empty()) return;
  for (std::string& token : bytes) {
    if (token.find(kMarkByte) != token.npos) token.clear();
  }
  for (const auto& [id, mark] : marks) {
    if (id >= 0 && static_cast<size_t>(id) < bytes.size()) bytes[static_cast<size_t>(id)] = mark;
  }
}

}  // namespace

Result<GrammarVocabulary> GrammarVocabulary::make(const Tokenizer& tokenizer,
                                                  const std::vector<int32_t>& ends, size_t tokens,
                                                  CallForm calls) {
  std::optional<TokenBytes> known = tokenizer.token_bytes();
  if (!known)
    return unsupported("grammar",
                       "this model's tokenizer joins its tokens in a way "
                       "that grammars do not know");
  known->bytes.resize(tokens);
  const ThinkTokens think = tokenizer.think_tokens().value_or(ThinkTokens{});
  TokenSet all(tokens);
  for (size_t id = 0; id < tokens; ++id) all.add(static_cast<int32_t>(id));
  std::vector<int32_t> own_ends;
  for (const int32_t end : ends) {
    if (end < 0 || static_cast<size_t>(end) >= tokens) continue;
    own_ends.push_back(end);
    all.remove(end);
    known->bytes[static_cast<size_t>(end)].clear();
  }
  if (own_ends.empty()) {
    return unsupported("grammar", "this model has no end token, so that an output cannot end");
  }
  for (const int32_t id : {think.open, think.close}) {
    if (id >= 0 && static_cast<size_t>(id) < tokens) known->bytes[static_cast<size_t>(id)].clear();
  }
  const std::optional<HarmonyTokens> harmony = HarmonyTokens::of(tokenizer);
  Marks marks = harmony ? marks_of(*harmony) : Marks();
  const AnswerForm form = harmony ? AnswerForm::kHarmony : form_of(calls, tokenizer, marks);
  add_marks(marks, known->bytes);
  if (!spells_every_text(known->bytes)) {
    return unsupported("grammar", "this model's tokens cannot spell every text");
  }
  TokenTrie trie(known->bytes);
  return GrammarVocabulary{tokens, std::move(known->bytes),  std::move(trie), std::move(own_ends),
                           think,  known->drops_first_space, std::move(all),  form};
}

const Result<GrammarVocabulary>& LazyGrammarVocabulary::get(const Tokenizer& tokenizer,
                                                            const std::vector<int32_t>& ends,
                                                            size_t tokens, CallForm calls) const {
  std::call_once(once_,
                 [&] { vocabulary_ = GrammarVocabulary::make(tokenizer, ends, tokens, calls); });
  return *vocabulary_;
}

std::shared_ptr<const LazyGrammarVocabulary> make_lazy_grammar_vocabulary() {
  return std::make_shared<LazyGrammarVocabulary>();
}

}  // namespace cascade
