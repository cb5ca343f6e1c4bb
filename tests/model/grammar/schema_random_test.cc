// Whatever a matcher lets through is a document for which the schema holds, and it never gets
// stuck.
#include <gtest/gtest.h>

#include "base/random.h"
#include "model/grammar/compile.h"
#include "model/grammar/matcher.h"
#include "tests/model/grammar/random_schema.h"
#include "tests/model/grammar/schema_validator.h"
#include "tests/seed.h"

namespace cascade {
namespace {

// Bytes that may come, those that close something first.
std::vector<uint8_t> next_bytes(const Matcher& matcher) {
  std::vector<uint8_t> bytes;
  for (int byte = 0; byte < 256; ++byte) {
    Matcher tried = matcher;
    if (tried.accept(std::string(1, static_cast<char>(byte)))) {
      bytes.push_back(static_cast<uint8_t>(byte));
    }
  }
  return bytes;
}

// A random document, or nullopt if it did not end within some thousand bytes.
std::optional<std::string> random_walk(GrammarAutomaton& automaton, Random& random) {
  Matcher matcher(automaton);
  std::string text;
  while (text.size() < 4000) {
    EXPECT_TRUE(matcher.is_complete() || matcher.can_continue()) << text;
    const bool hurry = text.size() > 400;
    if (matcher.is_complete() && (hurry || !matcher.can_continue() || random.unit() < 0.3)) {
      return text;
    }
    const std::vector<uint8_t> bytes = next_bytes(matcher);
    EXPECT_EQ(bytes.empty(), !matcher.can_continue()) << text;
    if (bytes.empty()) return text;
    uint8_t byte = bytes[random.below(bytes.size())];
    if (random.unit() < (hurry ? 0.9 : 0.4)) {
      for (const char c : {'"', '}', ']'}) {
        const auto closing = std::ranges::find(bytes, static_cast<uint8_t>(c));
        if (closing != bytes.end()) byte = *closing;
      }
    }
    EXPECT_TRUE(matcher.accept(std::string(1, static_cast<char>(byte))));
    text.push_back(static_cast<char>(byte));
  }
  return std::nullopt;
}

TEST(SchemaRandom, EveryWalkThatEndsIsADocumentForWhichTheSchemaHolds) {
  Random random(testing::test_seed());
  int compiled = 0, walked = 0;
  for (int i = 0; i < 600; ++i) {
    const OrderedJson schema = testing::random_schema(random);
    auto grammar = compile_grammar(GrammarKind::kJsonSchema, schema.dump(), "schema");
    if (!grammar.ok()) {
      EXPECT_EQ(grammar.error().code, ErrorCode::kInvalidArgument);
      continue;
    }
    ++compiled;
    GrammarAutomaton automaton(std::make_shared<Grammar>(*std::move(grammar)));
    for (int walk = 0; walk < 4; ++walk) {
      const auto text = random_walk(automaton, random);
      if (!text) continue;
      ++walked;
      const auto document = parse_json(*text, "document");
      ASSERT_TRUE(document.ok()) << schema.dump() << "\n" << *text;
      ASSERT_EQ(testing::violation(*document, schema), "") << schema.dump() << "\n" << *text;
    }
  }
  std::cout << compiled << " schemas, " << walked << " documents\n";
  EXPECT_GT(compiled, 300);
  EXPECT_GT(walked, 1000);
}

}  // namespace
}  // namespace cascade
