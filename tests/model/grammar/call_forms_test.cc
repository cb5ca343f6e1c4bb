// Demanded calls in the forms of Gemma 4, Mistral and Llama 3: what the grammar holds is read back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "model/calls/call_translator.h"
#include "model/grammar/answer.h"
#include "model/grammar/output_constraint.h"
#include "model/mark_bytes.h"
#include "model/output_stream.h"
#include "tests/long_tests.h"
#include "tests/model/calls/calls_models.h"
#include "tests/model/grammar/grammar_testing.h"
#include "tests/model/grammar/random_schema.h"
#include "tests/model/grammar/random_walk.h"
#include "tests/model/grammar/schema_validator.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::Accepting;

constexpr std::string_view kFind =
    R"({"name": "find", "parameters": {"type": "object", "properties": {
        "b": {"type": "string"}, "A": {"enum": [1, "x\"", {"k": null}]}, "c d": {"type": "array"}},
        "required": ["b"], "additionalProperties": false}})";
constexpr std::string_view kAny = R"({"name": "any", "parameters": {}})";

std::string parts(const std::string& more = "") {
  return R"({"tool_calls": [)" + std::string(kFind) + ", " + std::string(kAny) + "]" + more + "}";
}

// With `~` before marks.
std::string with_mark_bytes(std::string text) {
  std::ranges::replace(text, '~', kMarkByte);
  return text;
}

TEST(CallForms, gemma_writes_marks_and_no_quotes) {
  Accepting any(GrammarKind::kParts, parts(), AnswerForm::kGemma);
  const auto takes = [&](const std::string& text) { return any.takes(with_mark_bytes(text)); };
  const std::string find = "~<|tool_call>call:find{A:1,b:~<|\"|>any \"\n}~<|\"|>}~<tool_call|>";
  EXPECT_TRUE(takes(find));
  EXPECT_TRUE(takes(find + find + "~<|tool_call>call:any{~<|\"|>k~<|\"|>:[1,{}]}~<tool_call|>"));
  EXPECT_TRUE(
      takes("~<|tool_call>call:find{A:~<|\"|>x\"~<|\"|>,b:~<|\"|>~<|\"|>,~<|\"|>c d~<|\"|>:"
            "[true,null]}~<tool_call|>"));
  EXPECT_TRUE(takes("~<|tool_call>call:find{A:{k:null},b:~<|\"|>~<|\"|>}~<tool_call|>"));
  for (const char* wrong :
       {"~<|tool_call>call:find{}~<tool_call|>", "<|tool_call>call:any{}<tool_call|>",
        "~<|tool_call>call:find{b:~<|\"|>~<|\"|>,A:1}~<tool_call|>", "~<|tool_call>call:any[]",
        "~<|tool_call>call:find{A:1, b:", "~<|tool_call>call:other{}", "text"}) {
    EXPECT_FALSE(takes(wrong)) << wrong;
  }
}

TEST(CallForms, mistral_and_llama_write_json_in_their_frames) {
  Accepting mistral(GrammarKind::kParts, parts(), AnswerForm::kMistral);
  const std::string find = with_mark_bytes("~[TOOL_CALLS]find~[ARGS]{\"b\": \"x\"}");
  EXPECT_TRUE(mistral.takes(find) && mistral.takes(find + find));
  EXPECT_FALSE(mistral.begins("[TOOL_CALLS]") || mistral.begins(find + "\n"));
  Accepting llama(GrammarKind::kParts, parts(R"(, "max": 2)"), AnswerForm::kLlama3);
  const std::string any = R"({"name": "any", "parameters": {"a": 1}})";
  EXPECT_TRUE(llama.takes(any) && llama.takes(any + "; " + any));
  EXPECT_FALSE(llama.begins(any + "; " + any + ";"));
  EXPECT_FALSE(llama.begins(R"({"name": "any", "parameters": 1)"));
}

TEST(CallForms, a_name_that_a_form_cannot_spell_gets_the_common_form) {
  const std::string odd = R"({"tool_calls": [{"name": "a {b", "parameters": {"type": "object"}}]})";
  const std::string call = "<tool_call>\n{\"name\": \"a {b\", \"arguments\": {}}\n</tool_call>";
  for (const AnswerForm form : {AnswerForm::kGemma, AnswerForm::kMistral}) {
    Accepting any(GrammarKind::kParts, odd, form);
    EXPECT_TRUE(any.takes(call));
  }
}

// Gemma's call of a text would read as another name.
TEST(CallForms, parameters_that_need_not_be_an_object_get_the_common_form) {
  for (const AnswerForm form : {AnswerForm::kGemma, AnswerForm::kMistral, AnswerForm::kLlama3}) {
    for (const char* schema : {R"({"type": "string"})", R"({"enum": ["x"]})"}) {
      const std::string call =
          R"({"tool_calls": [{"name": "f", "parameters": )" + std::string(schema) + "}]}";
      Accepting any(GrammarKind::kParts, call, form);
      EXPECT_TRUE(any.takes("<tool_call>\n{\"name\": \"f\", \"arguments\": \"x\"}\n</tool_call>"));
    }
  }
}

TEST(CallForms, the_functions_of_parts_are_tools) {
  EXPECT_EQ(tools_of_parts(R"({"any_of": [{"text": "no"}, {"tool_calls": [{"name": "f"}]}]})"),
            R"([{"type":"function","function":{"name":"f"}}])");
  for (const char* none : {"", "{", "[]", "7", R"({"any_of": 7})", R"({"tool_calls": []})",
                           R"({"tool_calls": null})", R"({"any_of": [7, []]})"}) {
    EXPECT_EQ(tools_of_parts(none), "") << none;
  }
}

struct Form {
  AnswerForm answer;
  CallForm call;
};

constexpr std::array<Form, 3> kForms = {{{AnswerForm::kGemma, CallForm::kGemma},
                                         {AnswerForm::kMistral, CallForm::kMistral},
                                         {AnswerForm::kLlama3, CallForm::kLlama3}}};

// The marks of a form whose marks are tokens.
CallMarks token_marks(CallForm form) {
  CallMarks marks = call_marks(form);
  marks.open = mark_bytes(marks.open);
  if (!marks.close.empty()) marks.close = mark_bytes(marks.close);
  for (std::string& mark : marks.within) mark = mark_bytes(mark);
  return marks;
}

TEST(CallForms, random_arguments_are_read_as_documents_for_which_the_schema_holds) {
  Random random(testing::test_seed());
  int walked = 0, without_formats = 0;
  const int schemas = testing::long_or(600, 90);
  for (int i = 0; i < schemas; ++i) {
    const OrderedJson schema = {{"type", "object"},
                                {"properties", {{"a", testing::random_schema(random)}}},
                                {"required", {"a"}},
                                {"additionalProperties", false}};
    const OrderedJson function = {{"name", "f"}, {"parameters", schema}};
    const OrderedJson part = {{"tool_calls", OrderedJson::array({function})}, {"max", 1}};
    const Form form = kForms[random.below(kForms.size())];
    auto grammar = compile_grammar(GrammarKind::kParts, part.dump(), "schema", form.answer);
    if (!grammar.ok()) continue;
    GrammarAutomaton automaton(std::make_shared<Grammar>(*std::move(grammar)));
    for (int walk = 0; walk < 3; ++walk) {
      const auto text = testing::random_walk(automaton, random);
      if (!text) continue;
      ++walked;
      CallTranslator calls(token_marks(form.call), ToolTypes(tools_of_parts(part.dump())));
      std::vector<CallTranslator::Piece> pieces = calls.push(*text);
      for (CallTranslator::Piece& piece : calls.finish(true)) pieces.push_back(std::move(piece));
      ASSERT_TRUE(pieces.size() == 1 && pieces[0].is_call) << schema.dump() << "\n" << *text;
      std::string json = pieces[0].text;
      json = json.substr(kToolCallOpen.size(), json.size() - 23);
      const auto read = parse_json(json, "call");
      ASSERT_TRUE(read.ok()) << json;
      ASSERT_EQ(testing::violation_but_formats(read->at("arguments"), schema, without_formats), "")
          << schema.dump() << "\n"
          << *text << "\n"
          << json;
    }
  }
  EXPECT_GT(walked, schemas);
}

// Takes random tokens that are allowed, marks rather than others.
TEST(CallForms, random_generations_are_read_as_what_was_demanded) {
  Random random(testing::test_seed());
  for (const bool is_gemma : {true, false}) {
    const testing::TextModel model = is_gemma ? testing::gemma_model() : testing::mistral_model();
    const int32_t done = *model.tokenizer.token_id(is_gemma ? "<turn|>" : "</s>");
    const auto tokens = static_cast<size_t>(model.tokenizer.id_count());
    const CallForm form = model.templates.call_form();
    const auto vocabulary = GrammarVocabulary::make(model.tokenizer, {done}, tokens, form);
    ASSERT_TRUE(vocabulary.ok());
    ASSERT_EQ(vocabulary->form, is_gemma ? AnswerForm::kGemma : AnswerForm::kMistral);
    auto compiled = compile_grammar(GrammarKind::kParts, parts(), "schema", vocabulary->form);
    ASSERT_TRUE(compiled.ok());
    const auto grammar = std::make_shared<SharedGrammar>(*std::move(compiled), *vocabulary);
    const CallMarks marks = call_marks(form, model.tokenizer);
    std::vector<bool> is_preferred(tokens);
    for (int32_t id = 0; id < static_cast<int32_t>(tokens); ++id) {
      const std::string text = model.tokenizer.decode(std::span(&id, 1), false);
      is_preferred[static_cast<size_t>(id)] =
          id == done || !marks.text_of(id).empty() || text == "}";
    }
    int ended = 0;
    for (int round = 0; round < 20; ++round) {
      auto constraint = OutputConstraint::behind(grammar, *vocabulary, Thoughts::kNone, {});
      ASSERT_TRUE(constraint.ok());
      OutputStream stream(model.tokenizer, false, {}, false,
                          CallTranslator(marks, ToolTypes(tools_of_parts(parts()))));
      for (int taken = 0; taken < 300; ++taken) {
        const auto allowed = constraint->allowed();
        ASSERT_TRUE(allowed.ok()) << stream.raw_text();
        std::vector<int32_t> ids, special;
        for (int32_t id = 0; id < static_cast<int32_t>(tokens); ++id) {
          if (!(*allowed)->has(id)) continue;
          ids.push_back(id);
          if (is_preferred[static_cast<size_t>(id)]) special.push_back(id);
        }
        ASSERT_FALSE(ids.empty());
        const std::vector<int32_t>& from = !special.empty() && random.below(2) == 0 ? special : ids;
        const int32_t token = from[random.below(from.size())];
        ASSERT_TRUE(constraint->take(token).ok());
        if (token != done) {
          (void)stream.push(token);
          continue;
        }
        (void)stream.finish(/*ended=*/true);
        ToolCallParser parser(/*parallel=*/true);
        std::vector<AnswerPart> read = parser.push(stream.answer());
        for (AnswerPart& part : parser.finish(/*cut=*/false)) read.push_back(std::move(part));
        ASSERT_GE(read.size(), 1u) << stream.raw_text();
        for (const AnswerPart& part : read) EXPECT_EQ(part.calls.size(), 1u) << stream.raw_text();
        ++ended;
        break;
      }
    }
    EXPECT_GE(ended, 5);
  }
}

}  // namespace
}  // namespace cascade
