// Reads a decoder's steps as an operation on single tokens.
#include "model/tokenizer/token_bytes.h"

#include <algorithm>
#include <variant>

#include "model/tokenizer/bpe_byte_alphabet.h"

namespace cascade {
namespace {

void replace_all(std::string& text, const std::string& pattern, const std::string& content) {
  for (size_t at = text.find(pattern); at != text.npos; at = text.find(pattern, at)) {
    text.replace(at, pattern.size(), content);
    at += content.size();
  }
}

// The byte of a token like "<0x0A>".
std::optional<char> byte_of_token(const std::string& text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  int value = 0;
  for (const char c : {text[3], text[4]}) {
    const bool decimal = c >= '0' && c <= '9';
    const char upper = static_cast<char>(c & ~0x20);
    if (!decimal && (upper < 'A' || upper > 'F')) return std::nullopt;
    value = value * 16 + (decimal ? c - '0' : upper - 'A' + 10);
  }
  return static_cast<char>(value);
}

// Applies one step after the other to a token; false for a step that is of whole texts.
struct Speller {
  std::string& text;
  bool& drops_first_space;
  bool& fused;

  bool operator()(const ByteLevelDecode&) const {
    text = byte_level_bytes(text).value_or(text);
    fused = true;
    return true;
  }
  bool operator()(const ByteFallbackDecode&) const {
    if (const auto byte = byte_of_token(text)) text = std::string(1, *byte);
    return !fused;
  }
  bool operator()(const FuseDecode&) const { return fused = true; }
  bool operator()(const ReplaceDecode& step) const {
    replace_all(text, step.pattern, step.content);
    return !fused;
  }
  bool operator()(const StripDecode& step) const {
    drops_first_space = true;
    return fused && step.content == " " && step.start == 1 && step.stop == 0;
  }
  bool operator()(const MetaspaceDecode& step) const {
    replace_all(text, step.replacement, " ");
    drops_first_space |= step.drops_first;
    return !fused;
  }
  bool operator()(const SpaceDecode&) const { return false; }
};

}  // namespace

std::optional<TokenBytes> token_bytes(const TokenizerParts& parts) {
  TokenBytes all;
  const int32_t count = std::max(parts.vocabulary->id_end(), parts.added_tokens.id_end());
  all.bytes.resize(static_cast<size_t>(count));
  for (int32_t id = 0; id < count; ++id) {
    const std::string* text = parts.token_text(id);
    if (text == nullptr || parts.added_tokens.is_special(id)) continue;
    std::string& bytes = all.bytes[static_cast<size_t>(id)];
    bytes = *text;
    bool fused = false;
    for (const DecodeStep& step : parts.decode_steps) {
      if (!std::visit(Speller{bytes, all.drops_first_space, fused}, step)) return std::nullopt;
    }
  }
  return all;
}

}  // namespace cascade
