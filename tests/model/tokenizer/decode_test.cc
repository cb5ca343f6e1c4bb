// The steps of decoders: each is compared with the reference, and sequences with a simple
// implementation.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/tokenizer/decoder_steps.h"
#include "model/tokenizer/decoder_stream.h"
#include "tests/model/tokenizer/testing.h"

namespace cascade::testing {
namespace {

using Texts = std::vector<std::string>;

std::vector<DecodeStep> steps_of(const Json& json) {
  const auto steps = load_decode_steps(json.is_null() ? nullptr : &json, "decoder");
  EXPECT_TRUE(steps.ok()) << steps.error().to_string();
  return steps.ok() ? *steps : std::vector<DecodeStep>();
}

// The text; `pieces` receives the pieces that came one by one.
std::string decode(const std::vector<DecodeStep>& steps, const Texts& tokens,
                   Texts* pieces = nullptr) {
  TokenDecoderStream stream(steps);
  Texts taken;
  for (const std::string& token : tokens) {
    stream.push(token);
    taken.push_back(stream.take());
  }
  stream.finish();
  taken.push_back(stream.take());
  std::string text;
  for (const std::string& piece : taken) {
    EXPECT_TRUE(is_utf8(piece));
    text += piece;
  }
  if (pieces != nullptr) *pieces = taken;
  return text;
}

std::string decode(const Json& json, const Texts& tokens, Texts* pieces = nullptr) {
  return decode(steps_of(json), tokens, pieces);
}

const Json kByteFallback = {{"type", "ByteFallback"}};
const Json kFuse = {{"type", "Fuse"}};

Json strip(const char* content, int start, int stop) {
  return {{"type", "Strip"}, {"content", content}, {"start", start}, {"stop", stop}};
}
Json replace(const char* pattern, const char* content) {
  return {{"type", "Replace"}, {"pattern", {{"String", pattern}}}, {"content", content}};
}
Json sequence(const std::vector<Json>& steps) {
  return {{"type", "Sequence"}, {"decoders", steps}};
}

TEST(TokenizerDecode, byte_fallback) {
  EXPECT_EQ(decode(kByteFallback, {"Hey", "friend!"}), "Heyfriend!");
  EXPECT_EQ(decode(kByteFallback, {"<0x61>"}), "a");
  EXPECT_EQ(decode(kByteFallback, {"<0xE5>"}), "\uFFFD");
  EXPECT_EQ(decode(kByteFallback, {"<0xE5>", "<0x8f>"}), "\uFFFD\uFFFD");
  EXPECT_EQ(decode(kByteFallback, {"<0xE5>", "<0x8f>", "<0xab>", "a"}),
            "\u53EB"
            "a");
  EXPECT_EQ(decode(kByteFallback, {"<0xE5>", "<0x8f>", "a"}),
            "\uFFFD\uFFFD"
            "a");
  // One bad byte makes the whole run malformed.
  EXPECT_EQ(decode(kByteFallback, {"<0x61>", "<0xFF>", "<0x62>"}), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(decode(kByteFallback, {"<0x6>", "<0x-1>", "<0xGG>", "<0x611>", "0x61"}),
            "<0x6><0x-1><0xGG><0x611>0x61");
}

TEST(TokenizerDecode, strip) {
  EXPECT_EQ(decode(strip("H", 1, 0), {"Hey", " friend!", "HHH"}), "ey friend!HH");
  EXPECT_EQ(decode(strip("y", 0, 1), {"Hey", " friend!"}), "He friend!");
  EXPECT_EQ(decode(strip("y", 2, 2), {"yyyyy", "yyy", "y", "", "yxyyxyyy"}), "yxyyxy");
  EXPECT_EQ(decode(strip("\u2581", 1, 1), {"\u2581\u2581x\u2581"}), "\u2581x");
}

TEST(TokenizerDecode, replace_and_metaspace) {
  EXPECT_EQ(decode(replace("_", " "), {"hello", "_hello"}), "hello hello");
  EXPECT_EQ(decode(replace("aab", "!"), {"aaab", "aa", "b"}), "a!aab");
  EXPECT_EQ(decode(sequence({kFuse, replace("aab", "!")}), {"aaab", "aa", "b", "aa"}), "a!!aa");
  const auto metaspace = [](const char* scheme) {
    return Json{{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", scheme}};
  };
  EXPECT_EQ(decode(metaspace("always"), {"\u2581Hey",
                                         "\u2581"
                                         "friend!"}),
            "Hey friend!");
  EXPECT_EQ(decode(metaspace("first"), {"\u2581\u2581x\u2581", "\u2581"}), "x ");
  EXPECT_EQ(decode(metaspace("never"), {"\u2581Hey"}), " Hey");
}

TEST(TokenizerDecode, byte_level) {
  const Json byte_level = {{"type", "ByteLevel"}};
  EXPECT_EQ(decode(byte_level, {"Hello", "\u0120my", "\u010A"}), "Hello my\n");
  Texts pieces;
  EXPECT_EQ(decode(byte_level, {"\u00E6", "\u0139", "\u00A5", "\u00E6", "x"}, &pieces),
            "\u65E5\uFFFDx");
  EXPECT_EQ(pieces, (Texts{"", "", "\u65E5", "", "\uFFFDx", ""}));
  // A token with other characters is decoded as its own text.
  EXPECT_EQ(decode(byte_level, {"<\uFF5C>", "a b", "\u00E9"}), "<\uFF5C>a b\uFFFD");
}

TEST(TokenizerDecode, no_decoder_puts_spaces_between) {
  EXPECT_EQ(decode(Json(), {"a", "", "b"}), "a  b");
  EXPECT_EQ(decode(Json(), {}), "");
}

TEST(TokenizerDecode, sentence_piece_gives_text_as_soon_as_it_is_certain) {
  const Json json = sequence({replace("\u2581", " "), kByteFallback, kFuse, strip(" ", 1, 0)});
  Texts pieces;
  EXPECT_EQ(decode(json, {"\u2581The", "\u2581", "<0x0A>", "<0x0A>", "x"}, &pieces), "The \n\nx");
  EXPECT_EQ(pieces, (Texts{"The", " ", "", "", "\n\nx", ""}));
}

// The definition: each step turns a list of texts into another.

std::string join(const Texts& tokens) {
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

Texts apply_byte_fallback(const Texts& tokens) {
  Texts out;
  std::string bytes;
  const auto flush = [&] {
    if (is_utf8(bytes)) {
      if (!bytes.empty()) out.push_back(bytes);
    } else {
      out.insert(out.end(), bytes.size(), "\uFFFD");
    }
    bytes.clear();
  };
  for (const std::string& token : tokens) {
    const bool is_byte = token.size() == 6 && token.starts_with("<0x") && token.ends_with(">") &&
                         token.find_first_not_of("0123456789ABCDEFabcdef", 3) == 5;
    if (is_byte) {
      bytes += static_cast<char>(std::stoi(token.substr(3, 2), nullptr, 16));
    } else {
      flush();
      out.push_back(token);
    }
  }
  flush();
  return out;
}

std::string strip_token(const StripDecode& step, std::string token) {
  size_t size = step.content.size();
  for (size_t i = 0; i < step.start && token.starts_with(step.content); ++i) token.erase(0, size);
  for (size_t i = 0; i < step.stop && token.ends_with(step.content); ++i) {
    token.erase(token.size() - size);
  }
  return token;
}

std::string replace_all(std::string text, const std::string& pattern, const std::string& content) {
  for (size_t at = text.find(pattern); at != std::string::npos;
       at = text.find(pattern, at + content.size())) {
    text.replace(at, pattern.size(), content);
  }
  return text;
}

Texts apply_step(const DecodeStep& step, const Texts& tokens) {
  Texts out;
  if (std::holds_alternative<FuseDecode>(step)) return {join(tokens)};
  if (std::holds_alternative<ByteFallbackDecode>(step)) return apply_byte_fallback(tokens);
  if (std::holds_alternative<ByteLevelDecode>(step)) {
    std::string bytes;
    for (const std::string& token : tokens) bytes += byte_level_bytes(token).value_or(token);
    return {utf8_replace_malformed(bytes)};
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (const auto* strip_step = std::get_if<StripDecode>(&step)) {
      out.push_back(strip_token(*strip_step, tokens[i]));
    } else if (const auto* replacing = std::get_if<ReplaceDecode>(&step)) {
      out.push_back(replace_all(tokens[i], replacing->pattern, replacing->content));
    } else if (const auto* metaspace = std::get_if<MetaspaceDecode>(&step)) {
      const bool drops = i == 0 && metaspace->drops_first;
      out.push_back(replace_all(tokens[i], metaspace->replacement, drops ? "" : " "));
    }
  }
  return out;
}

TEST(TokenizerDecode, random_rows_of_steps_equal_the_definition) {
  Random random(test_seed());
  const Json metaspace = {{"type", "Metaspace"}, {"replacement", "_"}};
  const std::vector<Json> choices = {kByteFallback,      kFuse,
                                     strip(" ", 1, 0),   strip("a", 2, 1),
                                     strip("b", 0, 3),   replace("_", " "),
                                     replace("ab", "c"), replace("aab", ""),
                                     metaspace,          {{"type", "ByteLevel"}}};
  const Texts vocabulary = {"a",
                            "b",
                            "ab",
                            "aa",
                            "_",
                            "_a",
                            " ",
                            "",
                            "ba",
                            "<0x61>",
                            "<0xE5>",
                            "<0x8f>",
                            "<0xab>",
                            "bb",
                            "\u00E9",
                            "\u0120",
                            "\u00E5\u0131\u00AB",
                            "<0xZZ>",
                            "\u65E5"};
  for (int round = 0; round < 2000; ++round) {
    std::vector<Json> row;
    for (size_t i = random.below(5); i-- > 0;) row.push_back(choices[random.below(choices.size())]);
    const auto steps = steps_of(sequence(row));
    Texts tokens;
    for (size_t i = random.below(12); i-- > 0;) {
      tokens.push_back(vocabulary[random.below(vocabulary.size())]);
    }
    Texts expected = tokens;
    for (const DecodeStep& step : steps) expected = apply_step(step, expected);
    EXPECT_EQ(decode(steps, tokens), join(expected)) << Json(row).dump() << Json(tokens).dump();
  }
}

TEST(TokenizerDecode, malformed_files_are_refused) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"7", "decoder"},
      {R"({"type":"WordPiece"})", "decoder.type"},
      {R"({"type":"Fuse","x":1})", "decoder.x"},
      {R"({"type":"Sequence"})", "decoder.decoders"},
      {R"({"type":"Sequence","decoders":[{"type":"CTC"}]})", "decoder.decoders[0].type"},
      {R"({"type":"Strip","content":" ","start":-1,"stop":0})", "decoder.start"},
      {R"({"type":"Strip","content":"ab","start":1,"stop":0})", "decoder.content"},
      {R"({"type":"Strip","content":" ","start":1,"stop":1e99})", "decoder.stop"},
      {R"({"type":"Replace","pattern":{"Regex":"a"},"content":""})", "decoder.pattern.Regex"},
      {R"({"type":"Replace","pattern":{"String":""},"content":""})", "decoder.pattern.String"},
      {R"({"type":"Metaspace","replacement":""})", "decoder.replacement"},
      {R"({"type":"Metaspace","replacement":"_","prepend_scheme":"last"})",
       "decoder.prepend_scheme"},
      {R"({"type":"Metaspace","replacement":"_","add_prefix_space":false})",
       "decoder.add_prefix_space"}};
  for (const auto& [text, field] : cases) {
    const Json json = Json::parse(text);
    const auto steps = load_decode_steps(&json, "decoder");
    ASSERT_FALSE(steps.ok()) << text;
    EXPECT_EQ(steps.error().field, field) << text;
  }
}

// Thirty steps that each turn one byte into a kilobyte would turn a one-byte token into 2^300
// bytes.
TEST(TokenizerDecode, growth_is_limited) {
  const std::string kilobyte(1024, 'a');
  const auto growth_of = [](const std::vector<Json>& row) {
    const Json json = sequence(row);
    return load_decode_steps(&json, "decoder");
  };
  const std::vector<std::vector<Json>> rows = {
      std::vector<Json>(30, replace("a", kilobyte.c_str())),
      {replace("a", kilobyte.c_str())},
      {replace("ab", "abababab"), kFuse, replace("b", "bbb")},
      std::vector<Json>(4, replace("a", "aa")),
      {replace("abcdefg", kilobyte.c_str())},
  };
  for (const auto& row : rows) {
    const auto steps = growth_of(row);
    ASSERT_FALSE(steps.ok()) << Json(row).dump();
    EXPECT_EQ(steps.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(steps.error().field, "decoder");
  }
  EXPECT_TRUE(growth_of({replace("a", "aaaaaaaa")}).ok());
  EXPECT_TRUE(growth_of({replace(" ", "\u2581"), replace("\u2581", " ")}).ok());
  EXPECT_TRUE(growth_of(std::vector<Json>(32, replace(kilobyte.c_str(), kilobyte.c_str()))).ok());
}

TEST(TokenizerDecode, ends_where_the_text_becomes_too_long) {
  Json json = byte_level_json({{"a", "a"}});
  const Tokenizer tokenizer = load_tokenizer(json);
  const Ids ids(100, 256);  // "aa"
  EXPECT_EQ(tokenizer.decode(ids, false, 200), std::string(200, 'a'));
  EXPECT_EQ(tokenizer.decode(ids, false, 199), std::nullopt);
  EXPECT_EQ(tokenizer.decode({}, false, 0), "");
  // Bytes that are held back until the end count too.
  const Ids part_of_a_character = {0xE6, 0x97};
  EXPECT_EQ(tokenizer.decode(part_of_a_character, false, 3), "\uFFFD");
  EXPECT_EQ(tokenizer.decode(part_of_a_character, false, 2), std::nullopt);
}

}  // namespace
}  // namespace cascade::testing
