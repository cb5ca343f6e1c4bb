// Schemas as libraries write them: each is enforced, or refused with the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/random.h"
#include "tests/long_tests.h"
#include "tests/model/grammar/grammar_testing.h"
#include "tests/model/grammar/random_walk.h"
#include "tests/model/grammar/schema_validator.h"
#include "tests/places.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using ::testing::HasSubstr;

OrderedJson schemas_of(const std::string& library) {
  std::ifstream file(testing::source_dir() / "tests/model/data/schemas" / (library + ".json"));
  EXPECT_TRUE(file.good()) << library;
  return OrderedJson::parse(file);
}

// Returns how many documents were checked.
int hold(const OrderedJson& schema, Random& random) {
  testing::Accepting grammar(schema.dump());
  int documents = 0;
  for (int i = 0; i < testing::long_or(12, 4); ++i) {
    const auto text = testing::random_walk(grammar.automaton(), random);
    if (!text) continue;
    ++documents;
    const auto document = parse_json(*text, "document");
    EXPECT_TRUE(document.ok()) << schema.dump() << "\n" << *text;
    if (document.ok()) {
      EXPECT_EQ(testing::violation(*document, schema), "") << schema.dump() << "\n" << *text;
    }
  }
  return documents;
}

TEST(LibrarySchemas, all_of_zod_are_held) {
  Random random(testing::test_seed());
  const OrderedJson schemas = schemas_of("zod");
  int documents = 0;
  for (const auto& [name, schema] : schemas.items()) {
    SCOPED_TRACE(name);
    documents += hold(schema, random);
  }
  EXPECT_GT(schemas.size(), 120u);
  EXPECT_GT(documents, testing::long_or(1000, 300));
}

TEST(LibrarySchemas, all_of_pydantic_are_held_but_sets_of_anything) {
  Random random(testing::test_seed());
  const OrderedJson schemas = schemas_of("pydantic");
  int documents = 0;
  for (const auto& [name, schema] : schemas.items()) {
    SCOPED_TRACE(name);
    if (name == "set" || name == "any_set") {
      EXPECT_THAT(testing::refusal(schema.dump()), HasSubstr("#: uniqueItems: can be held only"));
    } else {
      documents += hold(schema, random);
    }
  }
  EXPECT_GT(schemas.size(), 75u);
  EXPECT_GT(documents, testing::long_or(600, 180));
}

TEST(LibrarySchemas, what_people_write_is_taken) {
  const OrderedJson zod = schemas_of("zod"), pydantic = schemas_of("pydantic");
  testing::Accepting order(zod["order"].dump());
  EXPECT_TRUE(order.takes(
      R"({"user": {"id": "123e4567-e89b-42d3-a456-426614174000", "email": "jane.doe@example.com",
"created": "2024-02-29T10:20:30.5Z", "url": "https://example.com/a?b=c", "ip": null},
"items": [{"sku": "ABC-1234", "count": 2, "price": 19.99}],
"meta": {"note": "a \"b\"", "n": -1.5e3}, "status": "paid"})"));
  testing::Accepting user(pydantic["model"].dump());
  EXPECT_TRUE(user.takes(
      R"({"id": 7, "fullName": "Jane", "email": null, "tags": [], "address": {"street": "x",
"zip": "12345", "country": "DE"}, "others": {"home": {"street": "y", "zip": "54321"}},
"color": "green", "born": "2000-01-31", "score": 0.25, "ratio": "1.50",
"languages": ["de","fr"]})"));
  const std::pair<const char*, const char*> texts[] = {{"email", "jane@example.com"},
                                                       {"ipv6", "2001:db8::1"},
                                                       {"iso_duration", "P3DT4H"},
                                                       {"hostname", "api.example.com"},
                                                       {"emoji", "\xF0\x9F\x98\x80"},
                                                       {"password", "abcdefg1"},
                                                       {"several", "abz"},
                                                       {"template", "a-12-x"},
                                                       {"template_max", "a@b@c"},
                                                       {"both", "axxb"},
                                                       {"base64", "QUI="},
                                                       {"datetime_local", "2024-01-01T10:00"},
                                                       {"mac", "00:1A:2B:3C:4D:5E"}};
  for (const auto& [name, text] : texts) {
    EXPECT_TRUE(testing::Accepting(zod[name].dump()).takes('"' + std::string(text) + '"')) << name;
  }
}

}  // namespace
}  // namespace cascade
