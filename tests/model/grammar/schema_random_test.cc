// Every document that a matcher accepts satisfies the schema, and the matcher never gets stuck.
#include <gtest/gtest.h>

#include "base/random.h"
#include "model/grammar/compile.h"
#include "tests/long_tests.h"
#include "tests/model/grammar/random_schema.h"
#include "tests/model/grammar/random_walk.h"
#include "tests/model/grammar/schema_validator.h"
#include "tests/seed.h"

namespace cascade {
namespace {

TEST(SchemaRandom, EveryWalkThatEndsIsADocumentForWhichTheSchemaHolds) {
  Random random(testing::test_seed());
  int compiled = 0, walked = 0, without_formats = 0;
  const int schemas = testing::long_or(600, 120);
  for (int i = 0; i < schemas; ++i) {
    const OrderedJson schema = testing::random_schema(random);
    auto grammar = compile_grammar(GrammarKind::kJsonSchema, schema.dump(), "schema");
    if (!grammar.ok()) {
      EXPECT_EQ(grammar.error().code, ErrorCode::kInvalidArgument);
      continue;
    }
    ++compiled;
    GrammarAutomaton automaton(std::make_shared<Grammar>(*std::move(grammar)));
    for (int walk = 0; walk < 4; ++walk) {
      const auto text = testing::random_walk(automaton, random);
      if (!text) continue;
      ++walked;
      const auto document = parse_json(*text, "document");
      ASSERT_TRUE(document.ok()) << schema.dump() << "\n" << *text;
      ASSERT_EQ(testing::violation_but_formats(*document, schema, without_formats), "")
          << schema.dump() << "\n"
          << *text;
    }
  }
  std::cout << compiled << " schemas, " << walked << " documents\n";
  EXPECT_GT(compiled, schemas / 2);
  EXPECT_GT(walked, testing::long_or(1000, schemas));
  EXPECT_LT(without_formats, std::max(walked / 100, 10));
}

}  // namespace
}  // namespace cascade
