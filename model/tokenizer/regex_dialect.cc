// Translates Oniguruma's regular expressions to PCRE2's.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "model/tokenizer/regex_dialect.h"

#include <pcre2.h>

#include <algorithm>
#include <array>
#include <string>

namespace cascade {
namespace {

constexpr std::string_view kWordMembers = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";

constexpr std::array<std::string_view, 8> kGroups = {
    "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?-i:"};

// Whether PCRE2 knows a script of this name; other properties may have one.
bool is_script(std::string_view name) {
  const std::string pattern = "\\p{sc:" + std::string(name) + "}";
  int error = 0;
  PCRE2_SIZE where = 0;
  pcre2_code* const code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()),
                                         pattern.size(), PCRE2_UTF, &error, &where, nullptr);
  pcre2_code_free(code);
  return code != nullptr;
}

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Reads the pattern once from left to right, writing the translation.
class Translator {
 public:
  Translator(std::string_view pattern, const std::string& field)
      : pattern_(pattern), field_(field) {}

  Result<std::string> run() {
    while (at_ < pattern_.size()) RETURN_IF_ERROR(step());
    if (in_class_) return invalid_argument(field_, "has a class without an end");
    return std::move(out_);
  }

 private:
  Status step() {
    const char c = pattern_[at_];
    if (c == '\\') return escape();
    if (in_class_) return class_member(c);
    switch (c) {
      case '[': return open_class();
      case '(': return group();
      case '{': return interval();
      case '^':
      case '$': return unknown("an anchor");
      default: copy(1); return {};
    }
  }

  Status escape() {
    if (at_ + 1 >= pattern_.size()) return invalid_argument(field_, "ends within an escape");
    const char c = pattern_[at_ + 1];
    switch (c) {
      case 's':
        replace(2, in_class_ ? kRegexSpaces : "[" + std::string(kRegexSpaces) + "]");
        return {};
      case 'S':
        replace(2, in_class_ ? R"(\S\x{180E})" : "[^" + std::string(kRegexSpaces) + "]");
        return {};
      case 'w':
        replace(2, in_class_ ? kWordMembers : "[" + std::string(kWordMembers) + "]");
        return {};
      case 'W':
        if (in_class_) return unknown("\\W in a class");
        replace(2, "[^" + std::string(kWordMembers) + "]");
        return {};
      case 'v': replace(2, R"(\x0B)"); return {};
      case 'u': return code_unit();
      case 'p':
      case 'P': return property();
      case 'd':
      case 'D':
      case 'r':
      case 'n':
      case 't':
      case 'f': copy(2); return {};
      default:
        if (is_alphanumeric(c) || static_cast<unsigned char>(c) >= 0x80) {
          return unknown("\\" + std::string(1, c));
        }
        copy(2);
        return {};
    }
  }

  // \uHHHH
  Status code_unit() {
    const std::string_view digits = pattern_.substr(at_ + 2, 4);
    if (digits.size() < 4 || !std::all_of(digits.begin(), digits.end(), is_hex)) {
      return invalid_argument(field_, "has \\u without four hexadecimal digits");
    }
    replace(6, R"(\x{)" + std::string(digits) + "}");
    return {};
  }

  // \p{Name}, \p{^Name}. In PCRE2 the name of a script alone also means characters of other scripts
  // that are used with it, such as U+3001 with Han.
  Status property() {
    const size_t close = pattern_.find('}', at_);
    if (pattern_.substr(at_ + 2, 1) != "{" || close == std::string_view::npos) {
      return unknown("\\p without a name in braces");
    }
    const bool is_negated = pattern_.substr(at_ + 3, 1) == "^";
    copy(is_negated ? 4 : 3);
    if (is_script(pattern_.substr(at_, close - at_))) out_ += "sc:";
    copy(close + 1 - at_);
    return {};
  }

  Status open_class() {
    copy(1);
    if (pattern_.substr(at_, 1) == "^") copy(1);
    if (pattern_.substr(at_, 1) == "]") return unknown("a class that begins with ]");
    in_class_ = true;
    return {};
  }

  Status class_member(char c) {
    if (c == '[') return unknown("a class within a class");
    if (pattern_.substr(at_, 2) == "&&") return unknown("an intersection of classes");
    if (c == ']') in_class_ = false;
    copy(1);
    return {};
  }

  Status group() {
    const std::string_view rest = pattern_.substr(at_);
    if (rest.starts_with("(*")) return unknown("(*");
    if (!rest.starts_with("(?")) {
      copy(1);
      return {};
    }
    for (const std::string_view opening : kGroups) {
      if (!rest.starts_with(opening)) continue;
      copy(opening.size());
      return {};
    }
    return unknown("a group other than (?: (?= (?! (?<= (?<! (?> (?i: (?-i:");
  }

  // {n}, {n,}, {n,m}: Oniguruma and PCRE2 agree on these, but not on a + or ? after them.
  Status interval() {
    const size_t close = pattern_.find('}', at_);
    if (close == std::string_view::npos) return unknown("a { without }");
    const std::string_view bounds = pattern_.substr(at_ + 1, close - at_ - 1);
    const bool is_interval = !bounds.empty() && bounds.front() != ',' &&
                             std::count(bounds.begin(), bounds.end(), ',') <= 1 &&
                             std::all_of(bounds.begin(), bounds.end(),
                                         [](char c) { return c == ',' || (c >= '0' && c <= '9'); });
    if (!is_interval) return unknown("braces that are not an interval");
    const std::string_view after = pattern_.substr(close + 1, 1);
    if (after == "+" || after == "?" || after == "*") return unknown("a quantified interval");
    copy(close + 1 - at_);
    return {};
  }

  void copy(size_t count) {
    out_ += pattern_.substr(at_, count);
    at_ += count;
  }
  void replace(size_t count, std::string_view with) {
    out_ += with;
    at_ += count;
  }
  Error unknown(const std::string& what) const {
    return unsupported(field_, "has " + what + ", at byte " + std::to_string(at_));
  }

  std::string_view pattern_;
  const std::string& field_;
  std::string out_;
  size_t at_ = 0;
  bool in_class_ = false;
};

}  // namespace

Result<std::string> pcre2_pattern(std::string_view pattern, const std::string& field) {
  return Translator(pattern, field).run();
}

}  // namespace cascade
