// Which code points are letters, numbers and white space.
#include "model/tokenizer/pre_tokenizer_classes.h"

#include <string>

#include "base/check.h"
#include "base/utf8.h"
#include "model/tokenizer/regex.h"

namespace cascade {
namespace {

constexpr uint32_t kCodePoints = 0x110000;

bool is_surrogate(uint32_t code_point) {
  return code_point >= 0xD800 && code_point < 0xE000;
}

std::string all_code_points() {
  std::string text;
  for (uint32_t code_point = 0; code_point < kCodePoints; ++code_point) {
    if (!is_surrogate(code_point)) utf8_append(text, code_point);
  }
  return text;
}

}  // namespace

const CharacterClasses& CharacterClasses::instance() {
  static const CharacterClasses classes;
  return classes;
}

CharacterClasses::CharacterClasses() : classes_(kCodePoints, CharacterClass::kOther) {
  const std::string text = all_code_points();
  // The patterns are our own, so the budget has room for any machine.
  TextBudget budget(100 * text.size());
  RegexScratch scratch(budget);
  const auto mark = [&](std::string_view pattern, CharacterClass value) {
    const auto regex = TokenizerRegex::compile(pattern, "class");
    CHECK(regex.ok());
    TokenizerRegex::Matches matches(*regex, text, scratch);
    for (;;) {
      const auto match = matches.next();
      CHECK(match.ok());
      if (!match->has_value()) return;
      for (size_t offset = (*match)->begin; offset < (*match)->end;) {
        const CodePoint code_point = utf8_decode(text, offset);
        classes_[code_point.value] = value;
        offset += code_point.size;
      }
    }
  };
  mark(R"(\p{L}+)", CharacterClass::kLetter);
  mark(R"(\p{N}+)", CharacterClass::kNumber);
  mark(R"(\s+)", CharacterClass::kSpace);
}

}  // namespace cascade
