// Each property has a grammar of its own. Its strings have no tag at which readers end a value or a
// call, and no text that readers take for something else.
#include "model/grammar/tagged_arguments.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "model/calls/call_json.h"
#include "model/calls/tagged_body.h"
#include "model/grammar/pattern.h"
#include "model/grammar/schema.h"

namespace cascade {
namespace {

constexpr std::array<const char*, 2> kDefinitions = {"$defs", "definitions"};
// Each property reads all definitions: this limits how many of their values are read in all.
constexpr size_t kDefinitionsReadMax = 1'000'000;
// The other keywords that the schema of the parameters may have.
constexpr std::array<std::string_view, 7> kPlainKeywords = {
    "type", "properties", "required", "additionalProperties", "title", "description", "$schema"};

// The texts in which the pattern is not found.
CodePointDfa texts_without(const std::string& pattern) {
  size_t work = kGrammarWorkMax;
  const auto found = compile_pattern(pattern, work);
  CHECK(found.ok());
  auto others = combined(all_texts_but({}), *found, Combination::kFirstAlone, 1000, work);
  CHECK(others.ok() && others->complete);
  return *std::move(others);
}

// A pattern of the tags that end a value of any form, or a call.
std::string closing_tags() {
  std::string pattern;
  for (const std::string_view tag : {kParameterEnd, kValueEnd, kToolCallClose}) {
    pattern += (pattern.empty() ? "" : "|") + std::string(tag);
  }
  return pattern;
}

const CodePointDfa& texts_in_json() {
  static const CodePointDfa kTexts = texts_without(closing_tags());
  return kTexts;
}

// A carriage return at the end would be taken for a part of the line end after the value.
const CodePointDfa& plain_texts() {
  static const CodePointDfa kTexts = texts_without(closing_tags() + "|\\r$");
  return kTexts;
}

const CodePointDfa& texts_but_null() {
  static const CodePointDfa kTexts =
      texts_without(closing_tags() + "|\\r$|^[ \\t\\r\\n]*(?:null|None)[ \\t\\r\\n]*$");
  return kTexts;
}

// Whether all references are to definitions, which each property's schema gets, and are written in
// a way that ToolTypes follows.
bool has_simple_references(const OrderedJson& schema) {
  if (!schema.is_structured()) return true;
  const auto found = schema.is_object() ? schema.find("$ref") : schema.end();
  if (found != schema.end() && found->is_string()) {
    const auto& reference = found->get_ref<const std::string&>();
    const bool is_simple =
        (reference.starts_with("#/$defs/") || reference.starts_with("#/definitions/")) &&
        reference.find_first_of("~%") == reference.npos;
    if (!is_simple) return false;
  }
  return std::ranges::all_of(schema, has_simple_references);
}

// Whether a schema describes an object by its properties alone, whose names tags can spell.
bool describes_properties(const OrderedJson& schema) {
  if (!schema.is_object()) return false;
  for (const auto& [key, value] : schema.items()) {
    const bool is_known = std::ranges::find(kPlainKeywords, key) != kPlainKeywords.end() ||
                          std::ranges::find(kDefinitions, key) != kDefinitions.end();
    if (!is_known) return false;
  }
  // Without properties, other ones must surely not be meant.
  const OrderedJson others =
      schema.value("additionalProperties", OrderedJson(!schema.contains("properties")));
  const OrderedJson properties = schema.value("properties", OrderedJson::object());
  const bool is_right = schema.value("type", OrderedJson("object")) == "object" &&
                        others.is_boolean() && properties.is_object() &&
                        (!properties.empty() || others == false);
  if (!is_right || !has_simple_references(schema)) return false;
  return std::ranges::all_of(properties.items(),
                             [](const auto& property) { return is_plain_name(property.key()); });
}

// The names in `required`; nullopt if it is not a list of names.
std::optional<std::set<std::string, std::less<>>> required_names(const OrderedJson& parameters) {
  std::set<std::string, std::less<>> names;
  const OrderedJson required = parameters.value("required", OrderedJson::array());
  if (!required.is_array()) return std::nullopt;
  for (const OrderedJson& name : required) {
    if (!name.is_string()) return std::nullopt;
    names.insert(name.get<std::string>());
  }
  return names;
}

// How many values the JSON has, itself included.
size_t count_values(const OrderedJson& json) {
  size_t values = 1;
  if (json.is_structured()) {
    for (const OrderedJson& value : json) values += count_values(value);
  }
  return values;
}

}  // namespace

TaggedArguments::TaggedArguments(GrammarBuilder& builder, AnswerForm form, ToolTypes types,
                                 size_t& work)
    : builder_(builder),
      form_(form),
      types_(std::move(types)),
      work_(work),
      text_(builder, ValueForm::kText, plain_texts()),
      text_or_null_(builder, ValueForm::kText, texts_but_null()),
      json_(builder, ValueForm::kJson, texts_in_json()) {}

std::optional<GrammarNodeId> TaggedArguments::add(const std::string& function,
                                                  const OrderedJson& parameters) {
  if (!is_plain_name(function) || !describes_properties(parameters)) return std::nullopt;
  OrderedJson document = OrderedJson::object();
  for (const char* const key : kDefinitions) {
    if (parameters.contains(key)) document[key] = parameters[key];
  }
  const OrderedJson properties = parameters.value("properties", OrderedJson::object());
  if (properties.size() * count_values(document) > kDefinitionsReadMax) return std::nullopt;
  const auto required = required_names(parameters);
  if (!required) return std::nullopt;
  size_t required_left = required->size();
  has_tried_ = true;
  std::vector<GrammarNodeId> parts;
  if (form_ == AnswerForm::kGlmTags) parts.push_back(builder_.repeat(builder_.text("\n"), 0, 1));
  for (const auto& [name, schema] : properties.items()) {
    const auto made = value(types_.reads_as(function, name), schema, document);
    if (!made) return std::nullopt;
    const GrammarNodeId one = argument(name, *made);
    const bool is_required = required->contains(name);
    required_left -= is_required;
    parts.push_back(is_required ? one : builder_.repeat(one, 0, 1));
    if (builder_.full()) return std::nullopt;
  }
  if (required_left > 0) return std::nullopt;  // what is not described cannot be written
  return builder_.sequence(std::move(parts));
}

// The value of a property; `document` has the definitions. nullopt if the form cannot write it.
std::optional<GrammarNodeId> TaggedArguments::value(ArgumentText read_as, const OrderedJson& schema,
                                                    OrderedJson& document) {
  OrderedJson all = OrderedJson::array({schema});
  JsonPieces* pieces = &json_;
  switch (read_as) {
    case ArgumentText::kString:
      all.push_back({{"type", "string"}});
      pieces = &text_;
      break;
    case ArgumentText::kStringOrNull:
      all.push_back({{"type", OrderedJson::array({"string", "null"})}});
      pieces = &text_or_null_;
      break;
    case ArgumentText::kJson: break;
    case ArgumentText::kEither: return std::nullopt;
  }
  document["allOf"] = std::move(all);
  const auto made = add_schema(builder_, *pieces, document, "", work_);
  const bool is_left_out = pieces->take_left_out();
  return made.ok() && !is_left_out ? std::optional(*made) : std::nullopt;
}

// An argument with its tags.
GrammarNodeId TaggedArguments::argument(const std::string& name, GrammarNodeId value) {
  const auto text = [&](std::string_view one, std::string_view two, std::string_view three) {
    return builder_.text(std::string(one) + std::string(two) + std::string(three));
  };
  if (form_ == AnswerForm::kQwenTags) {
    return builder_.sequence(
        {text(kParameterTag, name, ">\n"), value, text("\n", kParameterEnd, "\n")});
  }
  const GrammarNodeId line_end = builder_.repeat(builder_.text("\n"), 0, 1);
  return builder_.sequence({text(kKeyTag, name, kKeyEnd), line_end, builder_.text(kValueTag), value,
                            builder_.text(kValueEnd), line_end});
}

}  // namespace cascade
