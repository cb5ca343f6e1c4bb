// Hand-written matchers for the regular expressions that most models use.
#include "model/tokenizer/pre_tokenizer_patterns.h"

#include <array>

#include "base/utf8.h"
#include "model/tokenizer/pre_tokenizer_classes.h"

namespace cascade {
namespace {

constexpr std::array<KnownPattern, 3> kAll = {KnownPattern::kGpt2, KnownPattern::kLlama3,
                                              KnownPattern::kQwen2};

struct Character {
  uint32_t value;
  size_t size;
  CharacterClass type;
};

// Matches at one position of a text; `end` arguments and results are offsets.
class Matcher {
 public:
  explicit Matcher(std::string_view text) : text_(text), classes_(CharacterClasses::instance()) {}

  size_t match_gpt2(size_t begin) const {
    if (const size_t end = contraction(begin, false)) return end;
    const Character first = at(begin);
    const size_t second = begin + first.size;
    const bool has_space = first.value == ' ' && is_not_space(second);
    const size_t start = has_space ? second : begin;
    const CharacterClass type = at(start).type;
    return type == CharacterClass::kSpace ? spaces_end(begin, false) : run_end(start, type);
  }

  size_t match_modern(size_t begin, int digits_max) const {
    if (const size_t end = contraction(begin, true)) return end;
    const Character first = at(begin);
    const size_t second = begin + first.size;
    if (first.type == CharacterClass::kLetter) return run_end(begin, CharacterClass::kLetter);
    if (first.type == CharacterClass::kNumber) return digits_end(begin, digits_max);
    if (!is_newline(first.value) && is_type(second, CharacterClass::kLetter)) {
      return run_end(second, CharacterClass::kLetter);
    }
    if (first.type == CharacterClass::kOther) return punctuation_end(begin);
    if (first.value == ' ' && is_type(second, CharacterClass::kOther)) {
      return punctuation_end(second);
    }
    return spaces_end(begin, true);
  }

 private:
  static bool is_newline(uint32_t c) { return c == '\r' || c == '\n'; }

  Character at(size_t offset) const {
    const auto byte = static_cast<uint8_t>(text_[offset]);
    if (byte < 0x80) return {byte, 1, classes_.of(byte)};
    const CodePoint code_point = utf8_decode(text_, offset);
    return {code_point.value, code_point.size, classes_.of(code_point.value)};
  }

  bool is_type(size_t offset, CharacterClass type) const {
    return offset < text_.size() && at(offset).type == type;
  }
  bool is_not_space(size_t offset) const {
    return offset < text_.size() && at(offset).type != CharacterClass::kSpace;
  }

  size_t run_end(size_t end, CharacterClass type) const {
    while (end < text_.size()) {
      const Character c = at(end);
      if (c.type != type) break;
      end += c.size;
    }
    return end;
  }

  size_t digits_end(size_t end, int digits_max) const {
    for (int i = 0; i < digits_max && is_type(end, CharacterClass::kNumber); ++i) {
      end += at(end).size;
    }
    return end;
  }

  // [^\s\p{L}\p{N}]+[\r\n]*
  size_t punctuation_end(size_t begin) const {
    size_t end = run_end(begin, CharacterClass::kOther);
    while (end < text_.size() && is_newline(static_cast<uint8_t>(text_[end]))) ++end;
    return end;
  }

  // \s*[\r\n]+ (if `takes_newlines`), else \s+(?!\S), else \s+. The match is the run of white space
  // up to its last line end; or the whole run at the end of the text; or the run without its last
  // character, which belongs to the word after it; or the only character of the run.
  size_t spaces_end(size_t begin, bool takes_newlines) const {
    size_t end = begin;
    size_t last = begin;
    size_t after_newline = 0;
    while (end < text_.size()) {
      const Character c = at(end);
      if (c.type != CharacterClass::kSpace) break;
      last = end;
      end += c.size;
      if (takes_newlines && is_newline(c.value)) after_newline = end;
    }
    if (after_newline != 0) return after_newline;
    return end == text_.size() || last == begin ? end : last;
  }

  // 's 't 're 've 'm 'll 'd, in any case if `any_case`; 0 if there is none.
  size_t contraction(size_t begin, bool any_case) const {
    if (text_[begin] != '\'' || begin + 1 >= text_.size()) return 0;
    const char first = folded(begin + 1, any_case);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return begin + 2;
    // The long s, U+017F, is an s in another case.
    if (any_case && text_.substr(begin + 1, 2) == "\xC5\xBF") return begin + 3;
    if (begin + 2 >= text_.size()) return 0;
    const char second = folded(begin + 2, any_case);
    const bool is_pair = (first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
                         (first == 'l' && second == 'l');
    return is_pair ? begin + 3 : 0;
  }

  char folded(size_t offset, bool any_case) const {
    const char c = text_[offset];
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }

  std::string_view text_;
  const CharacterClasses& classes_;
};

}  // namespace

std::string_view known_pattern_text(KnownPattern pattern) {
  switch (pattern) {
    case KnownPattern::kGpt2:
      return R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
    case KnownPattern::kLlama3:
      return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
             R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    case KnownPattern::kQwen2:
      return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
             R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  }
  return {};
}

std::optional<KnownPattern> known_pattern(std::string_view text) {
  for (const KnownPattern pattern : kAll) {
    if (text == known_pattern_text(pattern)) return pattern;
  }
  return std::nullopt;
}

size_t known_pattern_end(KnownPattern pattern, std::string_view text, size_t begin) {
  const Matcher matcher(text);
  switch (pattern) {
    case KnownPattern::kGpt2:
      return matcher.match_gpt2(begin);
    case KnownPattern::kLlama3:
      return matcher.match_modern(begin, 3);
    case KnownPattern::kQwen2:
      return matcher.match_modern(begin, 1);
  }
  return text.size();
}

}  // namespace cascade
