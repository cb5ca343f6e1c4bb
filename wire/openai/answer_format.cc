// Every field that says what the answer must be is read, so that none is dropped silently.
#include "wire/openai/answer_format.h"

#include <algorithm>
#include <utility>

namespace cascade::openai {
namespace {

using FormatKind = AnswerFormat::Kind;

AnswerFormat schema_format(OrderedJson schema, const std::string& param,
                           const std::string& schema_param) {
  return {FormatKind::kJsonSchema, std::move(schema), param, schema_param};
}

// A schema as an object, or as its JSON text.
AnswerFormat read_schema(Fields& fields, std::string_view key) {
  const std::string param = fields.path(key);
  const OrderedJson* given = fields.find(key);
  if (given == nullptr) return {};
  OrderedJson schema = *given;
  if (given->is_string()) {
    auto parsed = parse_ordered_json(given->get_ref<const std::string&>(), param);
    if (parsed.ok()) schema = *std::move(parsed);
  }
  if (!schema.is_object()) {
    fields.fail(key, "must be a JSON schema: an object, or the JSON text of one");
    return {};
  }
  // As in response_format: an object {"name","schema"} holds the schema.
  const bool is_wrapped = schema.contains("schema") && schema["schema"].is_object() &&
                          schema.contains("name") && !schema.contains("type");
  if (is_wrapped) return schema_format(schema["schema"], param, param + ".schema");
  return schema_format(std::move(schema), param, param);
}

AnswerFormat read_choice(Fields& fields, std::string_view key) {
  const OrderedJson* given = fields.array(key);
  if (given == nullptr) return {};
  const auto is_text = [](const OrderedJson& text) {
    return text.is_string() && !text.get_ref<const std::string&>().empty();
  };
  if (given->empty() || !std::ranges::all_of(*given, is_text)) {
    fields.fail(key, "must be an array of texts, one of which is the answer");
    return {};
  }
  return {FormatKind::kChoice, *given, fields.path(key), ""};
}

constexpr char kNoGrammars[] =
    "is not supported: an answer can be held to a JSON schema (response_format) or to one of "
    "several texts (structured_outputs.choice)";

// Takes the next format. It is an error if there are two: one of them would be dropped otherwise.
void take_only_one(Fields& fields, AnswerFormat& taken, AnswerFormat next) {
  if (next.kind == FormatKind::kText) return;
  if (taken.kind != FormatKind::kText) {
    return fields.fail(invalid_argument(
        next.param, "says what the answer must be, and so does " + taken.param + ": send one"));
  }
  taken = std::move(next);
}

// {"json"|"choice"|"json_object"}
AnswerFormat read_structured_outputs(Fields& fields) {
  const OrderedJson* given = fields.object("structured_outputs");
  if (given == nullptr) return {};
  Fields inner(*given, fields.path("structured_outputs."));
  for (const char* key : {"regex", "grammar", "structural_tag", "whitespace_pattern"}) {
    inner.refuse(key, nullptr, kNoGrammars);
  }
  AnswerFormat format = read_schema(inner, "json");
  take_only_one(inner, format, read_choice(inner, "choice"));
  if (inner.boolean("json_object").value_or(false)) {
    take_only_one(inner, format,
                  {FormatKind::kJsonObject, {}, inner.path("json_object"), /*schema_param=*/""});
  }
  if (format.kind == FormatKind::kText) {
    inner.fail(invalid_argument(fields.path("structured_outputs"),
                                "has none of json, choice and json_object"));
  }
  fields.fail(inner.status());
  return format;
}

// Ollama's: "json", or a schema.
AnswerFormat read_ollama_format(Fields& fields) {
  const OrderedJson* given = fields.find("format");
  if (given == nullptr || *given == "") return {};
  if (*given == "json") return {FormatKind::kJsonObject, {}, "format", ""};
  if (given->is_object()) return schema_format(*given, "format", "format");
  fields.fail("format", "must be \"json\" or a JSON schema");
  return {};
}

AnswerFormat read_format_of_responses(Fields& fields) {
  const OrderedJson* text = fields.find("text");
  if (text == nullptr || !text->is_object()) return {};
  Fields inner(*text, "text.");
  const OrderedJson* format = inner.object("format");
  fields.fail(inner.status());
  return read_format(fields, format, "text.format", /*nested=*/false);
}

}  // namespace

AnswerFormat read_format(Fields& fields, const OrderedJson* format, const std::string& param,
                         bool nested) {
  AnswerFormat result;
  result.param = param;
  if (format == nullptr) return result;
  Fields inner(*format, param + ".");
  const std::string type = inner.text("type").value_or("");
  const bool is_object = type == "json_object";
  if (is_object || type == "json_schema") {
    const OrderedJson* holder = nested && !is_object ? inner.object("json_schema") : nullptr;
    if (holder != nullptr) {
      Fields of_schema(*holder, param + ".json_schema.");
      if (const OrderedJson* schema = of_schema.object("schema")) {
        result = schema_format(*schema, param, param + ".json_schema.schema");
      }
      inner.fail(of_schema.status());
    } else if (const OrderedJson* schema = inner.object("schema")) {
      result = schema_format(*schema, param, param + ".schema");
    }
    if (is_object && result.kind == FormatKind::kText) result.kind = FormatKind::kJsonObject;
    if (result.kind == FormatKind::kText)
      inner.fail(nested ? "json_schema" : "schema", "has no schema");
  } else if (type != "text") {
    inner.fail("type", "must be text, json_object or json_schema");
  }
  fields.fail(inner.status());
  return result;
}

AnswerFormat read_answer_format(Fields& fields, AnswerFormat own) {
  AnswerFormat format = std::move(own);
  if (format.param != "response_format") {
    take_only_one(fields, format,
                  read_format(fields, fields.object("response_format"), "response_format",
                              /*nested=*/true));
  }
  if (format.param != "text.format") {
    take_only_one(fields, format, read_format_of_responses(fields));
  }
  take_only_one(fields, format, read_schema(fields, "json_schema"));
  take_only_one(fields, format, read_schema(fields, "guided_json"));
  take_only_one(fields, format, read_choice(fields, "guided_choice"));
  take_only_one(fields, format, read_structured_outputs(fields));
  take_only_one(fields, format, read_ollama_format(fields));
  for (const char* key : {"grammar", "guided_grammar", "guided_regex", "structural_tag", "regex",
                          "ebnf", "guided_whitespace_pattern"}) {
    fields.refuse(key, "", kNoGrammars);
  }
  return format;
}

}  // namespace cascade::openai
