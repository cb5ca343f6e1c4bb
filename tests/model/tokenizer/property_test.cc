// Properties of encoding and decoding on random texts and ids.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/model/tokenizer/testing.h"

namespace cascade::testing {
namespace {

std::string stream_decode(const Tokenizer& tokenizer, const Ids& ids, bool skip_special) {
  Tokenizer::StreamDecoder decoder(tokenizer, skip_special);
  std::string text;
  for (const int32_t id : ids) {
    const std::string piece = decoder.push(id);
    EXPECT_TRUE(is_utf8(piece));
    text += piece;
  }
  text += decoder.finish();
  EXPECT_EQ(decoder.finish(), "");
  return text;
}

Ids random_token_ids(Random& random, const Tokenizer& tokenizer, size_t count) {
  Ids ids;
  for (size_t i = 0; i < count; ++i) {
    // Includes a few ids that no token has.
    ids.push_back(
        static_cast<int32_t>(random.below(static_cast<uint64_t>(tokenizer.id_count()) + 20)) - 5);
  }
  return ids;
}

TEST(TokenizerProperty, byte_level_text_comes_back) {
  Random random(test_seed());
  Json json = read_json(demo_model_dir() / "tokenizer.json");
  json["normalizer"] = nullptr;
  const Tokenizer tokenizer = load_tokenizer(json);
  for (int round = 0; round < 500; ++round) {
    const std::string text = random_text(random, random.below(200));
    EXPECT_EQ(tokenizer.decode(encode(tokenizer, text), false), text);
  }
}

TEST(TokenizerProperty, malformed_text_comes_back_with_replacement_characters) {
  Random random(test_seed());
  Json json = read_json(demo_model_dir() / "tokenizer.json");
  json["normalizer"] = nullptr;
  const Tokenizer tokenizer = load_tokenizer(json);
  for (int round = 0; round < 500; ++round) {
    const std::string bytes = random_bytes(random, random.below(60));
    EXPECT_EQ(tokenizer.decode(encode(tokenizer, bytes), false), utf8_replace_malformed(bytes));
  }
}

// This holds only where the text does not begin with a space: one is added, and one is taken away.
TEST(TokenizerProperty, sentence_piece_text_comes_back) {
  Random random(test_seed());
  const Tokenizer tokenizer = load_tokenizer(
      sentence_piece_json({"\u2581", "a", "e", "t"}, {{"a", "t"}, {"\u2581", "\u2581"}}));
  for (int round = 0; round < 300; ++round) {
    const std::string text = random_text(random, random.below(200));
    if (text.find("\u2581") != std::string::npos) continue;
    EXPECT_EQ(tokenizer.decode(encode(tokenizer, text), false), text);
  }
}

TEST(TokenizerProperty, streamed_text_equals_the_whole) {
  Random random(test_seed());
  std::vector<Tokenizer> tokenizers;
  tokenizers.push_back(load_demo_tokenizer());
  tokenizers.push_back(
      load_tokenizer(sentence_piece_json({"\u2581", "a", "e"}, {{"\u2581", "a"}, {"a", "e"}})));
  for (const Tokenizer& tokenizer : tokenizers) {
    for (int round = 0; round < 400; ++round) {
      const Ids ids = random_token_ids(random, tokenizer, random.below(40));
      for (const bool skip_special : {false, true}) {
        const std::string whole = tokenizer.decode(ids, skip_special);
        EXPECT_TRUE(is_utf8(whole));
        EXPECT_EQ(stream_decode(tokenizer, ids, skip_special), whole);
      }
    }
  }
}

// Later tokens never change the text that a stream has already given.
TEST(TokenizerProperty, streamed_pieces_are_a_prefix_of_the_text) {
  Random random(test_seed());
  const Tokenizer tokenizer = load_demo_tokenizer();
  for (int round = 0; round < 100; ++round) {
    const Ids ids = random_token_ids(random, tokenizer, 30);
    const std::string whole = tokenizer.decode(ids, false);
    Tokenizer::StreamDecoder decoder(tokenizer, false);
    std::string given;
    for (const int32_t id : ids) {
      given += decoder.push(id);
      EXPECT_TRUE(whole.starts_with(given));
    }
  }
}

TEST(TokenizerProperty, a_moved_stream_goes_on) {
  const Tokenizer tokenizer = load_demo_tokenizer();
  const Ids ids = encode(tokenizer, "caf\u00E9 \U0001F600!");
  Tokenizer::StreamDecoder first(tokenizer, false);
  std::string text;
  for (size_t i = 0; i + 1 < ids.size(); ++i) text += first.push(ids[i]);
  Tokenizer::StreamDecoder second = std::move(first);
  text += second.push(ids.back());
  EXPECT_EQ(text + second.finish(), "caf\u00E9 \U0001F600!");
}

TEST(TokenizerProperty, many_threads_get_the_same_ids) {
  const uint64_t seed = test_seed();
  const Tokenizer tokenizer = load_demo_tokenizer();
  Random random(seed);
  const std::string text = random_text(random, 5000);
  const Ids expected = encode(tokenizer, text);
  std::vector<Ids> results(4);
  std::vector<std::thread> threads;
  for (Ids& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) result = encode(tokenizer, text);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Ids& result : results) EXPECT_EQ(result, expected);
}

TEST(TokenizerProperty, a_moved_tokenizer_works) {
  Tokenizer first = load_demo_tokenizer();
  const Ids expected = encode(first, "Hello world");
  const Tokenizer second = std::move(first);
  EXPECT_EQ(encode(second, "Hello world"), expected);
}

TEST(TokenizerProperty, text_beyond_the_limit_is_refused) {
  const Tokenizer tokenizer = load_demo_tokenizer();
  const std::string text((size_t{64} << 20) + 1, ' ');
  const auto ids = tokenizer.encode(text, false, false);
  ASSERT_FALSE(ids.ok());
  EXPECT_EQ(ids.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(ids.error().field, "text");
}

TEST(TokenizerProperty, empty_text_gives_only_the_template) {
  Json json = byte_level_json({});
  json["added_tokens"] = {added_token(256, "<s>"), added_token(257, "</s>")};
  json["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single",
       {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
        {{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
        {{"SpecialToken", {{"id", "end"}, {"type_id", 0}}}}}},
      {"pair", Json::array()},
      {"special_tokens",
       {{"<s>", {{"id", "<s>"}, {"ids", {256}}, {"tokens", {"<s>"}}}},
        {"end", {{"id", "end"}, {"ids", {257, 257}}, {"tokens", {"</s>", "</s>"}}}}}}};
  const Tokenizer tokenizer = load_tokenizer(json);
  EXPECT_EQ(encode(tokenizer, ""), Ids());
  EXPECT_EQ(encode_spans(tokenizer, {}), Ids());
  EXPECT_EQ(*tokenizer.encode("", false, true), (Ids{256, 257, 257}));
  EXPECT_EQ(*tokenizer.encode("a", false, true), (Ids{256, 'a', 257, 257}));
  const Json inner = json["post_processor"];
  json["post_processor"] = {
      {"type", "Sequence"},
      {"processors", {{{"type", "ByteLevel"}, {"trim_offsets", true}}, inner}}};
  EXPECT_EQ(*load_tokenizer(json).encode("a", false, true), (Ids{256, 'a', 257, 257}));
}

}  // namespace
}  // namespace cascade::testing
