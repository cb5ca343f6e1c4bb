// The tokens that a state allows, compared with trying each token.
#include "model/grammar/token_mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "base/random.h"
#include "tests/long_tests.h"
#include "tests/model/grammar/grammar_testing.h"
#include "tests/model/grammar/random_schema.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using ::testing::ElementsAre;

// Every byte, and texts that occur in JSON.
std::vector<std::string> vocabulary(Random& random) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.push_back(std::string(1, static_cast<char>(byte)));
  for (const char* text :
       {"{\"",  "\":", "\", \"", "\"}", "]}",       "[[",    "true", "null",    "12", "-1",
        "a\":", "ab",  "\n ",    ", ",  "\xC3\xA9", "\\u00", "\\\"", "\"a\": ", "",   ""}) {
    tokens.push_back(text);
  }
  for (int i = 0; i < 300; ++i) {
    std::string text;
    for (uint64_t n = random.below(5); n > 0; --n) text += "{}[]\",: abc10.-\\nu"[random.below(18)];
    tokens.push_back(text);
  }
  return tokens;
}

TEST(TokenTrie, holds_every_token_once_in_the_order_of_a_walk) {
  const TokenTrie trie({"ab", "", "a", "abc", "b", "ab", std::string(2000, 'x')});
  std::vector<std::string> seen;
  std::string path;
  for (const TokenTrie::Node& node : trie.nodes()) {
    path.resize(node.depth - 1u);
    path.push_back(static_cast<char>(node.byte));
    for (const int32_t id : trie.tokens(node)) seen.push_back(path + std::to_string(id));
  }
  EXPECT_THAT(seen, ElementsAre("a2", "ab0", "ab5", "abc3", "b4"));
  EXPECT_EQ(trie.depth(), 3u);
  EXPECT_EQ(trie.nodes()[0].end, 3u);
  EXPECT_EQ(trie.nodes()[1].end, 3u);
}

TEST(TokenMask, allows_exactly_the_tokens_that_a_matcher_takes) {
  Random random(testing::test_seed());
  const std::vector<std::string> tokens = vocabulary(random);
  const TokenTrie trie(tokens);
  int states = 0;
  const int schemas = testing::long_or(120, 30);
  for (int i = 0; i < schemas; ++i) {
    const OrderedJson schema = testing::random_schema(random);
    auto grammar = compile_grammar(GrammarKind::kJsonSchema, schema.dump(), "schema");
    if (!grammar.ok()) continue;
    // In half of the rounds the memory is so small that known states are forgotten again and again.
    const size_t memory = random.below(2) == 0 ? 20'000 : GrammarAutomaton::kMemoryMax;
    GrammarAutomaton automaton(std::make_shared<Grammar>(*std::move(grammar)), memory);
    Matcher matcher(automaton);
    for (int step = 0; step < 30; ++step) {
      const TokenSet allowed =
          allowed_tokens(automaton, matcher.state().get(), trie, tokens.size());
      std::vector<int32_t> ids;
      for (size_t id = 0; id < tokens.size(); ++id) {
        Matcher tried = matcher;
        const bool takes = !tokens[id].empty() && tried.accept(tokens[id]);
        ASSERT_EQ(allowed.has(static_cast<int32_t>(id)), takes)
            << schema.dump() << " " << tokens[id];
        if (takes) ids.push_back(static_cast<int32_t>(id));
      }
      ++states;
      ASSERT_EQ(ids.empty(), !matcher.can_continue());
      if (ids.empty()) break;
      ASSERT_TRUE(matcher.accept(tokens[static_cast<size_t>(ids[random.below(ids.size())])]));
    }
  }
  EXPECT_GT(states, testing::long_or(500, schemas));
}

TEST(TokenMask, too_much_work_leaves_out_long_tokens_and_the_same_ones_each_time) {
  // Each letter can be read in so many ways that the limit of work is reached before all tokens are
  // looked at.
  std::string ways;
  for (int i = 0; i < 900; ++i) {
    ways +=
        (i == 0 ? "" : ",") + std::string(R"({"pattern": "^[a-z]*)") + std::to_string(i) + R"($"})";
  }
  testing::Accepting grammar(GrammarKind::kParts, R"({"any_of": [)" + ways + "]}");
  Random random(testing::test_seed());
  std::vector<std::string> tokens;
  for (char c = 'a'; c <= 'z'; ++c) tokens.push_back(std::string(1, c));
  for (int i = 0; i < 20'000; ++i) {
    std::string token;
    for (uint64_t n = 2 + random.below(4); n > 0; --n)
      token += static_cast<char>('a' + random.below(26));
    tokens.push_back(token);
  }
  const TokenTrie trie(tokens);
  const auto allowed = [&](GrammarAutomaton& automaton, const Matcher& matcher) {
    return allowed_tokens(automaton, matcher.state().get(), trie, tokens.size()).words;
  };
  Matcher matcher(grammar.automaton());
  const auto first = allowed(grammar.automaton(), matcher);
  EXPECT_EQ(allowed(grammar.automaton(), matcher), first);
  size_t count = 0;
  for (const uint64_t word : first) count += static_cast<size_t>(std::popcount(word));
  EXPECT_EQ(first[0] & 0x3FFFFFF, 0x3FFFFFFu);
  EXPECT_GT(count, 1000u);
  EXPECT_LT(count, tokens.size());
}

TEST(TokenMask, is_kept_by_state_and_has_end_tokens_where_the_text_may_end) {
  testing::Accepting schema(R"({"enum": [1, 12]})");
  const std::vector<std::string> tokens = {"1", "2", "12", "", "3"};
  const std::vector<int32_t> ends = {3};
  const TokenTrie trie(tokens);
  TokenMasks masks(trie, ends, tokens.size());
  Matcher matcher(schema.automaton());
  const auto first = masks.allowed(schema.automaton(), matcher.state());
  EXPECT_THAT(first->words, ElementsAre(0b00101));
  EXPECT_EQ(masks.allowed(schema.automaton(), matcher.state()).get(), first.get());
  ASSERT_TRUE(matcher.accept("1"));
  EXPECT_THAT(masks.allowed(schema.automaton(), matcher.state())->words, ElementsAre(0b01010));
  ASSERT_TRUE(matcher.accept("2"));
  EXPECT_THAT(masks.allowed(schema.automaton(), matcher.state())->words, ElementsAre(0b01000));
}

TEST(TokenMask, a_bounded_number_of_masks_and_states_is_kept) {
  testing::Accepting schema(R"({"type": "string", "maxLength": 5000})");
  const std::vector<std::string> tokens = {"\"", "x", "xxxxxxxx"};
  const std::vector<int32_t> ends;
  const TokenTrie trie(tokens);
  TokenMasks masks(trie, ends, tokens.size());
  Matcher matcher(schema.automaton());
  ASSERT_TRUE(matcher.accept("\""));
  for (int i = 0; i < 5000; ++i) {
    ASSERT_EQ(masks.allowed(schema.automaton(), matcher.state())->has(2), i <= 4992) << i;
    ASSERT_TRUE(matcher.accept("x"));
  }
  EXPECT_EQ(masks.allowed(schema.automaton(), matcher.state())->words[0], 1u);
  EXPECT_LE(masks.memory_bytes(), TokenMasks::kSetsMax * 601);
  EXPECT_LE(schema.automaton().memory_bytes(), GrammarAutomaton::kMemoryMax + 10'000);
}

}  // namespace
}  // namespace cascade
