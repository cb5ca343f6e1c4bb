// Calls and answers as models of each form write them, held by a grammar.
#include "model/grammar/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/tool_call_parser.h"
#include "model/grammar/output_constraint.h"
#include "model/mark_bytes.h"
#include "model/output_stream.h"
#include "tests/model/grammar/grammar_testing.h"
#include "tests/model/harmony_testing.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::Accepting;
using ::testing::HasSubstr;

constexpr std::string_view kAdd =
    R"({"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}},
        "required": ["a"], "additionalProperties": false}})";
constexpr std::string_view kNow =
    R"({"name": "now", "parameters": {"type": "object", "additionalProperties": false}})";

std::string calls(const std::string& more = "") {
  return R"({"tool_calls": [)" + std::string(kAdd) + ", " + std::string(kNow) + "]" + more + "}";
}

// Spells the marks of a text as grammars have them.
std::string marked(std::string text) {
  for (const auto& [mark, spelling] : kHarmonyMarks) {
    for (size_t at = 0; (at = text.find(spelling, at)) != text.npos;) {
      text.insert(at, 1, kMarkByte);
      at += spelling.size() + 1;
    }
  }
  return text;
}

TEST(AnswerGrammar, tagged_calls_are_one_or_several) {
  const std::string add =
      "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>";
  const std::string now = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";
  Accepting any(GrammarKind::kParts, calls());
  EXPECT_TRUE(any.takes(add));
  EXPECT_TRUE(any.takes(now + "\n" + add + "\n" + now));
  EXPECT_FALSE(any.takes(""));
  EXPECT_FALSE(any.begins(add + add));
  EXPECT_FALSE(any.begins("<tool_call>\n{\"name\": \"sub"));
  EXPECT_FALSE(any.begins("<tool_call>\n{\"name\": \"now\", \"arguments\": {\"a\""));
  Accepting quoted(GrammarKind::kParts,
                   R"({"tool_calls": [{"name": "a \"b\"", "parameters": {"type": "null"}}]})");
  EXPECT_TRUE(
      quoted.takes("<tool_call>\n{\"name\": \"a \\\"b\\\"\", \"arguments\": null}\n</tool_call>"));
  Accepting two(GrammarKind::kParts, calls(R"(, "max": 2)"));
  EXPECT_TRUE(two.takes(add + "\n" + now));
  EXPECT_FALSE(two.begins(add + "\n" + now + "\n"));
  Accepting one(GrammarKind::kParts, calls(R"(, "max": 1)"));
  EXPECT_TRUE(one.takes(now));
  EXPECT_FALSE(one.begins(now + "\n"));
}

TEST(AnswerGrammar, a_call_may_be_one_of_several_answers) {
  const std::string either = R"({"any_of": [{"text": "no"}, {"any_of": [{"text": "or"}, )" +
                             calls(R"(, "max": 1)") + "]}]}";
  Accepting tagged(GrammarKind::kParts, either);
  EXPECT_TRUE(tagged.takes("no") && tagged.takes("or"));
  EXPECT_TRUE(tagged.begins("<tool_call>\n{\"name\": \"add\""));
  Accepting harmony(GrammarKind::kParts, either, AnswerForm::kHarmony);
  EXPECT_TRUE(harmony.takes(marked("<|channel|>final<|message|>no")));
  EXPECT_TRUE(harmony.takes(marked("<|channel|>final<|message|>or")));
  EXPECT_FALSE(harmony.begins("no"));
  EXPECT_TRUE(harmony.takes(
      marked("<|channel|>commentary to=functions.add <|constrain|>json<|message|>{\"a\": 1}")));
}

TEST(AnswerGrammar, harmony_has_headers_and_thoughts) {
  Accepting any(GrammarKind::kParts, calls(), AnswerForm::kHarmony);
  const std::string thinks =
      marked("<|channel|>analysis<|message|>Hm,\n\xC3\xA9 <|<|end|><|start|>assistant");
  const std::string in_channel =
      marked("<|channel|>commentary to=functions.add <|constrain|>json<|message|>{\"a\": 1}");
  const std::string in_role =
      marked(" to=functions.add<|channel|>commentary json<|message|>{\"a\": 1}");
  for (const std::string& call : {in_channel, in_role}) {
    EXPECT_TRUE(any.takes(call));
    EXPECT_TRUE(any.takes(thinks + call));
    EXPECT_TRUE(any.takes(thinks + thinks + call));
    EXPECT_FALSE(any.begins(call + "\n"));
    EXPECT_FALSE(any.begins(call + std::string(1, kMarkByte)));
  }
  EXPECT_FALSE(any.takes(thinks));
  EXPECT_FALSE(any.begins(marked("<|channel|>final")));
  EXPECT_FALSE(any.begins(marked("<|channel|>commentary to=functions.sub")));
  EXPECT_FALSE(any.begins("<|channel|>"));
  Accepting object(GrammarKind::kJsonObject, "", AnswerForm::kHarmony);
  EXPECT_TRUE(object.takes(thinks + marked("<|channel|>final<|message|>{\"a\": [1]}")));
  EXPECT_FALSE(object.takes("{}"));
  Accepting schema(GrammarKind::kJsonSchema, R"({"type":"null"})", AnswerForm::kHarmony);
  EXPECT_TRUE(schema.takes(marked("<|channel|>final<|message|>null")));
}

TEST(AnswerGrammar, damaged_calls_are_refused_by_place) {
  const auto refused = [](std::string_view text) {
    return testing::refusal(text, GrammarKind::kParts);
  };
  EXPECT_THAT(refused(R"({"tool_calls": []})"), HasSubstr("#/tool_calls: must be a list of 1 to"));
  EXPECT_THAT(refused(R"({"tool_calls": 3})"), HasSubstr("#/tool_calls: must be a list"));
  EXPECT_THAT(refused(calls(R"(, "max": 0)")), HasSubstr("#: may have max, a count"));
  EXPECT_THAT(refused(calls(R"(, "min": 1)")), HasSubstr("#: may have max, a count"));
  for (const char* call : {"1", "{}", R"({"name": "f"})", R"({"name": 3, "parameters": {}})"}) {
    EXPECT_THAT(refused(R"({"any_of": [{"tool_calls": [)" + std::string(call) + "]}]}"),
                HasSubstr("#/any_of/0/tool_calls/0: must be an object with a name and parameters"));
  }
  EXPECT_THAT(refused(R"({"tool_calls": [{"name": "", "parameters": {}}]})"),
              HasSubstr("#/tool_calls/0: must have a name of 1 to 1024 bytes"));
  EXPECT_THAT(refused(R"({"tool_calls": [{"name": "f", "parameters": {}, "strict": true}]})"),
              HasSubstr("#/tool_calls/0: may have a name, parameters and a schema_name"));
  EXPECT_EQ(refused(R"({"tool_calls": [{"name": "f", "parameters": {"if": true},
                        "schema_name": "tools[0].parameters"}]})"),
            "tools[0].parameters#: if: the keyword is not supported");
  EXPECT_THAT(refused(R"({"tool_calls": [{"name": "f", "parameters": {"if": true}}]})"),
              HasSubstr("#/tool_calls/0/parameters: if: the keyword"));
  EXPECT_THAT(refused(R"({"sequence": [)" + calls() + "]}"),
              HasSubstr("#/sequence/0: has tool_calls"));
  EXPECT_THAT(refused(R"({"repeat": )" + calls() + "}"), HasSubstr("#/repeat: has tool_calls"));
  EXPECT_THAT(refused(R"({"tool_calls": [{"name": "f", "parameters": {}, "schema_name": 5}]})"),
              HasSubstr("#/tool_calls/0: may have a name, parameters and a schema_name"));
}

TEST(AnswerGrammar, harmony_calls_only_functions_that_a_header_can_name) {
  for (const char* name : {"a b", "assistant", "a<|call|>", "", "\u00e9", "user", "x json"}) {
    const std::string part =
        R"({"tool_calls": [{"name": ")" + std::string(name) + R"(", "parameters": {}}]})";
    const auto made = compile_grammar(GrammarKind::kParts, part, "schema", AnswerForm::kHarmony);
    ASSERT_FALSE(made.ok()) << name;
    EXPECT_THAT(made.error().message, HasSubstr("#/tool_calls/0: ")) << name;
  }
  Accepting dotted(GrammarKind::kParts,
                   R"({"tool_calls": [{"name": "a.b-c/D:1_", "parameters": {}}]})",
                   AnswerForm::kHarmony);
  EXPECT_TRUE(dotted.begins(marked(" to=functions.a.b-c/D:1_<|channel|>")));
}

TEST(AnswerGrammar, marks_are_tokens_and_text_cannot_pass_for_them) {
  const Tokenizer& tokenizer = testing::harmony_tokenizer();
  const HarmonyTokens marks = *HarmonyTokens::of(tokenizer);
  const int32_t done = marks.id(HarmonyMark::kReturn);
  const auto vocabulary = GrammarVocabulary::make(tokenizer, {done}, testing::kHarmonyTokens);
  ASSERT_TRUE(vocabulary.ok());
  EXPECT_EQ(vocabulary->form, AnswerForm::kHarmony);
  for (size_t id = 0; id < vocabulary->bytes.size(); ++id) {
    const bool is_mark = vocabulary->bytes[id].find(kMarkByte) != std::string::npos;
    const auto mark = marks.mark_of(static_cast<int32_t>(id));
    EXPECT_EQ(is_mark, mark && mark <= HarmonyMark::kConstrain) << id;
  }
}

// Takes random tokens that are allowed; thoughts end soon, so that answers are met.
TEST(AnswerGrammar, random_generations_in_harmony_are_read_as_what_was_demanded) {
  const Tokenizer& tokenizer = testing::harmony_tokenizer();
  const HarmonyTokens marks = *HarmonyTokens::of(tokenizer);
  const int32_t done = marks.id(HarmonyMark::kReturn);
  const auto vocabulary = GrammarVocabulary::make(tokenizer, {done}, testing::kHarmonyTokens);
  ASSERT_TRUE(vocabulary.ok());
  auto compiled = compile_grammar(GrammarKind::kParts, calls(), "schema", vocabulary->form);
  ASSERT_TRUE(compiled.ok());
  const auto grammar = std::make_shared<SharedGrammar>(*std::move(compiled), *vocabulary);
  Random random(testing::test_seed());
  int ended = 0;
  for (int round = 0; round < 40; ++round) {
    auto constraint = OutputConstraint::behind(grammar, *vocabulary, Thoughts::kNone, {});
    ASSERT_TRUE(constraint.ok());
    OutputStream stream(tokenizer, false, {});
    for (int taken = 0; taken < 300; ++taken) {
      const auto allowed = constraint->allowed();
      ASSERT_TRUE(allowed.ok()) << stream.raw_text();
      std::vector<int32_t> ids, special;
      for (int32_t id = 0; id < static_cast<int32_t>(testing::kHarmonyTokens); ++id) {
        if (!(*allowed)->has(id)) continue;
        ids.push_back(id);
        if (marks.mark_of(id)) special.push_back(id);
      }
      ASSERT_FALSE(ids.empty());
      const std::vector<int32_t>& from = !special.empty() && random.below(2) == 0 ? special : ids;
      const int32_t token = from[random.below(from.size())];
      ASSERT_TRUE(constraint->take(token).ok());
      if (token == done) {
        (void)stream.finish(/*ended=*/true);
        ToolCallParser parser(/*parallel=*/true);
        std::vector<AnswerPart> parts = parser.push(stream.answer());
        for (AnswerPart& part : parser.finish(/*cut=*/false)) parts.push_back(std::move(part));
        ASSERT_EQ(parts.size(), 1u) << stream.answer();
        EXPECT_EQ(parts[0].calls.size(), 1u) << stream.answer();
        ++ended;
        break;
      }
      (void)stream.push(token);
    }
  }
  EXPECT_GE(ended, 10);
}

}  // namespace
}  // namespace cascade
