// The daemon knows the form in which its model writes calls.
#include "wire/openai/constraint.h"

#include "wire/openai/bare_schema.h"
#include "wire/openai/json_text.h"
#include "wire/openai/tools.h"

namespace cascade::openai {
namespace {

OrderedJson text_part(const std::string& text) {
  return {{"text", text}};
}

// Arguments are an object even if the tool declares none: models write {} then.
OrderedJson parameters_of(const OrderedJson& function) {
  const auto found = function.find("parameters");
  OrderedJson schema = OrderedJson::object();
  if (found != function.end() && found->is_object()) schema = bare_schema(*found);
  if (!schema.contains("type")) schema["type"] = "object";
  return schema;
}

// One call or, if more are allowed, several calls: of `function`, or of any function if that is
// empty.
OrderedJson calls_part(const ToolUse& tools, const std::string& function) {
  OrderedJson functions = OrderedJson::array();
  for (size_t i = 0; i < tools.functions.size(); ++i) {
    const OrderedJson& tool = tools.functions[i];
    if (!function.empty() && tool.at("name") != function) continue;
    functions.push_back({{"name", tool.at("name")},
                         {"parameters", parameters_of(tool)},
                         {"schema_name", tools.schema_params[i]}});
  }
  OrderedJson part = {{"tool_calls", std::move(functions)}};
  if (!tools.parallel || !function.empty()) part["max"] = 1;
  return part;
}

OrderedJson format_part(const AnswerFormat& format) {
  switch (format.kind) {
    case AnswerFormat::Kind::kText:
    case AnswerFormat::Kind::kJsonObject: return {{"json_schema", {{"type", "object"}}}};
    case AnswerFormat::Kind::kJsonSchema:
      return {{"json_schema", bare_schema(format.schema)}, {"name", format.schema_param}};
    case AnswerFormat::Kind::kChoice: break;
  }
  OrderedJson any = OrderedJson::array();
  for (const OrderedJson& text : format.schema) any.push_back(text_part(text.get<std::string>()));
  return {{"any_of", std::move(any)}};
}

// Whether an error of compile_grammar() or check_grammar() says that the whole grammar is too
// large.
bool is_too_much(std::string_view what) {
  return what.starts_with("is too large") || what.starts_with("has ") ||
         what.find("the schema is too ") != what.npos;
}

}  // namespace

std::string constrain(const ToolUse& tools, const AnswerFormat& format,
                      wire::GenerateRequest& request) {
  if (tools.demand == ToolUse::Demand::kSome) {
    request.grammar = {GrammarKind::kParts, json_text(calls_part(tools, tools.demanded))};
    return "tools";
  }
  if (format.kind == AnswerFormat::Kind::kText) return "";
  if (tools.given) {
    OrderedJson either;
    either["any_of"] = OrderedJson::array({format_part(format), calls_part(tools, "")});
    request.grammar = {GrammarKind::kParts, json_text(either)};
    return format.param;
  }
  switch (format.kind) {
    case AnswerFormat::Kind::kText: break;
    case AnswerFormat::Kind::kJsonObject: request.grammar.emplace(); break;
    case AnswerFormat::Kind::kJsonSchema:
      request.grammar = {GrammarKind::kJsonSchema, json_text(bare_schema(format.schema))};
      return format.schema_param;
    case AnswerFormat::Kind::kChoice:
      request.grammar = {GrammarKind::kParts, json_text(format_part(format))};
  }
  return format.param;
}

ApiError grammar_error(ApiError error, const std::string& grammar_param) {
  std::string what = error.message;
  if (what.starts_with(error.param + ": ")) what.erase(0, error.param.size() + 2);
  const size_t end = what.find_first_of("#: ");
  error.param = grammar_param;
  if (end != what.npos && end > 0 && what[end] == '#') {
    // The name that calls_part() or constrain() gave the schema.
    error.param = what.substr(0, end);
    error.message = what;
  } else {
    const bool joined = what.starts_with('#') || grammar_param.empty();
    error.message = grammar_param + (joined ? "" : ": ") + what;
  }
  if (grammar_param == "tools" && is_too_much(what)) {
    error.message +=
        "; the calls of all tools together are one grammar: give fewer or smaller tools, or "
        "tool_choice auto, which does not constrain calls";
  }
  return error;
}

}  // namespace cascade::openai
