// The table of tokenizer.ggml.pre. A name that is not here is refused.
#include "model/gguf/pre_tokenizers.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "model/json_fields.h"
#include "model/tokenizer/pre_tokenizer_patterns.h"

namespace cascade {
namespace {

// One family of tokenizers, which may have several names.
enum class Family {
  kGpt2,
  kDigitsGpt2,  // splits single digits first
  kLlama3,
  kQwen2,
  kTekken,
  kGpt4o,
  kFalcon,
  kDefault,
};

struct NamedFamily {
  std::string_view name;
  Family family;
  bool ignores_merges = false;
  bool adds_begin_token = false;
  bool composes = false;  // applies NFC first, as the family's tokenizer.json does
};

constexpr std::array<NamedFamily, 23> kTable = {{
    {"gpt-2", Family::kGpt2},
    {"phi-2", Family::kGpt2},
    {"mpt", Family::kGpt2},
    {"olmo", Family::kGpt2},
    {"starcoder", Family::kDigitsGpt2},
    {"refact", Family::kDigitsGpt2},
    {"command-r", Family::kDigitsGpt2},
    {"smollm", Family::kDigitsGpt2},
    {"codeshell", Family::kDigitsGpt2},
    {"exaone", Family::kDigitsGpt2},
    {"minerva-7b", Family::kDigitsGpt2},
    {"llama3", Family::kLlama3, true, true},
    {"llama-v3", Family::kLlama3, true, true},
    {"llama-bpe", Family::kLlama3, true, true},
    {"falcon3", Family::kLlama3, true, true},
    {"dbrx", Family::kLlama3},
    {"smaug-bpe", Family::kLlama3},
    {"qwen2", Family::kQwen2, false, false, true},
    {"deepseek-r1-qwen", Family::kQwen2},
    {"stablelm2", Family::kQwen2},
    {"tekken", Family::kTekken, true, true},
    {"gpt-4o", Family::kGpt4o},
    {"falcon", Family::kFalcon},
}};
// For files of BPE models that a converter did not know; llama.cpp reads them with the expressions
// of this family.
constexpr NamedFamily kDefault = {"default", Family::kDefault};

// Characters of words in which capitals come before small letters.
constexpr std::string_view kUpper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])";
constexpr std::string_view kLower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";

std::string cased_words(std::string_view contraction, std::string_view numbers) {
  const std::string lead = R"([^\r\n\p{L}\p{N}]?)";
  const std::string upper(kUpper);
  const std::string lower(kLower);
  const std::string end(contraction);
  return lead + upper + "*" + lower + "+" + end + "|" + lead + upper + "+" + lower + "*" + end +
         "|" + std::string(numbers) + R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
}

// Each expression is applied to the pieces that the one before left.
std::vector<std::string> expressions(Family family) {
  const std::string gpt2(known_pattern_text(KnownPattern::kGpt2));
  switch (family) {
    case Family::kGpt2: return {gpt2};
    case Family::kDigitsGpt2: return {R"(\p{N})", gpt2};
    case Family::kLlama3: return {std::string(known_pattern_text(KnownPattern::kLlama3))};
    case Family::kQwen2: return {std::string(known_pattern_text(KnownPattern::kQwen2))};
    case Family::kTekken: return {cased_words("", R"(\p{N})")};
    case Family::kGpt4o: return {cased_words("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", R"(\p{N}{1,3})")};
    case Family::kFalcon: return {R"([\p{P}\$\+<=>\^~\|`]+)", gpt2, "[0-9][0-9][0-9]"};
    case Family::kDefault: return {R"([\p{P}\$\+<=>\^~\|]+)", gpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"};
  }
  return {};
}

}  // namespace

Result<GgufPreTokenizer> gguf_pre_tokenizer(std::string_view name) {
  const auto* found = std::ranges::find(kTable, name, &NamedFamily::name);
  if (found == kTable.end()) {
    if (name != kDefault.name) {
      return unsupported("tokenizer.ggml.pre", quote_text(name) + " is not known");
    }
    found = &kDefault;
  }
  Json steps = Json::array();
  for (const std::string& expression : expressions(found->family)) {
    steps.push_back({{"type", "Split"},
                     {"pattern", {{"Regex", expression}}},
                     {"behavior", "Isolated"},
                     {"invert", false}});
  }
  steps.push_back({{"type", "ByteLevel"},
                   {"add_prefix_space", false},
                   {"trim_offsets", false},
                   {"use_regex", false}});
  GgufPreTokenizer result;
  result.pre_tokenizer = {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
  if (found->composes) result.normalizer = {{"type", "NFC"}};
  result.ignores_merges = found->ignores_merges;
  result.adds_begin_token = found->adds_begin_token;
  return result;
}

}  // namespace cascade
