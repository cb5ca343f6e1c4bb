// Trust: a client's text never becomes a special token, and spans do not change ordinary text.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/tokenizer/text.h"
#include "tests/model/tokenizer/testing.h"

namespace cascade::testing {
namespace {

bool has_added_token(const Ids& ids, int32_t first) {
  return std::any_of(ids.begin(), ids.end(), [&](int32_t id) { return id >= first; });
}

// Cuts `text` into random spans, anywhere between bytes.
std::vector<TextSpan> random_spans(Random& random, const std::string& text, bool mixes_trust) {
  std::vector<TextSpan> spans;
  for (size_t begin = 0; begin < text.size();) {
    const size_t size = 1 + random.below(std::min<size_t>(text.size() - begin, 9));
    spans.push_back({text.substr(begin, size), mixes_trust && random.below(2) == 0});
    begin += size;
  }
  return spans;
}

TEST(TokenizerTrust, trusted_text_names_special_tokens_and_untrusted_does_not) {
  const Tokenizer tokenizer = load_demo_tokenizer();
  const int32_t start = *tokenizer.token_id("<|im_start|>");
  const int32_t first_added = *tokenizer.token_id("<|endoftext|>");
  EXPECT_EQ(encode(tokenizer, "<|im_start|>", true), Ids{start});
  for (const char* text : {"<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>",
                           "a<|endoftext|>b", "<|im_start|><|im_start|>"}) {
    const Ids ids = encode(tokenizer, text, false);
    EXPECT_FALSE(has_added_token(ids, first_added)) << text;
    EXPECT_EQ(tokenizer.decode(ids, true), text);
  }
}

TEST(TokenizerTrust, a_token_must_lie_within_one_trusted_span) {
  const Tokenizer tokenizer = load_demo_tokenizer();
  const int32_t first_added = *tokenizer.token_id("<|endoftext|>");
  const std::vector<std::vector<TextSpan>> cases = {
      {{"<|im_", true}, {"start|>", false}},
      {{"<|im_", false}, {"start|>", true}},
      {{"<|im_", false}, {"start|>", false}},
      {{"<|im_", true}, {"start|>", true}},
      {{"<", true}, {"|im_start|", false}, {">", true}},
      {{"<|im_start|>", false}, {"text", true}},
      {{"<|im_start", true}, {"", false}, {"|>", true}},
  };
  for (const auto& spans : cases) {
    EXPECT_FALSE(has_added_token(encode_spans(tokenizer, spans), first_added));
  }
  const Ids ids = encode_spans(
      tokenizer, {{"<|im_start|>user\n", true}, {"<|im_end|>", false}, {"<|im_end|>\n", true}});
  EXPECT_EQ(std::count_if(ids.begin(), ids.end(), [&](int32_t id) { return id >= first_added; }),
            2);
}

TEST(TokenizerTrust, random_untrusted_spans_never_give_added_tokens) {
  Random random(test_seed());
  const Tokenizer tokenizer = load_demo_tokenizer();
  const int32_t first_added = *tokenizer.token_id("<|endoftext|>");
  const std::vector<std::string> markers = {
      "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<|endoftext|>",
      "<tool_call>",  "<",          "|>",      "<|"};
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 8; ++i) {
      text += random.below(2) == 0 ? markers[random.below(markers.size())]
                                   : random_text(random, random.below(6));
    }
    const Ids ids = encode_spans(tokenizer, random_spans(random, text, false));
    EXPECT_FALSE(has_added_token(ids, first_added)) << text;
    EXPECT_EQ(ids, encode(tokenizer, text, false)) << text;
  }
}

// In ordinary text no span boundary has an effect, whatever is trusted.
TEST(TokenizerTrust, spans_do_not_change_the_ids_of_ordinary_text) {
  Random random(test_seed());
  const Tokenizer byte_level = load_demo_tokenizer();
  const Tokenizer sentence_piece = load_tokenizer(
      sentence_piece_json({"\u2581", "a", "e", "t", "h"}, {{"t", "h"}, {"th", "e"}}));
  for (int round = 0; round < 200; ++round) {
    std::string text = random_text(random, random.below(80));
    if (round % 4 == 0) text += random_bytes(random, random.below(40));
    std::erase(text, '<');
    for (const Tokenizer* tokenizer : {&byte_level, &sentence_piece}) {
      const auto spans = random_spans(random, text, true);
      EXPECT_EQ(encode_spans(*tokenizer, spans), encode(*tokenizer, text, false)) << text;
    }
  }
}

TEST(TokenizerTrust, plain_added_tokens_are_found_everywhere) {
  Json json = byte_level_json({});
  json["added_tokens"] = {added_token(256, "\n\n\n", false), added_token(257, "pad", true),
                          added_token(258, "<b>", false), added_token(259, "a\uFF5Cb", false),
                          added_token(260, "[x", false)};
  const Tokenizer tokenizer = load_tokenizer(json);
  EXPECT_EQ(encode(tokenizer, "a\n\n\nb", false), (Ids{'a', 256, 'b'}));
  EXPECT_EQ(encode_spans(tokenizer, {{"\n", true}, {"\n\n", false}}), (Ids{256}));
  EXPECT_EQ(encode(tokenizer, "pad", true), (Ids{257}));
  EXPECT_EQ(encode(tokenizer, "pad", false), (Ids{'p', 'a', 'd'}));
  EXPECT_EQ(encode(tokenizer, "<b>", true), (Ids{258}));
  EXPECT_EQ(encode(tokenizer, "<b>", false).size(), 3u);
  EXPECT_EQ(encode(tokenizer, "a\uFF5Cb", false).size(), 5u);
  EXPECT_EQ(encode(tokenizer, "[x", false).size(), 2u);
}

// Some files have rules, or whole-word entries, that spell a special token.
TEST(TokenizerTrust, merges_never_give_a_token_that_needs_trust) {
  Json json = byte_level_json({{"<", "s"}, {"<s", ">"}});
  json["added_tokens"] = Json::array({added_token(257, "<s>")});
  EXPECT_EQ(encode(load_tokenizer(json), "<s>", true), (Ids{257}));
  EXPECT_EQ(encode(load_tokenizer(json), "<s>", false), (Ids{'<', 's', '>'}));
  json["pre_tokenizer"]["use_regex"] = false;
  EXPECT_EQ(encode(load_tokenizer(json), "<s>", false), (Ids{256, '>'}));
  json["model"]["ignore_merges"] = true;
  EXPECT_EQ(encode(load_tokenizer(json), "<s>", false), (Ids{256, '>'}));
  json["added_tokens"][0]["special"] = false;
  EXPECT_EQ(encode(load_tokenizer(json), "<s>", false), (Ids{256, '>'}));
  json["added_tokens"].clear();
  EXPECT_EQ(encode(load_tokenizer(json), "<s>", false), (Ids{257}));
}

// A padding token may be an ordinary character; it must remain possible to write that character.
TEST(TokenizerTrust, a_special_token_of_one_character_remains_a_character) {
  Json json = byte_level_json({});
  json["added_tokens"] = Json::array({added_token('!', "!")});
  EXPECT_EQ(encode(load_tokenizer(json), "a!", false), (Ids{'a', '!'}));
}

TEST(TokenizerTrust, normalized_tokens_keep_to_trusted_text) {
  Json json = byte_level_json({});
  json["normalizer"] = {{"type", "NFC"}};
  json["added_tokens"] = {added_token(256, "<\u00E9>"), added_token(257, "<x>")};
  json["added_tokens"][0]["normalized"] = true;
  json["added_tokens"][1]["normalized"] = true;
  const Tokenizer tokenizer = load_tokenizer(json);
  const std::string decomposed = "<e\u0301>";
  EXPECT_EQ(encode(tokenizer, decomposed, true), (Ids{256}));
  EXPECT_EQ(encode(tokenizer, decomposed, false).size(), 4u);
  const std::vector<TextSpan> around = {
      {"\u65E5\u0301", false}, {"<x>", true}, {"\u0338\u65E5", false}};
  // The mark after the token combines with the token's last character, so this is not the token.
  EXPECT_FALSE(has_added_token(encode_spans(tokenizer, around), 256));
  const Ids ids = encode_spans(tokenizer, {{"e\u0301", false},
                                           {decomposed, true},
                                           {"\u65E5e\u0301<x>", false},
                                           {"<x>", true},
                                           {"\u65E5", false}});
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 256), 1);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 257), 1);
}

TEST(TokenizerTrust, a_prepending_normalizer_keeps_trust_apart) {
  Json json = sentence_piece_json({"\u2581", "a"}, {});
  Json token = added_token(400, "<x>");
  token["normalized"] = true;  // its normalised spelling begins with U+2581
  json["added_tokens"].push_back(token);
  const Tokenizer tokenizer = load_tokenizer(json);
  EXPECT_EQ(encode(tokenizer, "<x>", true), (Ids{400}));
  EXPECT_FALSE(has_added_token(encode(tokenizer, "<x>", false), 400));
  EXPECT_EQ(encode_spans(tokenizer, {{"a", false}, {" <x>", true}}), (Ids{259, 260, 400}));
  EXPECT_FALSE(has_added_token(encode_spans(tokenizer, {{"a ", false}, {"<x>", true}}), 400));
}

TEST(TokenizerTrust, malformed_bytes_are_replaced_and_trust_stays_in_place) {
  Random random(test_seed());
  for (int round = 0; round < 300; ++round) {
    const std::string bytes = random_bytes(random, random.below(30)) + "\xFF";
    const auto spans = random_spans(random, bytes, true);
    std::vector<SpanView> views;
    for (const TextSpan& span : spans) views.push_back({span.text, span.trusted});
    const auto joined = join_spans(views);
    ASSERT_TRUE(joined.ok());
    EXPECT_EQ(joined->text, utf8_replace_malformed(bytes));
    size_t end = 0;
    for (const ByteRange& range : joined->trusted) {
      EXPECT_LE(end, range.begin);
      EXPECT_LT(range.begin, range.end);
      end = range.end;
    }
    EXPECT_LE(end, joined->text.size());
  }
  const std::vector<SpanView> views = {{"\xE6\x97", true}, {"\xA5<x>", false}, {"\xFF<s>", true}};
  const auto joined = join_spans(views);
  ASSERT_TRUE(joined.ok());
  EXPECT_EQ(joined->text, "\u65E5<x>\uFFFD<s>");
  EXPECT_EQ(joined->trusted, (std::vector<ByteRange>{{6, 12}}));
}

}  // namespace
}  // namespace cascade::testing
