// The regular expressions by which families of tokenizers cut text into words.
#include "model/gguf/pre_tokenizer_families.h"

#include <string_view>

#include "model/tokenizer/pre_tokenizer_patterns.h"

namespace cascade {
namespace {

using Expressions = std::vector<std::string>;

constexpr const char* kDigit = R"(\p{N})";
constexpr const char* kThreeDigits = R"(\p{N}{1,3})";
constexpr const char* kContraction = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
constexpr const char* kSpaces = R"(\s*[\r\n]+|\s+(?!\S)|\s+)";

std::string known(KnownPattern pattern) {
  return std::string(known_pattern_text(pattern));
}

// Expressions like Llama 3's and Qwen 2's, by their alternatives.
struct Words {
  std::string contraction = std::string(kContraction) + "|";
  std::string letters = R"(\p{L}+)";  // after one character that is no letter, number or line end
  std::string numbers = kDigit;
  std::string signs = R"( ?[^\s\p{L}\p{N}]+[\r\n]*)";
  std::string spaces = kSpaces;
};

std::string words(const Words& parts) {
  return parts.contraction + R"([^\r\n\p{L}\p{N}]?)" + parts.letters + "|" + parts.numbers + "|" +
         parts.signs + "|" + parts.spaces;
}

// Expressions like o200k's: capitals come before small letters in a word, and a contraction is a
// part of its word.
struct CasedWords {
  std::string first{};  // an alternative that is tried before words
  std::string upper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])";
  std::string lower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
  std::string contraction = std::string(kContraction) + "?";
  std::string numbers = kThreeDigits;
  std::string signs = R"( ?[^\s\p{L}\p{N}]+[\r\n/]*)";
};

std::string cased_words(const CasedWords& parts) {
  const std::string lead = R"([^\r\n\p{L}\p{N}]?)";
  return parts.first + lead + parts.upper + "*" + parts.lower + "+" + parts.contraction + "|" +
         lead + parts.upper + "+" + parts.lower + "*" + parts.contraction + "|" + parts.numbers +
         "|" + parts.signs + "|" + kSpaces;
}

// Runs of Chinese characters are words. The original classes are intersections with [^\p{Han}];
// these are the same sets, by all that they leave out.
std::string kimi_k2() {
  return cased_words({.first = R"([\p{Han}]+|)",
                      .upper = R"([^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{Han}])",
                      .lower = R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{Han}])",
                      .signs = R"( ?[^\s\p{L}\p{N}]+[\r\n]*)"});
}

// Long runs of white space are cut at powers of two.
std::string jais2() {
  std::string spaces = R"(\s*[\r\n]+)";
  for (const char* count : {"512", "256", "128", "64", "32", "16", "8", "4", "1,2"}) {
    spaces += R"(|\s{)" + std::string(count) + R"(}(?!\S))";
  }
  return words({.numbers = kThreeDigits, .spaces = spaces + R"(|\s)"});
}

// A word has single spaces in it: phrases are tokens. The original letters are
// (?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+, which matches the same and tries more.
std::string exaone_moe() {
  return words({.letters = R"(\p{L}[\p{L}\p{M}]*+(?: \p{L}[\p{L}\p{M}]*+)*+)",
                .signs = R"( ?[^\s\p{L}\p{N}]+[\r\n/]?)"});
}

// Chinese characters and Japanese kana.
constexpr const char* kHanAndKana = R"([\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+)";
// CJK and what lies before it in Unicode from U+0800 on, and Hangul.
constexpr const char* kAsian = R"([\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+)";

// Letters that have a case, but not all of them: those that DeepSeek LLM's tokenizer lists.
constexpr const char* kDeepSeekLetters =
    "A-Za-z\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293"
    "\u0295-\u02AF\u0370-\u0373\u0376\u0377\u037B-\u037D\u037F\u0386\u0388-\u038A\u038C"
    "\u038E-\u03A1\u03A3-\u03F5\u03F7-\u0481\u048A-\u052F\u0531-\u0556\u10A0-\u10C5"
    "\u13A0-\u13F5\u13F8-\u13FD\u1C90-\u1CBA\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77"
    "\u1D79-\u1D9A\u1E00-\u1F15\u1F18-\u1F1D\u1F20-\u1F45\u1F48-\u1F4D\u1F50-\u1F57\u1F59"
    "\u1F5B\u1F5D\u1F5F-\u1F7D\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC"
    "\u1FD0-\u1FD3\u1FD6-\u1FDB\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107"
    "\u210A-\u2113\u2115\u2119-\u211D\u2124\u2126\u2128\u212A-\u212D\u212F-\u2134\u2139"
    "\u213C-\u213F\u2145-\u2149\u214E\u2183\u2184\u2C00-\u2C7B\u2C7E-\u2CE4\u2CEB-\u2CEE"
    "\u2CF2\u2CF3\uA640-\uA66D\uA680-\uA69B\uA722-\uA76F\uA771-\uA787\uA78B-\uA78E"
    "\uAB70-\uABBF\uFB00-\uFB06\uFB13-\uFB17\uFF21-\uFF3A\uFF41-\uFF5A\U00010400-\U0001044F"
    "\U000104B0-\U000104D3\U000104D8-\U000104FB\U00010C80-\U00010CB2\U00010CC0-\U00010CF2"
    "\U000118A0-\U000118DF\U0001E900-\U0001E943";

Expressions deepseek_llm() {
  return {R"([\r\n])", R"(\s?[)" + std::string(kDeepSeekLetters) + "]+",
          R"(\s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3000-\u3002]+)",
          // \s+$, but a long run of white space is not read again at each of its characters.
          R"((?<!\s)\s++(?![\s\S]))", kAsian, kDigit};
}

Expressions deepseek_coder() {
  return {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", kAsian, kDigit};
}

// A sign takes the Latin letters after it.
constexpr const char* kDeepSeekWords =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// Numbers are cut into groups of three from the right.
Expressions afmoe() {
  return {R"((?<!\p{N})\p{N}{1,2}(?=(?:\p{N}{3})*+(?!\p{N}))|\p{N}{3})",
          R"([\u4E00-\u9FFF\u3400-\u4DBF\uF900-\uFAFF\u3040-\u309F\u30A0-\u30FF\uFF65-\uFF9F)"
          R"(\u2F00-\u2FDF\u0E40-\u0E7F\u0E80-\u0EFF\u1780-\u17FF\u1000-\u109F\uAA60-\uAA7F)"
          R"(\uA9E0-\uA9FF\uAC00-\uD7AF\u1100-\u11FF]+)",
          kDeepSeekWords};
}

// The original first expression ends with (?:\d{3})*\b. After a digit, \b is the same as (?!\w).
Expressions aya() {
  return {R"(\d{1,3}(?=(?:\d{3})*+(?!\w)))", cased_words({})};
}

// Hangul, CJK punctuation, Bopomofo, and Chinese and Japanese are cut from each other.
Expressions youtu() {
  return {std::string(R"([\uAC00-\uD7A3\u3131-\u318E]+|[\uFF01\u2026\u201C\u201D\u2018\u2019)"
                      R"(\u2014\uFF1A\uFF1B\uFF0C\u3001-\u303F\uFE30-\uFE4F]+|[\u3105-\u312F]+|)") +
              kHanAndKana,
          cased_words({.numbers = kDigit})};
}

// Punctuation of several scripts is cut from words.
constexpr const char* kBloomWords = R"( ?[^(\s|.,!?\u2026\u3002\uFF0C\u3001\u0964\u06D4\u060C)]+)";

// Codes of images, then single line ends, tabs, digits and signs.
Expressions chameleon() {
  return {"<sentinel:[0-9]+>",       "IMGIMG[A-I]{1,4}Z",       R"([\t\n]|    |  )", kDigit,
          R"([\p{P}!-/:-@\[-`{-~])", known(KnownPattern::kGpt2)};
}

}  // namespace

Expressions pre_tokenizer_expressions(PreTokenizerFamily family) {
  using enum PreTokenizerFamily;
  const std::string gpt2 = known(KnownPattern::kGpt2);
  const std::string llama3 = known(KnownPattern::kLlama3);
  const std::string qwen2 = known(KnownPattern::kQwen2);
  switch (family) {
    case kGpt2: return {gpt2};
    case kDigitsGpt2: return {kDigit, gpt2};
    case kLlama3: return {llama3};
    case kJais2: return {jais2()};
    case kMiniCpm5: return {kThreeDigits, words({.numbers = R"(\p{N}+)"})};
    case kQwen2: return {qwen2};
    case kQwen35:
      return {words({.letters = R"([\p{L}\p{M}]+)", .signs = R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)"})};
    case kUfakZeka: return {words({.contraction = ""})};
    case kSeedCoder: return {words({.signs = R"( ?[^\s\p{L}\p{N}\r\n]+)"})};
    case kExaoneMoe: return {exaone_moe()};
    case kLaguna: return {R"([^\n]+|[\n]+)", qwen2};
    case kTekken: return {cased_words({.contraction = "", .numbers = kDigit})};
    case kGpt4o: return {cased_words({})};
    case kAya: return aya();
    case kYoutu: return youtu();
    case kKimiK2: return {kimi_k2()};
    case kDeepSeekLlm: return deepseek_llm();
    case kDeepSeekCoder: return deepseek_coder();
    case kDeepSeekV3: return {kThreeDigits, kHanAndKana, kDeepSeekWords};
    case kAfMoe: return afmoe();
    case kBloom: return {kBloomWords};
    case kViking: return {kBloomWords, kDigit};
    case kSuperBpe: return {R"(\p{N}+)", R"((?=(?:\d{3})++(?!\d)))"};
    case kChameleon: return chameleon();
    case kFalcon: return {R"([\p{P}\$\+<=>\^~\|`]+)", gpt2, "[0-9][0-9][0-9]"};
    case kDefault: return {R"([\p{P}\$\+<=>\^~\|]+)", gpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"};
  }
  return {};
}

}  // namespace cascade
