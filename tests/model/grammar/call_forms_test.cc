// Demanded calls in models' own forms: what the grammar holds is read back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/tool_call_parser.h"
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

struct Form {
  AnswerForm answer;
  CallForm call;
};

constexpr std::array<Form, 5> kForms = {{{AnswerForm::kGemma, CallForm::kGemma},
                                         {AnswerForm::kMistral, CallForm::kMistral},
                                         {AnswerForm::kLlama3, CallForm::kLlama3},
                                         {AnswerForm::kQwenTags, CallForm::kQwenTags},
                                         {AnswerForm::kGlmTags, CallForm::kGlmTags}}};

// The marks of a form: tokens, but around tags.
CallMarks marks_of_form(const Form& form) {
  CallMarks marks = call_marks(form.call);
  if (has_tags(form.answer)) return marks;
  marks.open = mark_bytes(marks.open);
  if (!marks.close.empty()) marks.close = mark_bytes(marks.close);
  for (std::string& mark : marks.within) mark = mark_bytes(mark);
  return marks;
}

// Texts that close an argument, a function and a call.
std::string closing_of(AnswerForm form) {
  if (form == AnswerForm::kGlmTags) return "</arg_value>";
  return form == AnswerForm::kQwenTags ? "\n</parameter>\n" : "";
}

// A random schema without definitions of its own: those become `definitions`.
OrderedJson schema_of_property(Random& random, OrderedJson& definitions) {
  OrderedJson schema = testing::random_schema(random);
  if (!schema.is_object() || !schema.contains("$defs")) return schema;
  definitions = schema["$defs"];
  schema.erase("$defs");
  return schema;
}

// A random schema of texts only.
OrderedJson schema_of_text(Random& random) {
  OrderedJson schema, definitions;
  const auto is_text = [&] {
    return schema.is_object() && schema.value("type", OrderedJson()) == "string";
  };
  while (!is_text()) schema = schema_of_property(random, definitions);
  if (random.below(4) == 0) schema["nullable"] = true;
  return schema;
}

// The arguments that readers find in a call of this form; empty: they find no call.
std::string arguments_read(const Form& form, const std::string& written, const std::string& tools) {
  CallTranslator calls(marks_of_form(form), ToolTypes(tools));
  std::string answer;
  for (const CallTranslator::Piece& piece : calls.push(written)) answer += piece.text;
  for (const CallTranslator::Piece& piece : calls.finish(true)) answer += piece.text;
  ToolCallParser parser(/*parallel=*/true);
  std::vector<AnswerPart> parts = parser.push(answer);
  for (AnswerPart& part : parser.finish(/*cut=*/false)) parts.push_back(std::move(part));
  const bool is_call = parts.size() == 1 && parts[0].calls.size() == 1 && parts[0].text.empty();
  return is_call ? parts[0].calls[0].arguments : "";
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

constexpr std::string_view kTyped = R"({"name": "typed", "parameters": {"type": "object",
    "$defs": {"Unit": {"enum": ["c", "</p>"]}},
    "properties": {
      "text": {"type": "string"}, "unit": {"$ref": "#/$defs/Unit"}, "n": {"type": "integer"},
      "maybe": {"type": ["string", "null"]}, "short": {"type": "string", "maxLength": 3},
      "list": {"type": "array", "items": {"type": "string"}}, "any": {}},
    "required": ["text"]}})";
constexpr std::string_view kNone =
    R"({"name": "none", "parameters": {"type": "object", "properties": {}}})";

std::string typed_parts() {
  return R"({"tool_calls": [)" + std::string(kTyped) + ", " + std::string(kNone) + "]}";
}

std::string qwen(const std::string& key, const std::string& value) {
  return "<parameter=" + key + ">\n" + value + "\n</parameter>\n";
}

std::string qwen_call(const std::string& arguments, const std::string& function = "typed") {
  return "<tool_call>\n<function=" + function + ">\n" + arguments + "</function>\n</tool_call>";
}

std::string glm(const std::string& key, const std::string& value, const char* end = "\n") {
  return "<arg_key>" + key + "</arg_key>" + end + "<arg_value>" + value + "</arg_value>" + end;
}

TEST(CallForms, qwen_writes_texts_between_tags_as_they_are) {
  Accepting any(GrammarKind::kParts, typed_parts(), AnswerForm::kQwenTags);
  const auto takes = [&](const std::string& arguments) { return any.takes(qwen_call(arguments)); };
  for (const char* text : {"", "x", "\"", "\n", "\r\n\\", "null", "7", "</div>\n</function>",
                           "<parameter=n>", "</parameter", "z\xC3\xBCrich"}) {
    EXPECT_TRUE(takes(qwen("text", text))) << text;
  }
  const std::string text = qwen("text", "x");
  EXPECT_TRUE(takes(text + qwen("unit", "</p>") + qwen("n", "-3") + qwen("maybe", "null")));
  EXPECT_TRUE(takes(text + qwen("short", "abc") + qwen("list", "[\"a\", \"<b></b>\"]")));
  EXPECT_TRUE(takes(text + qwen("any", "\"x\"")) && takes(text + qwen("any", "{\"a\": null}")));
  EXPECT_TRUE(any.takes(qwen_call(text) + "\n" + qwen_call("", "none")));
  for (const std::string& wrong :
       {std::string(), qwen("n", "3"), text + text, qwen("n", "3") + text, text + qwen("n", "x"),
        text + qwen("n", "\"3\""), text + qwen("unit", "d"), text + qwen("unit", "\"c\""),
        text + qwen("maybe", " None"), text + qwen("short", "abcd"), text + qwen("any", "x"),
        text + qwen("list", "[\"</parameter>\"]"), text + qwen("other", "x"), qwen("text", "x\r"),
        qwen("text", "</tool_call>"), qwen("text", "</arg_value>"), text + "x",
        std::string("<parameter=text>x\n</parameter>\n")}) {
    EXPECT_FALSE(takes(wrong)) << wrong;
  }
  EXPECT_FALSE(any.begins("<tool_call>\n{") || any.begins(qwen_call(text) + "\n\n"));
  EXPECT_FALSE(any.begins("<tool_call><") || any.begins("x"));
}

TEST(CallForms, glm_writes_keys_and_values_on_lines_or_not) {
  Accepting any(GrammarKind::kParts, typed_parts(), AnswerForm::kGlmTags);
  const std::string text = glm("text", "\nx"), list = glm("list", "[]", "");
  EXPECT_TRUE(any.takes("<tool_call>typed\n" + text + "</tool_call>"));
  EXPECT_TRUE(any.takes("<tool_call>typed" + text + list +
                        "</tool_call>\n<tool_call>none\n"
                        "</tool_call>"));
  EXPECT_TRUE(any.takes("<tool_call>none</tool_call>"));
  for (const std::string& wrong :
       {std::string("\n"), list, glm("text", "</arg_value>"), glm("text", "</tool_call>"),
        text + glm("n", "x"), text + "\n", text + glm("maybe", "None")}) {
    EXPECT_FALSE(any.takes("<tool_call>typed\n" + wrong + "</tool_call>")) << wrong;
  }
  EXPECT_FALSE(any.begins("<tool_call>\n") || any.begins("<tool_call>other"));
}

TEST(CallForms, what_tags_write_is_read_by_the_types_of_the_schema) {
  const std::string tools = tools_of_parts(typed_parts());
  const auto read = [&](const std::string& arguments) {
    return arguments_read({AnswerForm::kQwenTags, CallForm::kQwenTags}, qwen_call(arguments),
                          tools);
  };
  EXPECT_EQ(read(qwen("text", "null") + qwen("n", "-3") + qwen("maybe", "null")),
            R"({"text":"null","n":-3,"maybe":null})");
  EXPECT_EQ(read(qwen("text", "\n\r\n") + qwen("any", "\"null\"") + qwen("list", "[\"3\"]")),
            R"({"text":"\n\r\n","any":"null","list":["3"]})");
  EXPECT_EQ(read(qwen("text", "</function><parameter=n>") + qwen("short", "")),
            R"({"text":"</function><parameter=n>","short":""})");
}

// The texts are made of what readers look for.
TEST(CallForms, every_text_that_tags_let_through_is_read_as_it_is) {
  constexpr std::array<const char*, 22> kPieces = {"<",
                                                   "/",
                                                   "</",
                                                   "parameter>",
                                                   "</parameter>",
                                                   "</function>",
                                                   "</tool_call>",
                                                   "<parameter=n>",
                                                   "<function=typed>",
                                                   "</arg_value>",
                                                   "<arg_key>n</arg_key>",
                                                   "<arg_value>",
                                                   "\n",
                                                   "\r",
                                                   "null",
                                                   "None",
                                                   "<tool_call>",
                                                   "\"",
                                                   "{",
                                                   "\r\n",
                                                   " ",
                                                   "x"};
  Random random(testing::test_seed());
  const std::string tools = tools_of_parts(typed_parts());
  for (const Form& form : {kForms[3], kForms[4]}) {
    Accepting any(GrammarKind::kParts, typed_parts(), form.answer);
    int taken = 0;
    for (int i = 0; i < 3000; ++i) {
      std::string text;
      for (uint64_t left = 1 + random.below(5); left > 0; --left) {
        text += kPieces[random.below(kPieces.size())];
      }
      const bool is_list = random.below(3) == 0, may_be_null = random.below(2) == 0;
      const std::string maybe = may_be_null ? text : "x";
      const std::string list = OrderedJson::array({is_list ? text : "x"}).dump();
      const std::string call =
          form.answer == AnswerForm::kQwenTags
              ? qwen_call(qwen("text", text) + qwen("maybe", maybe) + qwen("list", list))
              : "<tool_call>typed\n" + glm("text", text) + glm("maybe", maybe) + glm("list", list) +
                    "</tool_call>";
      if (!any.takes(call)) continue;
      ++taken;
      OrderedJson expected = {{"text", text}, {"maybe", maybe}};
      expected["list"] = OrderedJson::array({is_list ? text : "x"});
      if (maybe == "null") expected["maybe"] = nullptr;
      EXPECT_EQ(arguments_read(form, call, tools), expected.dump()) << call;
    }
    EXPECT_GT(taken, 500);
  }
}

// The marks around tags are text in these forms.
TEST(CallForms, a_model_whose_marks_around_tags_are_special_tokens_writes_the_common_form) {
  Json json = *parse_json(testing::read_text(testing::demo_model_dir() / "tokenizer.json"), "json");
  const Json config = *parse_json(
      testing::read_text(testing::demo_model_dir() / "tokenizer_config.json"), "config");
  const auto form_of_model = [&](CallForm form, const Json& of_tokens) {
    const auto tokenizer = Tokenizer::load(json, of_tokens);
    const auto tokens = static_cast<size_t>(tokenizer->id_count());
    return GrammarVocabulary::make(*tokenizer, {*tokenizer->token_id("<|im_end|>")}, tokens, form)
        ->form;
  };
  EXPECT_EQ(form_of_model(CallForm::kQwenTags, config), AnswerForm::kQwenTags);
  EXPECT_EQ(form_of_model(CallForm::kGlmTags, config), AnswerForm::kGlmTags);
  EXPECT_EQ(form_of_model(CallForm::kJson, config), AnswerForm::kTagged);
  Json special = config;
  for (auto& [id, token] : special["added_tokens_decoder"].items()) token["special"] = true;
  for (Json& token : json["added_tokens"]) token["special"] = true;
  EXPECT_EQ(form_of_model(CallForm::kQwenTags, special), AnswerForm::kTagged);
  EXPECT_EQ(form_of_model(CallForm::kGlmTags, special), AnswerForm::kTagged);
}

// Each of these is a function with one required property "a", or something else.
TEST(CallForms, what_tags_cannot_spell_gets_the_common_form) {
  const auto one = [](const char* schema, const char* more = "") {
    return R"({"type": "object", "properties": {"a": )" + std::string(schema) +
           R"(}, "required": ["a"])" + more + "}";
  };
  const std::string either = R"({"type": ["string", "integer"]})";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {one(either.c_str()), "1"},
      {one(R"({"enum": ["x", 1]})"), "1"},
      {one(R"({"enum": ["x", "</parameter>"]})"), R"("</parameter>")"},
      {one(R"({"const": "x\r"})"), R"("x\r")"},
      {one(R"({"enum": ["None", null]})"), R"("None")"},
      {one(R"({"const": ["</tool_call>"]})"), R"(["</tool_call>"])"},
      {one(R"({"type": "string", "pattern": "^</arg_value>$"})"), R"("</arg_value>")"},
      {one(R"({"type": "string", "maxLength": 2000})"), R"("x")"},
      {one(R"({"$ref": "#/properties/b"})"), ""},
      {one(R"({"type": "object", "properties": {"</parameter>": {}}})"), R"({"</parameter>": 1})"},
      {one("true", R"(, "minProperties": 1)"), "1"},
      {one("true", R"(, "anyOf": [true])"), "1"},
      {one("true", R"(, "additionalProperties": {"type": "string"})"), "1"},
      {R"({"properties": {"a b": {}, "a": {}}})", "1"},
      {R"({"type": "object", "additionalProperties": true})", "1"},
      {R"({})", "1"},
      {R"({"required": ["a"]})", "1"}};
  for (const AnswerForm form : {AnswerForm::kQwenTags, AnswerForm::kGlmTags}) {
    for (const auto& [schema, value] : cases) {
      const std::string part = R"({"tool_calls": [{"name": "f", "parameters": )" + schema + "}]}";
      if (value.empty()) {
        EXPECT_FALSE(compile_grammar(GrammarKind::kParts, part, "schema", form).ok()) << schema;
        continue;
      }
      Accepting any(GrammarKind::kParts, part, form);
      EXPECT_TRUE(any.takes("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": " + value +
                            "}}\n</tool_call>"))
          << schema;
      EXPECT_FALSE(any.begins("<tool_call>\n<") || any.begins("<tool_call>f")) << schema;
    }
  }
}

// Calls of one answer may be in both forms.
TEST(CallForms, a_function_that_tags_cannot_spell_leaves_the_others_their_form) {
  const std::string part =
      R"({"tool_calls": [{"name": "odd name", "parameters": {}}, )" + std::string(kTyped) + "]}";
  Accepting any(GrammarKind::kParts, part, AnswerForm::kQwenTags);
  const std::string odd =
      "<tool_call>\n{\"name\": \"odd name\", \"arguments\": "
      "{\"a\": \"<parameter=b></tool_call>\"}}\n</tool_call>";
  const std::string both = odd + "\n" + qwen_call(qwen("text", "x"));
  EXPECT_TRUE(any.takes(both));
  CallTranslator calls(call_marks(CallForm::kQwenTags), ToolTypes(tools_of_parts(part)));
  ToolCallParser parser(/*parallel=*/true);
  std::vector<ToolCall> read;
  for (const CallTranslator::Piece& piece : calls.push(both)) {
    for (const AnswerPart& made : parser.push(piece.text)) {
      read.insert(read.end(), made.calls.begin(), made.calls.end());
    }
  }
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].name, "odd name");
  EXPECT_EQ(read[0].arguments, R"({"a":"<parameter=b></tool_call>"})");
  EXPECT_EQ(read[1].arguments, R"({"text":"x"})");
}

// Each property is compiled alone; together they may take more than the limits.
TEST(CallForms, schemas_that_are_too_large_for_tags_get_the_common_form) {
  OrderedJson schema = {{"type", "object"}, {"properties", OrderedJson::object()}};
  for (int i = 0; i < 12; ++i) {
    schema["properties"]["p" + std::to_string(i)] = {{"type", "string"}, {"maxLength", 800 + i}};
  }
  const OrderedJson function = {{"name", "f"}, {"parameters", schema}};
  const std::string part = OrderedJson({{"tool_calls", OrderedJson::array({function})}}).dump();
  Accepting any(GrammarKind::kParts, part, AnswerForm::kGlmTags);
  EXPECT_TRUE(any.takes("<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>"));
}

TEST(CallForms, the_functions_of_parts_are_tools) {
  EXPECT_EQ(tools_of_parts(R"({"any_of": [{"text": "no"}, {"tool_calls": [{"name": "f"}]}]})"),
            R"([{"type":"function","function":{"name":"f"}}])");
  for (const char* none : {"", "{", "[]", "7", R"({"any_of": 7})", R"({"tool_calls": []})",
                           R"({"tool_calls": null})", R"({"any_of": [7, []]})"}) {
    EXPECT_EQ(tools_of_parts(none), "") << none;
  }
}

TEST(CallForms, random_arguments_are_read_as_documents_for_which_the_schema_holds) {
  Random random(testing::test_seed());
  int walked = 0, with_tags = 0, without_formats = 0;
  const int schemas = testing::long_or(900, 120);
  for (int i = 0; i < schemas; ++i) {
    OrderedJson definitions = OrderedJson::object();
    const OrderedJson a = schema_of_property(random, definitions);
    const OrderedJson schema = {{"type", "object"},
                                {"properties", {{"a", a}, {"text", schema_of_text(random)}}},
                                {"required", {"a"}},
                                {"additionalProperties", false},
                                {"$defs", definitions}};
    const OrderedJson function = {{"name", "f"}, {"parameters", schema}};
    const std::string part =
        OrderedJson({{"tool_calls", OrderedJson::array({function})}, {"max", 1}}).dump();
    const Form form = kForms[random.below(kForms.size())];
    auto grammar = compile_grammar(GrammarKind::kParts, part, "schema", form.answer);
    if (!grammar.ok()) continue;
    GrammarAutomaton automaton(std::make_shared<Grammar>(*std::move(grammar)));
    for (int walk = 0; walk < 3; ++walk) {
      const auto text = testing::random_walk(automaton, random, closing_of(form.answer));
      if (!text) continue;
      ++walked;
      if (text->find("</parameter>") + text->find("</arg_value>") != 2 * text->npos) ++with_tags;
      const std::string json = arguments_read(form, *text, tools_of_parts(part));
      const auto read = parse_json(json, "arguments");
      ASSERT_TRUE(read.ok()) << schema.dump() << "\n" << *text;
      ASSERT_EQ(testing::violation_but_formats(*read, schema, without_formats), "")
          << schema.dump() << "\n"
          << *text << "\n"
          << json;
    }
  }
  EXPECT_GT(walked, schemas);
  EXPECT_GT(with_tags, schemas / 5);
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
