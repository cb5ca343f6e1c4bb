// Merge rules, runs, fallbacks and caches, compared with a simple reference.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "model/tokenizer/bpe_merges.h"
#include "tests/model/tokenizer/testing.h"

namespace cascade::testing {
namespace {

using Symbols = std::vector<std::string>;

// The definition: while a rule exists for two neighbours, join the leftmost pair that has the best
// rule.
class NaiveMerges {
 public:
  explicit NaiveMerges(const MergeList& rules) {
    for (size_t rank = 0; rank < rules.size(); ++rank) ranks_[rules[rank]] = rank;
  }
  Symbols apply(Symbols symbols) const {
    for (;;) {
      size_t best_rank = std::numeric_limits<size_t>::max();
      size_t best = 0;
      for (size_t i = 0; i + 1 < symbols.size(); ++i) {
        const auto rule = ranks_.find({symbols[i], symbols[i + 1]});
        if (rule == ranks_.end() || rule->second >= best_rank) continue;
        best_rank = rule->second;
        best = i;
      }
      if (best_rank == std::numeric_limits<size_t>::max()) return symbols;
      symbols[best] += symbols[best + 1];
      symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(best) + 1);
    }
  }

 private:
  std::map<std::pair<std::string, std::string>, size_t> ranks_;
};

// Random rules over the `characters` and the results of earlier rules, in random order of rank.
MergeList random_rules(Random& random, const std::vector<std::string>& characters, size_t count) {
  std::vector<std::string> known = characters;
  std::map<std::pair<std::string, std::string>, bool> seen;
  MergeList rules;
  while (rules.size() < count) {
    const std::pair<std::string, std::string> rule = {known[random.below(known.size())],
                                                      known[random.below(known.size())]};
    if (rule.first.size() + rule.second.size() > 24 || seen[rule]) continue;
    seen[rule] = true;
    rules.push_back(rule);
    known.push_back(rule.first + rule.second);
  }
  for (size_t i = rules.size(); i > 1; --i) std::swap(rules[i - 1], rules[random.below(i)]);
  return rules;
}

TEST(TokenizerMerges, words_of_any_length_equal_the_definition) {
  Random random(test_seed());
  const std::vector<std::string> letters = {"a", "b", "c", "d"};
  for (int round = 0; round < 20; ++round) {
    const MergeList rules = random_rules(random, letters, 30);
    const NaiveMerges naive(rules);
    const Tokenizer tokenizer = load_tokenizer(byte_level_json(rules));
    for (const size_t size : {1, 2, 3, 7, 20, 47, 48, 49, 51, 52, 53, 100, 300}) {
      std::string word;
      Symbols symbols;
      for (size_t i = 0; i < size; ++i) {
        symbols.push_back(letters[random.below(letters.size())]);
        word += symbols.back();
      }
      EXPECT_EQ(token_texts(tokenizer, encode(tokenizer, word)), naive.apply(symbols)) << word;
    }
  }
}

TEST(TokenizerMerges, text_without_pre_tokenization_equals_the_definition) {
  Random random(test_seed());
  const std::vector<std::string> characters = {"\u2581", "a", "b", "\u00E9", "\u65E5"};
  for (int round = 0; round < 20; ++round) {
    const MergeList rules = random_rules(random, characters, 12);
    const NaiveMerges naive(rules);
    Json json = sentence_piece_json(characters, rules);
    json["decoder"] = nullptr;  // tokens as they are spelled
    const Tokenizer tokenizer = load_tokenizer(json);
    std::string text;
    Symbols symbols = {"\u2581"};
    for (int i = 0; i < 200; ++i) {
      const size_t choice = random.below(characters.size() + 2);
      if (choice < characters.size()) {
        symbols.push_back(characters[choice]);
        text += choice == 0 ? " " : characters[choice];
      } else if (choice == characters.size()) {
        symbols.push_back("<0x7A>");
        text += "z";
      } else {
        symbols.insert(symbols.end(), {"<0xC3>", "<0xA8>"});
        text += "\u00E8";
      }
    }
    EXPECT_EQ(token_texts(tokenizer, encode(tokenizer, text)), naive.apply(symbols));
  }
}

TEST(TokenizerMerges, a_word_of_megabytes_is_merged) {
  const Tokenizer tokenizer =
      load_tokenizer(byte_level_json({{"a", "a"}, {"aa", "aa"}, {"aaaa", "aaaa"}}));
  const Ids ids = encode(tokenizer, std::string((size_t{4} << 20) + 3, 'a'));
  ASSERT_EQ(ids.size(), (size_t{4} << 20) / 8 + 2);
  EXPECT_EQ(ids.front(), 258);
  EXPECT_EQ(ids[ids.size() - 2], 256);
  EXPECT_EQ(ids.back(), 'a');
}

// Whether the last step spells bytes in the alphabet affects only the speed.
TEST(TokenizerMerges, raw_bytes_and_spelled_bytes_give_the_same_ids) {
  Random random(test_seed());
  const MergeList rules = {{"t", "h"},       {"th", "e"}, {"h", "e"}, {" ", "t"},  {" t", "he"},
                           {"\xC3", "\xA9"}, {"1", "2"},  {" ", " "}, {"\n", "\n"}};
  Json json = byte_level_json(rules);
  const Tokenizer raw = load_tokenizer(json);
  const Json never = {{"type", "Split"},
                      {"pattern", {{"String", "\u3042"}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
  json["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {json["pre_tokenizer"], never}}};
  const Tokenizer spelled = load_tokenizer(json);
  for (int round = 0; round < 200; ++round) {
    const std::string text = random_text(random, random.below(120)) + " the th\u00E9 12";
    EXPECT_EQ(encode(raw, text), encode(spelled, text)) << text;
  }
}

TEST(TokenizerMerges, the_cache_does_not_change_ids) {
  Random random(test_seed());
  const Tokenizer tokenizer = load_demo_tokenizer();
  std::vector<std::string> words;
  for (int i = 0; i < 400; ++i) words.push_back(" " + random_text(random, 1 + random.below(9)));
  Ids expected;
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    const std::string& word = words[random.below(words.size())];
    const std::string line = "x" + word + "x\n";
    const Ids ids = encode(tokenizer, line);
    expected.insert(expected.end(), ids.begin(), ids.end());
    text += line;
  }
  // NFC and pre-tokenisation give the same for the whole text as for its lines: each line ends with
  // a line end and begins with a letter.
  EXPECT_EQ(encode(tokenizer, text), expected);
}

TEST(TokenizerMerges, ignore_merges_takes_whole_pieces_from_the_vocabulary) {
  Json json = byte_level_json({{"a", "b"}});
  json["model"]["vocab"]["abcab"] = 300;
  json["model"]["vocab"][std::string(80, 'x')] = 301;
  EXPECT_EQ(encode(load_tokenizer(json), "abcab"), (Ids{256, 'c', 256}));
  json["model"]["ignore_merges"] = true;
  const Tokenizer tokenizer = load_tokenizer(json);
  EXPECT_EQ(encode(tokenizer, "abcab"), (Ids{300}));
  EXPECT_EQ(encode(tokenizer, "abcabc"), (Ids{256, 'c', 256, 'c'}));
  EXPECT_EQ(encode(tokenizer, std::string(80, 'x')), (Ids{301}));
  EXPECT_EQ(encode(tokenizer, std::string(79, 'x')), Ids(79, 'x'));
  // A part of a long piece is not itself a piece.
  EXPECT_EQ(encode(tokenizer, std::string(60, 'y') + "abcab").size(), 63u);
}

// The reference emits an unknown symbol when the next known character comes.
TEST(TokenizerMerges, unknown_characters_give_the_unknown_token) {
  Json json = sentence_piece_json({"\u2581", "a", "b"}, {{"a", "b"}});
  json["model"]["byte_fallback"] = false;
  const int32_t space = 259, a = 260, ab = 262;
  EXPECT_EQ(encode(load_tokenizer(json), "a??ab?"), (Ids{space, a, 0, ab, 0}));
  json["model"]["fuse_unk"] = false;
  EXPECT_EQ(encode(load_tokenizer(json), "a??ab?"), (Ids{space, a, 0, 0, ab, 0}));
  json["model"]["unk_token"] = nullptr;
  EXPECT_EQ(encode(load_tokenizer(json), "a?b"), (Ids{space, ab}));
}

TEST(TokenizerMerges, byte_fallback_needs_all_bytes_of_a_character) {
  Json json = sentence_piece_json({"\u2581", "a"}, {});
  EXPECT_EQ(encode(load_tokenizer(json), "\u00E9"), (Ids{259, 3 + 0xC3, 3 + 0xA9}));
  json["model"]["vocab"].erase("<0xA9>");
  EXPECT_EQ(encode(load_tokenizer(json), "\u00E9\u00E8"), (Ids{259, 3 + 0xC3, 3 + 0xA8, 0}));
}

TEST(TokenizerMerges, rules_may_be_strings_or_pairs) {
  const Json pairs = byte_level_json({{"a", "b"}, {"ab", "c"}, {" ", "a"}});
  Json strings = pairs;
  strings["model"]["merges"] = {"#version: 0.2", "a b", "ab c", "\u0120 a"};
  const Tokenizer first = load_tokenizer(pairs);
  const Tokenizer second = load_tokenizer(strings);
  EXPECT_EQ(encode(first, "abcab abc a"), encode(second, "abcab abc a"));
}

TEST(TokenizerMerges, load_leaves_out_blocked_results) {
  BpeVocabulary vocabulary;
  int32_t id = 0;
  for (const char* text : {"a", "b", "c", "ab", "abc"}) {
    ASSERT_TRUE(vocabulary.add(text, id++, "vocab").ok());
  }
  const Json rules = {"a b", "ab c"};
  size_t visited = 0;
  const auto merges = BpeMerges::load(
      rules, "merges", vocabulary, [](int32_t blocked) { return blocked == 4; },
      [&](std::string_view, std::string_view) { ++visited; });
  ASSERT_TRUE(merges.ok());
  BpeMergeScratch scratch;
  Ids symbols = {0, 1, 2};
  merges->apply(symbols, scratch);
  EXPECT_EQ(symbols, (Ids{3, 2}));
  EXPECT_EQ(visited, 1u);
}

}  // namespace
}  // namespace cascade::testing
