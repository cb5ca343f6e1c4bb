// What the tests of the tokenizer share: random texts, small tokenizers.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "base/utf8.h"
#include "model/tokenizer.h"
#include "model/tokenizer/bpe_byte_alphabet.h"
#include "tests/seed.h"
#include "tests/shared_dir.h"

namespace cascade::testing {

using Ids = std::vector<int32_t>;

// Well-formed UTF-8: words, spaces, line ends, digits, punctuation, and code points of all planes.
inline std::string random_text(Random& random, size_t code_points) {
  constexpr std::string_view kCommon = "  \n\r\t'aeinorstTHESdlmv0123456789.,;!?-_<>|[]()/\\\"";
  std::string text;
  for (size_t i = 0; i < code_points; ++i) {
    switch (random.below(8)) {
      case 0:
        utf8_append(text, static_cast<uint32_t>(random.below(0x110000)));
        break;
      case 1:
        utf8_append(text, static_cast<uint32_t>(random.below(0x3100)));
        break;
      case 2:
        utf8_append(text, 0x4E00 + static_cast<uint32_t>(random.below(64)));
        break;
      default:
        text += kCommon[random.below(kCommon.size())];
    }
  }
  return text;
}

// Any bytes, many of which are parts of UTF-8 characters.
inline std::string random_bytes(Random& random, size_t size) {
  constexpr std::string_view kParts = "a \xC3\xA9\xE2\x96\x81\xF0\x9F\x98\x80\xFF\x80\xC0\xED\xA0";
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes += kParts[random.below(kParts.size())];
  return bytes;
}

inline Json read_json(const std::filesystem::path& path) {
  const auto text = read_file(path, size_t{64} << 20);
  EXPECT_TRUE(text.ok()) << path;
  if (!text.ok()) return {};
  const auto json = parse_json(*text, path.string());
  EXPECT_TRUE(json.ok()) << path;
  return json.ok() ? *json : Json();
}

// The tokenizer; fails the test and ends the process if it cannot be loaded.
inline Tokenizer load_tokenizer(const Json& json, const Json& config = {}) {
  auto loaded = Tokenizer::load(json, config);
  EXPECT_TRUE(loaded.ok()) << loaded.error().to_string();
  return std::move(loaded).value();
}

inline Tokenizer load_demo_tokenizer() {
  return load_tokenizer(read_json(demo_model_dir() / "tokenizer.json"));
}

inline Json added_token(int32_t id, std::string_view content, bool special = true) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", special}};
}

using MergeList = std::vector<std::pair<std::string, std::string>>;

// GPT-2 style: the 256 bytes have the ids 0 to 255 in their order; the results of `merges` (given
// as bytes) have the ids from 256 on.
inline Json byte_level_json(const MergeList& merges) {
  Json vocab = Json::object();
  for (int byte = 0; byte < 256; ++byte) {
    vocab[byte_level_spelling(std::string(1, static_cast<char>(byte)))] = byte;
  }
  Json rules = Json::array();
  for (const auto& [left, right] : merges) {
    const auto next = static_cast<int32_t>(vocab.size());
    const std::string result = byte_level_spelling(left + right);
    if (!vocab.contains(result)) vocab[result] = next;
    rules.push_back({byte_level_spelling(left), byte_level_spelling(right)});
  }
  return {
      {"version", "1.0"},
      {"added_tokens", Json::array()},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
      {"post_processor", nullptr},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", rules}}}};
}

// SentencePiece style: <unk>, <s>, </s> are 0 to 2, the bytes 3 to 258; then come the characters
// and the results of `merges`.
inline Json sentence_piece_json(const std::vector<std::string>& characters,
                                const MergeList& merges) {
  Json vocab = {{"<unk>", 0}, {"<s>", 1}, {"</s>", 2}};
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (size_t byte = 0; byte < 256; ++byte) {
    const std::string name = {'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'};
    vocab[name] = byte + 3;
  }
  for (const std::string& character : characters) {
    const size_t next = vocab.size();
    vocab[character] = next;
  }
  Json rules = Json::array();
  for (const auto& [left, right] : merges) {
    const size_t next = vocab.size();
    if (!vocab.contains(left + right)) vocab[left + right] = next;
    rules.push_back({left, right});
  }
  const Json to_space = {
      {"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}};
  const Json from_space = {
      {"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
  const Json strip = {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}};
  return {
      {"version", "1.0"},
      {"added_tokens", {added_token(0, "<unk>"), added_token(1, "<s>"), added_token(2, "</s>")}},
      {"normalizer",
       {{"type", "Sequence"},
        {"normalizers", {{{"type", "Prepend"}, {"prepend", "\u2581"}}, from_space}}}},
      {"pre_tokenizer", nullptr},
      {"post_processor", nullptr},
      {"decoder",
       {{"type", "Sequence"},
        {"decoders", {to_space, {{"type", "ByteFallback"}}, {{"type", "Fuse"}}, strip}}}},
      {"model",
       {{"type", "BPE"},
        {"unk_token", "<unk>"},
        {"fuse_unk", true},
        {"byte_fallback", true},
        {"vocab", vocab},
        {"merges", rules}}}};
}

// Encodes a text that is entirely trusted or entirely untrusted; fails the test on an error.
inline Ids encode(const Tokenizer& tokenizer, std::string_view text, bool trusted = false) {
  const auto ids = tokenizer.encode(text, trusted, false);
  EXPECT_TRUE(ids.ok()) << ids.error().to_string();
  return ids.ok() ? *ids : Ids();
}

inline Ids encode_spans(const Tokenizer& tokenizer, const std::vector<TextSpan>& spans) {
  const auto ids = tokenizer.encode(spans, false);
  EXPECT_TRUE(ids.ok()) << ids.error().to_string();
  return ids.ok() ? *ids : Ids();
}

// The texts of single tokens, for messages and comparisons by eye.
inline std::vector<std::string> token_texts(const Tokenizer& tokenizer, const Ids& ids) {
  std::vector<std::string> texts;
  for (const int32_t id : ids) texts.push_back(tokenizer.decode({&id, 1}, false));
  return texts;
}

}  // namespace cascade::testing
