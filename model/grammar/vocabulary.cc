// Makes the vocabulary; tokens that are not text are left out.
#include "model/grammar/vocabulary.h"

#include <algorithm>
#include <array>

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

// Gives the marks of harmony their bytes. Tokens of text that have the same first byte are left
// out; they are not UTF-8.
void add_marks(const HarmonyTokens& marks, std::vector<std::string>& bytes) {
  for (std::string& token : bytes) {
    if (token.find(kMarkByte) != token.npos) token.clear();
  }
  for (const auto& [mark, spelling] : kHarmonyMarks) {
    const int32_t id = marks.id(mark);
    const bool ends = mark == HarmonyMark::kCall || mark == HarmonyMark::kReturn;
    if (ends || id < 0 || static_cast<size_t>(id) >= bytes.size()) continue;
    bytes[static_cast<size_t>(id)] = mark_bytes(spelling);
  }
}

}  // namespace

Result<GrammarVocabulary> GrammarVocabulary::make(const Tokenizer& tokenizer,
                                                  const std::vector<int32_t>& ends, size_t tokens) {
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
  const std::optional<HarmonyTokens> marks = HarmonyTokens::of(tokenizer);
  if (marks) add_marks(*marks, known->bytes);
  if (!spells_every_text(known->bytes)) {
    return unsupported("grammar", "this model's tokens cannot spell every text");
  }
  TokenTrie trie(known->bytes);
  return GrammarVocabulary{tokens,          std::move(known->bytes),
                           std::move(trie), std::move(own_ends),
                           think,           known->drops_first_space,
                           std::move(all),  marks ? AnswerForm::kHarmony : AnswerForm::kTagged};
}

const Result<GrammarVocabulary>& LazyGrammarVocabulary::get(const Tokenizer& tokenizer,
                                                            const std::vector<int32_t>& ends,
                                                            size_t tokens) const {
  std::call_once(once_, [&] { vocabulary_ = GrammarVocabulary::make(tokenizer, ends, tokens); });
  return *vocabulary_;
}

std::shared_ptr<const LazyGrammarVocabulary> make_lazy_grammar_vocabulary() {
  return std::make_shared<LazyGrammarVocabulary>();
}

}  // namespace cascade
