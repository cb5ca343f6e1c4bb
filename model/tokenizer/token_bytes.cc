// Reads a decoder's steps as an operation on single tokens.
#include "model/tokenizer/token_bytes.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "model/tokenizer/bpe_byte_alphabet.h"
#include "model/tokenizer/decoder_stream.h"

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

// Applies one step to a token; false for a step that works on whole texts.
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

// The bytes of a token within a text; nullopt if the steps do more than spell the token
// differently.
std::optional<std::string> spelled(const TokenizerParts& parts, const std::string& token,
                                   bool& drops_first_space) {
  std::string bytes = token;
  bool fused = false;
  for (const DecodeStep& step : parts.decode_steps) {
    if (!std::visit(Speller{bytes, drops_first_space, fused}, step)) return std::nullopt;
  }
  return bytes;
}

// The text of a token that is alone in a text or, with `goes_on`, alone after an earlier text.
std::string decoded_alone(const TokenizerParts& parts, const std::string& token, bool goes_on) {
  TokenDecoderStream stream(parts.decode_steps, goes_on);
  stream.push(token);
  stream.finish();
  return stream.take();
}

std::string bytes_in_text(const TokenizerParts& parts, const std::string& token, bool begins_text) {
  bool drops_first_space = false;
  auto bytes = spelled(parts, token, drops_first_space);
  if (!bytes) return decoded_alone(parts, token, !begins_text);
  // Decoders leave out only a space, and decoding a token alone is right for whole characters only.
  // So a token without a space is not decoded alone.
  const bool shortened = begins_text && drops_first_space && bytes->find(' ') != bytes->npos;
  return shortened ? decoded_alone(parts, token, /*goes_on=*/false) : *std::move(bytes);
}

}  // namespace

std::optional<std::vector<TokenPiece>> token_pieces(const TokenizerParts& parts,
                                                    std::span<const int32_t> ids, TextStart start,
                                                    size_t bytes_max) {
  std::vector<TokenPiece> pieces;
  bool begins_text = start != TextStart::kNone;
  for (const int32_t id : ids) {
    TokenPiece& piece = pieces.emplace_back();
    const std::string* token = parts.token_text(id);
    if (token == nullptr) continue;
    piece.is_special = parts.added_tokens.is_special(id);
    piece.bytes = bytes_in_text(parts, *token, begins_text);
    if (piece.bytes.size() > bytes_max) return std::nullopt;
    bytes_max -= piece.bytes.size();
    if (!piece.is_special) begins_text = start == TextStart::kEach;
  }
  return pieces;
}

std::optional<TokenBytes> token_bytes(const TokenizerParts& parts) {
  TokenBytes all;
  const int32_t count = std::max(parts.vocabulary->id_end(), parts.added_tokens.id_end());
  all.bytes.resize(static_cast<size_t>(count));
  for (int32_t id = 0; id < count; ++id) {
    const std::string* text = parts.token_text(id);
    if (text == nullptr || parts.added_tokens.is_special(id)) continue;
    auto bytes = spelled(parts, *text, all.drops_first_space);
    if (!bytes) return std::nullopt;
    all.bytes[static_cast<size_t>(id)] = *std::move(bytes);
  }
  return all;
}

}  // namespace cascade
