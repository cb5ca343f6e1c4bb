// The parts of schemas that only people read are left out, and nothing else.
#include "wire/openai/bare_schema.h"

#include <gtest/gtest.h>

namespace cascade::openai {
namespace {

std::string bare(const std::string& schema) {
  const auto json = parse_ordered_json(schema, "schema");
  EXPECT_TRUE(json.ok()) << schema;
  return json.ok() ? bare_schema(*json).dump() : "";
}

TEST(BareSchema, annotations_are_left_out_wherever_a_schema_stands) {
  const std::string said =
      R"({"title":"t","description":"d","default":1,"example":1,"examples":[1],"$comment":"c",)"
      R"("$schema":"s","deprecated":true,"readOnly":true,"writeOnly":true,"type":"null"})";
  for (const char* keyword :
       {"not", "items", "additionalItems", "additionalProperties", "propertyNames"}) {
    EXPECT_EQ(bare("{\"" + std::string(keyword) + "\":" + said + "}"),
              "{\"" + std::string(keyword) + R"(":{"type":"null"}})");
  }
  for (const char* keyword : {"allOf", "anyOf", "oneOf", "prefixItems", "items"}) {
    EXPECT_EQ(bare("{\"" + std::string(keyword) + "\":[true," + said + "]}"),
              "{\"" + std::string(keyword) + R"(":[true,{"type":"null"}]})");
  }
  for (const char* keyword : {"properties", "patternProperties", "$defs", "definitions"}) {
    EXPECT_EQ(bare("{\"" + std::string(keyword) + R"(":{"default":)" + said + "}}"),
              "{\"" + std::string(keyword) + R"(":{"default":{"type":"null"}}})");
  }
}

TEST(BareSchema, values_and_names_are_left_as_they_are) {
  for (const char* schema :
       {R"({"const":{"title":"t"}})", R"({"enum":[{"description":"d"},"default"]})",
        R"({"required":["title","description"]})", R"({"properties":{"title":{},"examples":true}})",
        R"({"if":{"title":"t"},"unknown":{"title":"t"}})", "true",
        R"({"properties":3,"not":[]})"}) {
    EXPECT_EQ(bare(schema), schema);
  }
}

}  // namespace
}  // namespace cascade::openai
