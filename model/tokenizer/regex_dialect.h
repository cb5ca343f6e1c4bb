// Translates Oniguruma's regular expressions (Ruby syntax), which tokenizer.json has, to PCRE2's.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace cascade {

// Unicode's White_Space, which \s means in Oniguruma, as members of a PCRE2 character class.
// (PCRE2's own \s also takes U+180E.)
inline constexpr std::string_view kRegexSpaces =
    R"(\x09-\x0D\x20\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

// A PCRE2 pattern that matches what `pattern` matches in Oniguruma: \s, \w, \v, \uHHHH and names of
// scripts are rewritten. Errors: kUnsupported with `field` for a construct whose meaning differs
// between the two, or that is not known here (anchors, word boundaries, nested classes, POSIX
// classes, back-references, quantified intervals, inline options other than "(?i:");
// kInvalidArgument for an unterminated class or escape.
Result<std::string> pcre2_pattern(std::string_view pattern, const std::string& field);

}  // namespace cascade
