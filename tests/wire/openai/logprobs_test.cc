// Log-probabilities by token: what is asked for, names, bytes and places in the text.
#include "wire/openai/logprobs.h"

#include <gtest/gtest.h>

#include "tests/wire/openai/reply_json.h"

namespace cascade::openai {
namespace {

using testing::parsed;

using Ids = std::vector<int32_t>;
using Texts = std::vector<TokenText>;

wire::Final sampled(Ids tokens, Ids tops = {}) {
  wire::Final final;
  final.token_ids = std::move(tokens);
  for (size_t i = 0; i < final.token_ids.size(); ++i) {
    final.logprobs.push_back(-1 - static_cast<float>(i));
  }
  final.top_token_ids = std::move(tops);
  for (size_t i = 0; i < final.top_token_ids.size(); ++i) {
    final.top_logprobs.push_back(-0.5F * static_cast<float>(i + 1));
  }
  return final;
}

TEST(OpenAiLogprobs, ask_for_the_answer_and_for_the_likely_tokens_at_each_place) {
  wire::Final final = sampled({1, 2, 3}, {11, 12, 21, 22, 31, 32});
  auto asked = token_text_requests(final, /*goes_on=*/false);
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_EQ(asked[0].token_ids, (Ids{1, 2, 3}));
  EXPECT_EQ(asked[0].text_start, TextStart::kFirst);
  EXPECT_EQ(asked[1].token_ids, (Ids{11, 12}));
  EXPECT_EQ(asked[1].text_start, TextStart::kEach);
  EXPECT_EQ(asked[2].token_ids, (Ids{21, 22, 31, 32}));
  EXPECT_EQ(asked[2].text_start, TextStart::kNone);
  for (const wire::DetokenizeRequest& request : asked) {
    EXPECT_TRUE(request.pieces && request.piece_bytes);
    EXPECT_EQ(request.skip_special, request.token_ids.size() == 3);
  }
  asked = token_text_requests(final, /*goes_on=*/true);
  for (const auto& request : asked) EXPECT_EQ(request.text_start, TextStart::kNone);
  // The answer comes after thoughts, so it begins a text, even if the thoughts continued one.
  final.think_spans = {{0, 2, true}};
  asked = token_text_requests(final, /*goes_on=*/true);
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].token_ids, (Ids{3}));
  EXPECT_EQ(asked[0].text_start, TextStart::kFirst);
  EXPECT_EQ(asked[1].token_ids, (Ids{31, 32}));
  final.think_spans = {{0, 3, false}};
  EXPECT_TRUE(token_text_requests(final, false).empty());
  EXPECT_TRUE(token_text_requests(sampled({}), false).empty());
}

TEST(OpenAiLogprobs, are_of_the_answer_wherever_thoughts_stand) {
  // a <think> x </think> \n\n b
  wire::Final final = sampled({1, 2, 3, 4, 5, 6, 7}, {11, 12, 13, 14, 15, 16, 17});
  final.think_spans = {{1, 4, true}};
  const auto asked = token_text_requests(final, /*goes_on=*/true);
  ASSERT_EQ(asked.size(), 5u);
  EXPECT_EQ(asked[0].token_ids, (Ids{1}));
  EXPECT_EQ(asked[0].text_start, TextStart::kNone);
  EXPECT_EQ(asked[1].token_ids, (Ids{5, 6, 7}));
  EXPECT_EQ(asked[1].text_start, TextStart::kFirst);
  EXPECT_EQ(asked[2].token_ids, (Ids{11}));
  EXPECT_EQ(asked[3].token_ids, (Ids{15}));
  EXPECT_EQ(asked[3].text_start, TextStart::kEach);
  EXPECT_EQ(asked[4].token_ids, (Ids{16, 17}));
  const Texts texts = {{"a", "a"}, {"\n\n", "\n\n"}, {"\nb", "\nb"}, {"c", "c"},
                       {"A", "A"}, {"N", "N"},       {"B", "B"},     {"C", "C"}};
  const OrderedJson text = encode_text_logprobs(final, texts);
  EXPECT_EQ(text["tokens"], parsed(R"(["a","b","c"])"));
  EXPECT_EQ(text["token_logprobs"], parsed("[-1.0,-6.0,-7.0]"));
  EXPECT_EQ(text["text_offset"], parsed("[0,1,2]"));
  EXPECT_EQ(text["top_logprobs"][1], parsed(R"({"B":-3.0,"b":-6.0})"));
}

TEST(OpenAiLogprobs, of_long_answers_are_asked_for_in_parts_and_begin_once) {
  const auto asked = token_text_requests(sampled(Ids(10'000, 7)), false);
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_EQ(asked[0].text_start, TextStart::kFirst);
  EXPECT_EQ(asked[1].text_start, TextStart::kNone);
  EXPECT_EQ(asked[0].token_ids.size() + asked[1].token_ids.size() + asked[2].token_ids.size(),
            10'000u);
}

TEST(OpenAiLogprobs, take_replies_of_the_size_that_was_asked_for_only) {
  Texts texts;
  EXPECT_TRUE(append_texts({"é", {"\uFFFD", "\uFFFD"}, {{"\xC3"}, {"\xA9"}}}, 2, texts));
  EXPECT_EQ(texts[1].bytes, "\xA9");
  EXPECT_FALSE(append_texts({"a", {"a"}, {{"a"}}}, 2, texts));
  EXPECT_FALSE(append_texts({"a", {"a"}, {}}, 1, texts));
  EXPECT_EQ(texts.size(), 2u);
}

TEST(OpenAiLogprobs, parts_of_a_character_have_their_bytes) {
  const Texts texts = {{"\uFFFD", "\xC3"}, {"\uFFFD", "\xA9"}};
  const OrderedJson content = encode_logprobs(sampled({1, 2}), texts)["content"];
  EXPECT_EQ(content[0]["bytes"], (std::vector<int>{0xC3}));
  EXPECT_EQ(content[0]["token"], "\uFFFD");
  EXPECT_EQ(content[1]["bytes"], (std::vector<int>{0xA9}));
}

TEST(OpenAiLogprobs, special_tokens_add_nothing_and_are_spelled_where_they_are_likely) {
  const Texts texts = {{"", ""},           {"a", "a"},        {"", ""}, {"<call>", "<call>"},
                       {"<end>", "<end>"}, {"<end>", "<end>"}};
  const auto final = sampled({1, 2, 3}, {1, 3, 3});
  const OrderedJson content = encode_logprobs(final, texts)["content"];
  ASSERT_EQ(content.size(), 2u);  // the end is not part of the answer
  EXPECT_EQ(content[0]["token"], "");
  EXPECT_TRUE(content[0]["bytes"].is_null());
  EXPECT_EQ(content[0]["top_logprobs"][0]["token"], "");  // the sampled token
  EXPECT_EQ(content[1]["top_logprobs"][0]["token"], "<end>");
  const OrderedJson text = encode_text_logprobs(final, texts);
  EXPECT_EQ(text["tokens"], parsed(R"(["","a"])"));
  EXPECT_EQ(text["text_offset"], parsed("[0,0]"));
}

TEST(OpenAiLogprobs, of_texts_list_tokens_and_their_places) {
  const Texts texts = {{"Hi", "Hi"}, {" you", " you"}, {"<end>", ""},
                       {"Hi", "Hi"}, {" you", " you"}, {"<end>", ""}};
  EXPECT_EQ(encode_text_logprobs(sampled({3, 4, 5}, {3, 4, 5}), texts),
            parsed(R"({"tokens":["Hi"," you"],"token_logprobs":[-1.0,-2.0],)"
                   R"("top_logprobs":[{"Hi":-0.5},{" you":-1.0}],"text_offset":[0,2]})"));
}

TEST(OpenAiLogprobs, offsets_count_characters) {
  // “é” and an emoji of a waving hand, in parts. The last byte cannot begin a character.
  const Texts texts = {{"“", "“"},
                       {"\uFFFD", "\xC3"},
                       {"\uFFFD", "\xA9"},
                       {"”", "”"},
                       {"\uFFFD", "\xF0\x9F"},
                       {"\uFFFD", "\x91\x8B"},
                       {"\uFFFD", "\xFF"},
                       {"!", "!"}};
  const OrderedJson text = encode_text_logprobs(sampled({1, 2, 3, 4, 5, 6, 7, 8}), texts);
  EXPECT_EQ(text["text_offset"], parsed("[0,1,1,2,3,3,4,5]"));
  EXPECT_EQ(text["tokens"][1], R"(bytes:\xc3)");
  EXPECT_EQ(text["tokens"][4], R"(bytes:\xf0\x9f)");
}

TEST(OpenAiLogprobs, likely_tokens_with_one_text_are_all_there) {
  const Texts texts = {{"a", "a"}, {"a", "a"}, {"a", "a"}, {"\uFFFD", "\xC3"}, {"\uFFFD", "\xC4"}};
  const OrderedJson likely =
      encode_text_logprobs(sampled({7}, {9, 7, 5, 6}), texts)["top_logprobs"][0];
  // The sampled token is named by the text. A likelier token with the same text is named by its id.
  EXPECT_EQ(likely, parsed(R"({"token_id:9":-0.5,"a":-1.0,"bytes:\\xc3":-1.5,)"
                           R"("bytes:\\xc4":-2.0})"));
}

TEST(OpenAiLogprobs, the_sampled_token_is_always_among_the_likely_ones) {
  const Texts texts = {{"a", "a"}, {"b", "b"}, {"a", "a"}};
  const OrderedJson likely = encode_text_logprobs(sampled({7}, {8, 9}), texts)["top_logprobs"][0];
  EXPECT_EQ(likely, parsed(R"({"b":-0.5,"token_id:9":-1.0,"a":-1.0})"));
  const Texts alone = {{"a", "a"}};
  EXPECT_EQ(encode_text_logprobs(sampled({7}), alone)["top_logprobs"][0], parsed(R"({"a":-1.0})"));
}

}  // namespace
}  // namespace cascade::openai
