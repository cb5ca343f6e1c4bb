// How much memory compiled grammars take, and which of them are kept.
#include "model/grammar/grammar_cache.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iostream>

#include "base/random.h"
#include "model/grammar/compile.h"
#include "tests/long_tests.h"
#include "tests/model/grammar/demo_vocabulary.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::demo_vocabulary;
using Shared = std::shared_ptr<SharedGrammar>;

Shared get(GrammarCache& cache, const std::string& schema) {
  auto grammar =
      cache.get(GrammarKind::kJsonSchema, schema, demo_vocabulary(), AnswerForm::kTagged);
  EXPECT_TRUE(grammar.ok()) << schema;
  return grammar.ok() ? *grammar : nullptr;
}

// A different schema for each number. Its grammar takes about 40 KB, and much more once it is used.
std::string schema_of(int i) {
  const std::string n = std::to_string(i);
  return R"({"type": "object", "title": ")" + n + R"(", "properties": {"id": {"type": "string",
      "format": "date-time"}, "name)" +
         n + R"(": {"type": "string", "pattern": "^[a-z]{1,20}x)" + n +
         R"($"}, "values": {"type": "array", "items": {"type": "number", "minimum": )" + n +
         R"(}}, "kind": {"enum": ["a)" + n + R"(", "b", "c"]}}, "required": ["id", "values"]})";
}

// Takes random tokens from those that are allowed.
void use(const Shared& grammar, Random& random, int steps) {
  auto constraint = OutputConstraint::behind(grammar, demo_vocabulary(), Thoughts::kNone, {});
  ASSERT_TRUE(constraint.ok());
  for (int step = 0; step < steps; ++step) {
    const auto allowed = constraint->allowed();
    ASSERT_TRUE(allowed.ok());
    std::vector<int32_t> ids;
    for (int32_t id = 0; id < static_cast<int32_t>(testing::kDemoTokens); ++id) {
      if ((*allowed)->has(id)) ids.push_back(id);
    }
    ASSERT_FALSE(ids.empty());
    const int32_t token = ids[random.below(ids.size())];
    if (token == demo_vocabulary().ends[0]) return;
    ASSERT_TRUE(constraint->take(token).ok());
  }
}

size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * 4096;
}

TEST(GrammarCache, gives_the_same_grammar_again_and_keeps_no_error) {
  GrammarCache cache;
  const Shared first = get(cache, "true");
  EXPECT_EQ(get(cache, "true"), first);
  EXPECT_NE(get(cache, R"({"type": "null"})"), first);
  EXPECT_FALSE(
      cache.get(GrammarKind::kJsonSchema, "false", demo_vocabulary(), AnswerForm::kTagged).ok());
  // The same text means something else as another kind.
  EXPECT_FALSE(cache.get(GrammarKind::kParts, "true", demo_vocabulary(), AnswerForm::kTagged).ok());
  EXPECT_TRUE(cache.get(GrammarKind::kJsonObject, "", demo_vocabulary(), AnswerForm::kTagged).ok());
  EXPECT_EQ(cache.size(), 3u);
}

TEST(GrammarCache, drops_what_was_not_used_for_longest_and_nothing_that_somebody_has) {
  Random random(testing::test_seed());
  GrammarCache cache(size_t{1} << 20);
  const Shared held = get(cache, schema_of(0));
  std::weak_ptr<SharedGrammar> idle = get(cache, schema_of(1)), again = get(cache, schema_of(2));
  for (int i = 3; !idle.expired(); ++i) {
    ASSERT_LT(i, 1000);
    EXPECT_EQ(get(cache, schema_of(2)), again.lock());
    use(get(cache, schema_of(i)), random, 3);
    cache.shrink();
  }
  EXPECT_FALSE(again.expired());
  EXPECT_EQ(get(cache, schema_of(0)), held);
  // This grammar alone exceeds the bound. What it has learned is then forgotten, and the grammar
  // works as before.
  GrammarCache small(1);
  const Shared own = get(small, schema_of(0));
  use(own, random, 20);
  const size_t before = own->memory_bytes();
  small.shrink();
  EXPECT_LT(own->memory_bytes(), before / 2);
  EXPECT_EQ(small.size(), 1u);
  use(own, random, 20);
}

TEST(GrammarCache, a_generation_goes_on_when_what_was_learned_is_forgotten) {
  Random random(testing::test_seed());
  GrammarCache cache;
  for (int round = 0; round < 20; ++round) {
    const Shared grammar = get(cache, schema_of(round));
    const Shared other = std::make_shared<SharedGrammar>(
        *compile_grammar(GrammarKind::kJsonSchema, schema_of(round), "x"), demo_vocabulary());
    auto one = OutputConstraint::behind(grammar, demo_vocabulary(), Thoughts::kNone, {});
    auto two = OutputConstraint::behind(other, demo_vocabulary(), Thoughts::kNone, {});
    for (int step = 0; step < 40; ++step) {
      if (random.below(3) == 0) grammar->forget();
      const auto allowed = *one->allowed();
      ASSERT_EQ(allowed->words, (*two->allowed())->words);
      std::vector<int32_t> ids;
      for (int32_t id = 0; id < static_cast<int32_t>(testing::kDemoTokens); ++id) {
        if (allowed->has(id)) ids.push_back(id);
      }
      const int32_t token = ids[random.below(ids.size())];
      if (token == demo_vocabulary().ends[0]) break;
      ASSERT_TRUE(one->take(token).ok());
      ASSERT_TRUE(two->take(token).ok());
    }
  }
}

TEST(GrammarCache, of_many_schemas_it_keeps_as_many_as_there_is_memory_for) {
  Random random(testing::test_seed());
  const size_t megabytes = testing::long_or(8, 2);
  const size_t bytes_max = megabytes << 20;
  const size_t schemas = 150 * megabytes;
  GrammarCache cache(bytes_max);
  use(get(cache, schema_of(0)), random, 30);
  const size_t before = resident_bytes();
  size_t most = 0, most_resident = before;
  for (size_t i = 1; i <= schemas; ++i) {
    use(get(cache, schema_of(static_cast<int>(i))), random, 12);
    cache.shrink();
    ASSERT_LE(cache.memory_bytes(), bytes_max) << i;
    most = std::max(most, cache.memory_bytes());
    most_resident = std::max(most_resident, resident_bytes());
  }
  // The memory bound is used, and fewer grammars are kept than were compiled.
  EXPECT_GT(most, bytes_max / 2);
  EXPECT_LT(cache.size(), schemas * 5 / 6);
  const size_t grown = most_resident - before;
  std::cout << cache.size() << " grammars, " << (most >> 10) << " KiB counted, " << (grown >> 10)
            << " KiB more resident\n";
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these keep freed memory
  // How much freed memory malloc keeps depends on the machine.
  if (testing::long_tests()) {
    EXPECT_LT(grown, 2 * bytes_max);
  }
#endif
}

}  // namespace
}  // namespace cascade
