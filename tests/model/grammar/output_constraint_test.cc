// Generations with the demo model's tokens that must follow a grammar, token by token.
#include "model/grammar/output_constraint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "model/grammar/compile.h"
#include "tests/long_tests.h"
#include "tests/model/grammar/demo_vocabulary.h"
#include "tests/model/grammar/random_schema.h"
#include "tests/model/grammar/schema_validator.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using ::testing::HasSubstr;

using testing::demo_tokenizer;
using testing::demo_vocabulary;

constexpr size_t kTokens = testing::kDemoTokens;

int32_t id_of(std::string_view token) {
  return testing::demo_id(token);
}

std::shared_ptr<SharedGrammar> shared(GrammarKind kind, std::string_view text) {
  auto grammar = compile_grammar(kind, text, "schema");
  EXPECT_TRUE(grammar.ok()) << text;
  return std::make_shared<SharedGrammar>(*std::move(grammar), demo_vocabulary());
}

OutputConstraint begin(const std::shared_ptr<SharedGrammar>& grammar, Thoughts thoughts) {
  auto constraint = OutputConstraint::behind(grammar, demo_vocabulary(), thoughts, {});
  EXPECT_TRUE(constraint.ok());
  return *std::move(constraint);
}

std::vector<int32_t> ids_of(const TokenSet& set) {
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < static_cast<int32_t>(kTokens); ++id) {
    if (set.has(id)) ids.push_back(id);
  }
  return ids;
}

TEST(OutputConstraint, a_space_is_dropped_at_the_beginning_of_a_text_only) {
  const Tokenizer& tokenizer = testing::mistral_tokenizer();
  const int32_t end = *tokenizer.token_id("</s>");
  const auto vocabulary =
      GrammarVocabulary::make(tokenizer, {end}, static_cast<size_t>(tokenizer.id_count()));
  ASSERT_TRUE(vocabulary.ok());
  const int32_t space = *tokenizer.token_id("\xE2\x96\x81");
  for (const bool goes_on : {false, true}) {
    auto grammar = compile_grammar(GrammarKind::kParts, R"({"text":"(y"})", "schema");
    const auto own = std::make_shared<SharedGrammar>(*std::move(grammar), *vocabulary);
    auto constraint = OutputConstraint::behind(own, *vocabulary, Thoughts::kNone, {}, goes_on);
    ASSERT_TRUE(constraint.ok());
    EXPECT_EQ((*constraint->allowed())->has(space), !goes_on);
  }
}

TEST(OutputConstraint, random_tokens_that_it_allows_make_documents) {
  Random random(testing::test_seed());
  const int32_t end = id_of("<|im_end|>");
  int ended = 0, without_formats = 0;
  const int schemas = testing::long_or(150, 40);
  for (int i = 0; i < schemas; ++i) {
    const OrderedJson schema = testing::random_schema(random);
    auto grammar = compile_grammar(GrammarKind::kJsonSchema, schema.dump(), "schema");
    if (!grammar.ok()) continue;
    const auto own = std::make_shared<SharedGrammar>(*std::move(grammar), demo_vocabulary());
    OutputConstraint constraint = begin(own, Thoughts::kNone);
    std::vector<int32_t> tokens;
    for (int step = 0; step < 300; ++step) {
      const auto allowed = constraint.allowed();
      ASSERT_TRUE(allowed.ok()) << schema.dump();
      const std::vector<int32_t> ids = ids_of(**allowed);
      ASSERT_FALSE(ids.empty());
      int32_t token = ids[random.below(ids.size())];
      // If closing characters were not preferred, strings would not end: most tokens continue them.
      for (const char* closing : {"\"", "}", "]"}) {
        if (random.below(3) != 0 && (*allowed)->has(id_of(closing))) token = id_of(closing);
      }
      if ((*allowed)->has(end) && random.below(2) == 0) token = end;
      ASSERT_TRUE(constraint.take(token).ok());
      if (token == end) break;
      tokens.push_back(token);
      if (step % 50 != 7) continue;
      // A constraint that another process resumes from the tokens so far allows the same tokens.
      auto resumed = OutputConstraint::behind(own, demo_vocabulary(), Thoughts::kNone, tokens);
      ASSERT_TRUE(resumed.ok());
      EXPECT_EQ((*resumed->allowed())->words, (*constraint.allowed())->words);
    }
    const auto document = parse_json(demo_tokenizer().decode(tokens, true), "document");
    if (!document.ok()) continue;  // the document was cut off
    ++ended;
    ASSERT_EQ(testing::violation_but_formats(*document, schema, without_formats), "")
        << schema.dump() << document->dump();
  }
  EXPECT_GT(ended, testing::long_or(60, 8));
  EXPECT_LT(without_formats, 3);
}

TEST(OutputConstraint, thoughts_are_free_and_cannot_end_the_output) {
  const auto grammar = shared(GrammarKind::kJsonObject, "");
  const int32_t open = id_of("<think>"), close = id_of("</think>"), end = id_of("<|im_end|>");
  OutputConstraint constraint = begin(grammar, Thoughts::kMayCome);
  auto allowed = *constraint.allowed();
  EXPECT_TRUE(allowed->has(open));
  EXPECT_TRUE(allowed->has(id_of("{")));
  EXPECT_FALSE(allowed->has(id_of("a")));
  EXPECT_FALSE(allowed->has(end));
  ASSERT_TRUE(constraint.take(open).ok());
  allowed = *constraint.allowed();
  EXPECT_TRUE(allowed->has(id_of("a")));
  EXPECT_TRUE(allowed->has(close));
  EXPECT_FALSE(allowed->has(end));
  ASSERT_TRUE(constraint.take(id_of("a")).ok());
  ASSERT_TRUE(constraint.take(close).ok());
  allowed = *constraint.allowed();
  EXPECT_TRUE(allowed->has(id_of("\xC4\x8A")));  // a line end, in the byte alphabet
  EXPECT_TRUE(allowed->has(id_of("{")));
  EXPECT_FALSE(allowed->has(open));
  EXPECT_FALSE(allowed->has(id_of("a")));
  ASSERT_TRUE(constraint.take(id_of("{")).ok());
  ASSERT_TRUE(constraint.take(id_of("}")).ok());
  EXPECT_EQ(ids_of(**constraint.allowed()), std::vector<int32_t>{end});
}

TEST(OutputConstraint, begins_within_thoughts_or_without_any) {
  const auto grammar = shared(GrammarKind::kJsonObject, "");
  OutputConstraint inside = begin(grammar, Thoughts::kBegun);
  EXPECT_TRUE((*inside.allowed())->has(id_of("a")));
  EXPECT_FALSE((*inside.allowed())->has(id_of("<|im_end|>")));
  OutputConstraint none = begin(grammar, Thoughts::kNone);
  EXPECT_FALSE((*none.allowed())->has(id_of("<think>")));
  EXPECT_FALSE((*none.allowed())->has(id_of("\xC4\x8A")));
}

TEST(OutputConstraint, no_special_token_stands_within_a_string) {
  OutputConstraint constraint =
      begin(shared(GrammarKind::kJsonSchema, R"({"type": "string"})"), Thoughts::kNone);
  ASSERT_TRUE(constraint.take(id_of("\"")).ok());
  const auto allowed = *constraint.allowed();
  for (const char* token : {"<|im_end|>", "<|im_start|>", "<|endoftext|>", "<think>", "</think>"}) {
    EXPECT_FALSE(allowed->has(id_of(token))) << token;
  }
  EXPECT_TRUE(allowed->has(id_of("a")));
  EXPECT_GT(ids_of(*allowed).size(), 7000u);
}

TEST(OutputConstraint, says_when_tokens_were_not_allowed) {
  const auto grammar = shared(GrammarKind::kJsonObject, "");
  for (const int32_t token : {id_of("a"), id_of("<|im_end|>"), id_of("<think>"), -1, 9999}) {
    const auto behind =
        OutputConstraint::behind(grammar, demo_vocabulary(), Thoughts::kNone, std::span(&token, 1));
    ASSERT_FALSE(behind.ok()) << token;
    EXPECT_EQ(behind.error().code, ErrorCode::kInternal);
  }
}

TEST(GrammarVocabulary, is_refused_without_end_tokens_or_all_bytes) {
  const auto endless = GrammarVocabulary::make(demo_tokenizer(), {}, kTokens);
  ASSERT_FALSE(endless.ok());
  EXPECT_EQ(endless.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(endless.error().message, HasSubstr("no end token"));
  const auto few = GrammarVocabulary::make(demo_tokenizer(), {5}, 100);
  ASSERT_FALSE(few.ok());
  EXPECT_THAT(few.error().message, HasSubstr("cannot spell"));
}

}  // namespace
}  // namespace cascade
