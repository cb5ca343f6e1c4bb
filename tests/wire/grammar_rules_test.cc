// What a request may say about the form of its answer.
#include <gtest/gtest.h>

#include "wire/request_rules.h"

namespace cascade::wire {
namespace {

GenerateRequest asked(GrammarKind kind, const std::string& schema) {
  GenerateRequest request;
  request.prompt = "A city, as JSON:";
  request.grammar = {kind, schema};
  return request;
}

std::string field_refused(const GenerateRequest& request) {
  const Status checked = check_request(request);
  return checked.ok() ? "" : checked.error().field;
}

TEST(GrammarRules, a_schema_is_there_where_one_is_wanted) {
  EXPECT_EQ(field_refused(asked(GrammarKind::kJsonObject, "")), "");
  EXPECT_EQ(field_refused(asked(GrammarKind::kJsonSchema, "{}")), "");
  EXPECT_EQ(field_refused(asked(GrammarKind::kParts, R"({"text": "yes"})")), "");
  EXPECT_EQ(field_refused(asked(GrammarKind::kJsonObject, "{}")), "grammar.schema");
  EXPECT_EQ(field_refused(asked(GrammarKind::kJsonSchema, "")), "grammar.schema");
  EXPECT_EQ(field_refused(asked(GrammarKind::kParts, "")), "grammar.schema");
}

TEST(GrammarRules, a_schema_has_a_limit) {
  const std::string longest(kGrammarBytesMax, ' ');
  EXPECT_EQ(field_refused(asked(GrammarKind::kJsonSchema, longest)), "");
  EXPECT_EQ(field_refused(asked(GrammarKind::kJsonSchema, longest + " ")), "grammar.schema");
}

TEST(GrammarRules, an_answer_of_a_form_has_an_end) {
  GenerateRequest request = asked(GrammarKind::kJsonObject, "");
  request.ignore_eos = true;
  EXPECT_EQ(field_refused(request), "ignore_eos");
}

}  // namespace
}  // namespace cascade::wire
