// Reads the description of the output, and puts the grammars of its parts together.
#include "model/grammar/compile.h"

#include <optional>

#include "base/exact_number.h"
#include "base/utf8.h"
#include "model/calls/call_json.h"
#include "model/grammar/answer.h"
#include "model/grammar/pattern.h"
#include "model/grammar/schema.h"
#include "model/grammar/tagged_arguments.h"

namespace cascade {
namespace {

// Whether the name can stand in a header: see read_harmony_header().
bool is_harmony_name(std::string_view name) {
  return is_plain_name(name) && name != "assistant" && name != "user" && name != "all";
}

// Whether a schema surely allows objects only. One that says nothing about types becomes such a
// schema.
bool is_made_object(OrderedJson& schema) {
  if (schema == true) schema = OrderedJson::object();
  if (!schema.is_object()) return false;
  const auto has = [&](const char* key) { return schema.contains(key); };
  const bool is_open = !has("type") && !has("enum") && !has("const") && !has("$ref") &&
                       !has("anyOf") && !has("oneOf") && !has("allOf");
  if (is_open) schema["type"] = "object";
  return has("type") && schema["type"] == "object";
}

// The form in which a model of `form` is to write a call of this function. It is kTagged if its own
// form cannot tell the name from the arguments.
AnswerForm call_form_of(AnswerForm form, const std::string& function, OrderedJson& parameters) {
  const bool has_marks = form == AnswerForm::kGemma || form == AnswerForm::kMistral;
  if (!has_marks && form != AnswerForm::kLlama3) return form;
  const bool is_plain = is_harmony_name(function) && !function.starts_with(':');
  const bool is_object = is_made_object(parameters);
  return is_object && (is_plain || !has_marks) ? form : AnswerForm::kTagged;
}

// As tools_of_parts().
std::string tools_in(const OrderedJson& json) {
  OrderedJson tools = OrderedJson::array();
  std::vector<const OrderedJson*> parts = {&json};
  while (!parts.empty()) {
    const OrderedJson& part = *parts.back();
    parts.pop_back();
    if (!part.is_object()) continue;
    for (const OrderedJson& function : part.value("tool_calls", OrderedJson::array())) {
      tools.push_back({{"type", "function"}, {"function", function}});
    }
    const auto choices = part.find("any_of");
    if (choices == part.end() || !choices->is_array()) continue;
    for (const OrderedJson& choice : *choices) parts.push_back(&choice);
  }
  return tools.empty() ? "" : dump_exact(tools);
}

class PartsCompiler {
 public:
  // `json`: the parts.
  PartsCompiler(GrammarBuilder& builder, const OrderedJson& json, std::string_view field,
                AnswerForm form, size_t& work)
      : builder_(builder),
        pieces_(builder),
        gemma_pieces_(builder, ValueForm::kGemma),
        field_(field),
        form_(form),
        work_(work) {
    if (has_tags(form)) tagged_.emplace(builder, form, ToolTypes(tools_in(json)), work);
  }

  // Whether work was done for the arguments of calls between tags.
  bool has_tried_tags() const { return tagged_ && tagged_->has_tried(); }

  Result<GrammarNodeId> compile_whole(const OrderedJson& part) {
    std::vector<GrammarNodeId> texts, calls;
    RETURN_IF_ERROR(add_choice(part, "", texts, calls));
    return add_answer(builder_, form_, std::move(texts), std::move(calls));
  }

 private:
  // Adds a part that may be the whole answer. This recurses no deeper than the JSON may nest.
  Status add_choice(const OrderedJson& part, const std::string& place,
                    std::vector<GrammarNodeId>& texts, std::vector<GrammarNodeId>& calls) {
    if (part.is_object() && part.contains("tool_calls")) {
      ASSIGN_OR_RETURN(const GrammarNodeId node, tool_calls(part, place));
      calls.push_back(node);
      return {};
    }
    const bool is_choice = part.is_object() && part.size() == 1 && part.contains("any_of") &&
                           part["any_of"].is_array() && !part["any_of"].empty();
    if (!is_choice) {
      ASSIGN_OR_RETURN(const GrammarNodeId node, compile(part, place));
      texts.push_back(node);
      return {};
    }
    const OrderedJson& parts = part["any_of"];
    for (size_t i = 0; i < parts.size(); ++i) {
      RETURN_IF_ERROR(add_choice(parts[i], place + "/any_of/" + std::to_string(i), texts, calls));
    }
    return {};
  }

  // Recurses like add_choice().
  Result<GrammarNodeId> compile(const OrderedJson& part, const std::string& place) {
    if (!part.is_object() || part.empty()) return error(place, "must be an object with a part");
    auto member = part.begin();
    for (const char* kind : {"repeat", "json_schema"}) {
      if (part.contains(kind)) member = part.find(kind);
    }
    const std::string& kind = member.key();
    const OrderedJson& value = member.value();
    const std::string inside = place + "/" + utf8_replace_malformed(kind.substr(0, 20));
    if (kind == "json_schema") return schema(part, inside, pieces_);
    if (part.contains("tool_calls")) {
      return error(place,
                   "has tool_calls, which may only be the whole, or one of the parts of an "
                   "any_of that is the whole");
    }
    if (kind != "repeat" && part.size() > 1) return error(place, "must have one member");
    if (kind == "text" && value.is_string() && !value.get_ref<const std::string&>().empty()) {
      return builder_.text(value.get_ref<const std::string&>());
    }
    if (kind == "pattern" && value.is_string()) return pattern(value, inside);
    if ((kind == "sequence" || kind == "any_of") && value.is_array() && !value.empty()) {
      std::vector<GrammarNodeId> children;
      for (size_t i = 0; i < value.size(); ++i) {
        ASSIGN_OR_RETURN(const GrammarNodeId child,
                         compile(value[i], inside + "/" + std::to_string(i)));
        children.push_back(child);
      }
      return kind == "sequence" ? builder_.sequence(std::move(children))
                                : builder_.choice(std::move(children));
    }
    if (kind == "repeat") return repetition(part, inside);
    return error(inside,
                 "must be text or pattern with a string, json_schema, sequence or any_of with a "
                 "list, or repeat");
  }

  Result<GrammarNodeId> tool_calls(const OrderedJson& part, const std::string& place) {
    uint32_t max = GrammarNode::kUnbounded;
    for (const auto& [name, value] : part.items()) {
      if (name == "tool_calls") continue;
      const bool count = value.is_number_unsigned() && value.get<uint64_t>() < max && value != 0;
      if (name != "max" || !count) {
        return error(place,
                     "may have max, a count of at least 1, beside tool_calls, and nothing else");
      }
      max = value;
    }
    const OrderedJson& functions = part["tool_calls"];
    const std::string inside = place + "/tool_calls";
    if (!functions.is_array() || functions.empty() || functions.size() > kFunctionsMax) {
      return error(inside,
                   "must be a list of 1 to " + std::to_string(kFunctionsMax) + " functions");
    }
    std::vector<CallGrammar> calls;
    for (size_t i = 0; i < functions.size(); ++i) {
      ASSIGN_OR_RETURN(CallGrammar made, call(functions[i], inside + "/" + std::to_string(i)));
      calls.push_back(std::move(made));
    }
    return add_calls(builder_, form_, calls, max);
  }

  Result<CallGrammar> call(const OrderedJson& function, const std::string& place) {
    const bool has_name = function.is_object() && function.contains("name") &&
                          function["name"].is_string() && function.contains("parameters");
    if (!has_name) return error(place, "must be an object with a name and parameters");
    CallGrammar made = {.function = function["name"].get<std::string>()};
    if (made.function.empty() || made.function.size() > kFunctionNameBytesMax) {
      return error(place,
                   "must have a name of 1 to " + std::to_string(kFunctionNameBytesMax) + " bytes");
    }
    if (form_ == AnswerForm::kHarmony && !is_harmony_name(made.function)) {
      return error(place,
                   "has a name that this model cannot write: it may have letters, digits and "
                   "_ - . : / only, and not be assistant, user or all");
    }
    OrderedJson document = {{"json_schema", function["parameters"]}};
    for (const auto& [name, value] : function.items()) {
      if (name == "schema_name" && value.is_string()) {
        document["name"] = value;
      } else if (name != "name" && name != "parameters") {
        return error(place, "may have a name, parameters and a schema_name, and nothing else");
      }
    }
    const std::string inside = place + "/parameters";
    if (tagged_) {
      RETURN_IF_ERROR(schema_name(document, inside));
      const auto own = tagged_->add(made.function, function["parameters"]);
      if (own) return CallGrammar{made.function, *own, form_};
    } else {
      made.form = call_form_of(form_, made.function, document["json_schema"]);
    }
    JsonPieces& pieces = made.form == AnswerForm::kGemma ? gemma_pieces_ : pieces_;
    ASSIGN_OR_RETURN(made.arguments, schema(document, inside, pieces));
    return made;
  }

  Error error(const std::string& place, const std::string& what) const {
    return invalid_argument(std::string(field_), "#" + place + ": " + what);
  }

  Result<GrammarNodeId> pattern(const std::string& text, const std::string& place) {
    const auto dfa = compile_pattern(text, work_);
    if (!dfa.ok()) return error(place, dfa.error().message);
    return builder_.terminal(add_texts(builder_.bytes(), *dfa, TextForm::kPlain));
  }

  // The name of a part's schema, which errors have in the place of the # that they begin with.
  Result<std::string> schema_name(const OrderedJson& part, const std::string& place) const {
    std::string named = "#" + place;
    for (const auto& [key, value] : part.items()) {
      if (key == "json_schema") continue;
      const bool good = key == "name" && value.is_string() &&
                        value.get_ref<const std::string&>().size() <= kSchemaNameBytesMax;
      if (!good) {
        return error(place, "may have a name of at most " + std::to_string(kSchemaNameBytesMax) +
                                " bytes beside it, and nothing else");
      }
      named = value.get<std::string>() + "#";
    }
    return named;
  }

  Result<GrammarNodeId> schema(const OrderedJson& part, const std::string& place,
                               JsonPieces& pieces) {
    ASSIGN_OR_RETURN(const std::string named, schema_name(part, place));
    auto node = add_schema(builder_, pieces, part.at("json_schema"), field_, work_);
    if (node.ok()) return node;
    // The message of a schema's error begins with a pointer within the schema.
    const std::string& message = node.error().message;
    return invalid_argument(std::string(field_), message.starts_with('#')
                                                     ? named + message.substr(1)
                                                     : named + ": " + message);
  }

  Result<GrammarNodeId> repetition(const OrderedJson& part, const std::string& place) {
    uint32_t min = 0, max = GrammarNode::kUnbounded;
    std::string separator;
    for (const auto& [name, value] : part.items()) {
      const bool count = value.is_number_unsigned() && value.get<uint64_t>() < max;
      if (name == "min" && count) {
        min = value;
      } else if (name == "max" && count) {
        max = value;
      } else if (name == "separator" && value.is_string()) {
        separator = value;
      } else if (name != "repeat") {
        return error(place,
                     "has a member that is not min or max with a count, or separator "
                     "with a string");
      }
    }
    if (min > max || max == 0) return error(place, "has limits in the wrong order, or nothing");
    ASSIGN_OR_RETURN(const GrammarNodeId child, compile(*part.find("repeat"), place));
    if (separator.empty()) return builder_.repeat(child, min, max);
    const GrammarNodeId next = builder_.sequence({builder_.text(separator), child});
    const uint32_t more = max == GrammarNode::kUnbounded ? max : max - 1;
    const GrammarNodeId some =
        builder_.sequence({child, builder_.repeat(next, min == 0 ? 0 : min - 1, more)});
    return min == 0 ? builder_.choice({some, builder_.sequence({})}) : some;
  }

  GrammarBuilder& builder_;
  JsonPieces pieces_, gemma_pieces_;
  std::optional<TaggedArguments> tagged_;  // if form_ has tags
  const std::string_view field_;
  const AnswerForm form_;
  size_t& work_;
};

Result<Grammar> compile_parts(const OrderedJson& json, std::string_view field, AnswerForm form) {
  GrammarBuilder builder;
  size_t work = kGrammarWorkMax;
  PartsCompiler compiler(builder, json, field, form, work);
  const Result<GrammarNodeId> root = compiler.compile_whole(json);
  Result<Grammar> grammar = root.ok() ? std::move(builder).finish(*root, field) : root.error();
  // The limits may suffice for calls in the common form: the schemas of their properties share
  // what they refer to.
  if (grammar.ok() || !compiler.has_tried_tags()) return grammar;
  return compile_parts(json, field, AnswerForm::kTagged);
}

}  // namespace

std::string tools_of_parts(std::string_view text) {
  const auto json = parse_ordered_json(text, "grammar", {kGrammarBytesMax, kGrammarDepthMax});
  if (!json.ok()) return "";
  return tools_in(*json);
}

Result<Grammar> compile_grammar(GrammarKind kind, std::string_view text, std::string_view field,
                                AnswerForm form) {
  GrammarBuilder builder;
  if (kind == GrammarKind::kJsonObject) {
    if (!text.empty()) return invalid_argument(std::string(field), "must be empty: any object is");
    const GrammarNodeId object = JsonPieces(builder).any_object();
    return std::move(builder).finish(add_answer(builder, form, {object}, {}), field);
  }
  ASSIGN_OR_RETURN(const OrderedJson json,
                   parse_ordered_json(text, field, {kGrammarBytesMax, kGrammarDepthMax}));
  if (kind == GrammarKind::kParts) return compile_parts(json, field, form);
  size_t work = kGrammarWorkMax;
  JsonPieces pieces(builder);
  ASSIGN_OR_RETURN(const GrammarNodeId document, add_schema(builder, pieces, json, field, work));
  return std::move(builder).finish(add_answer(builder, form, {document}, {}), field);
}

}  // namespace cascade
