// The tokenizer is built from a tokenizer.json.
#include "tests/fuzz/small_tokenizer.h"

#include "base/check.h"
#include "model/tokenizer/bpe_byte_alphabet.h"

namespace cascade::fuzz {
namespace {

Json small_tokenizer_json() {
  Json vocabulary = Json::object();
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary[byte_level_spelling(std::string(1, static_cast<char>(byte)))] = byte;
  }
  Json added = Json::array();
  int32_t next = kSmallEnd;
  for (const char* content : {"<|im_end|>", "<|im_start|>", "<think>", "</think>"}) {
    added.push_back({{"id", next++},
                     {"content", content},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  Json merges = Json::array();
  const std::pair<const char*, const char*> pairs[] = {
      {"{", "\""}, {"\"", ":"}, {"\"", ","}, {"t", "r"}, {"u", "e"},  {"tr", "ue"},
      {"1", "0"},  {"}", "]"},  {"[", "]"},  {" ", " "}, {"\\", "u"}, {"\xC3", "\xA9"}};
  for (const auto& [left, right] : pairs) {
    const std::string a = byte_level_spelling(left), b = byte_level_spelling(right);
    merges.push_back({a, b});
    vocabulary[a + b] = next++;
  }
  return {
      {"version", "1.0"},
      {"added_tokens", added},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
      {"post_processor", nullptr},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}}}};
}

}  // namespace

const Tokenizer& small_tokenizer() {
  static const Tokenizer tokenizer = [] {
    auto loaded = Tokenizer::load(small_tokenizer_json(), {});
    CHECK(loaded.ok());
    return *std::move(loaded);
  }();
  return tokenizer;
}

}  // namespace cascade::fuzz
