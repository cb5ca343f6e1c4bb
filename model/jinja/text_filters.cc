// Filters that give text.
#include <array>
#include <string>

#include "model/jinja/case.h"
#include "model/jinja/error.h"
#include "model/jinja/filters.h"
#include "model/jinja/format.h"
#include "model/jinja/format_spec.h"
#include "model/jinja/json.h"
#include "model/jinja/markup.h"
#include "model/jinja/print.h"
#include "model/jinja/string_ops.h"
#include "model/jinja/unicode.h"

namespace cascade::jinja {
namespace {

// The subject as a string; markup stays markup.
Result<String> as_string(Runtime& runtime, const Value& subject) {
  ASSIGN_OR_RETURN(MarkedText text, to_text(runtime, subject));
  return String{std::move(text), subject.string() != nullptr && subject.string()->is_markup};
}

Value as_value(String string) {
  return string.is_markup ? make_markup(std::move(string.text))
                          : make_string(std::move(string.text));
}

using TextMap = MarkedText (*)(const MarkedText&);

template <TextMap kMap, bool kKeepsMarkup>
Result<Value> map_case(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  RETURN_IF_ERROR(bind(arguments, {}));
  ASSIGN_OR_RETURN(String string, as_string(runtime, subject));
  RETURN_IF_ERROR(runtime.charge_characters(string.text.size()));
  return as_value({kMap(string.text), kKeepsMarkup && string.is_markup});
}

Result<Value> center(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"width"}));
  ASSIGN_OR_RETURN(const int64_t width, parameters.integer(0, 80));
  ASSIGN_OR_RETURN(String string, as_string(runtime, subject));
  const int64_t size = static_cast<int64_t>(code_point_count(string.text.view()));
  const int64_t missing = std::max<int64_t>(width - size, 0);
  const int64_t left = missing / 2 + (missing & width & 1);
  ASSIGN_OR_RETURN(string.text, padded(runtime, string.text, " ", '>', size + left));
  ASSIGN_OR_RETURN(string.text, padded(runtime, string.text, " ", '<', width));
  return as_value(std::move(string));
}

Result<Value> escape(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  RETURN_IF_ERROR(bind(arguments, {}));
  ASSIGN_OR_RETURN(String string, as_string(runtime, subject));
  if (string.is_markup) return as_value(std::move(string));
  ASSIGN_OR_RETURN(MarkedText escaped, escape_html(runtime, string.text));
  return make_markup(std::move(escaped));
}

Result<Value> safe(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  RETURN_IF_ERROR(bind(arguments, {}));
  ASSIGN_OR_RETURN(MarkedText text, to_text(runtime, subject));
  return make_markup(std::move(text));
}

Result<Value> string(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  RETURN_IF_ERROR(bind(arguments, {}));
  ASSIGN_OR_RETURN(String text, as_string(runtime, subject));
  return as_value(std::move(text));
}

Result<Value> format(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const String string, as_string(runtime, subject));
  if (!arguments.named.empty() && !arguments.positional.empty()) {
    return template_error("takes arguments with names or without, not both");
  }
  Value values;
  if (arguments.named.empty()) {
    ASSIGN_OR_RETURN(values, make_tuple(arguments.positional));
  } else {
    Dict::Entries entries;
    for (const auto& [name, value] : arguments.named) {
      entries.emplace_back(untrusted_string(name), value);
    }
    ASSIGN_OR_RETURN(values, make_dict(std::move(entries)));
  }
  return format_percent(runtime, string, values);
}

Result<Value> trim(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"chars"}));
  ASSIGN_OR_RETURN(const MarkedText* chars, parameters.text(0));
  ASSIGN_OR_RETURN(String string, as_string(runtime, subject));
  ASSIGN_OR_RETURN(string.text, stripped(runtime, string.text, chars, true, true));
  return as_value(std::move(string));
}

Result<Value> replace(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"old", "new", "count"}, 2));
  ASSIGN_OR_RETURN(const int64_t limit, parameters.integer(2, kNoLimit));
  ASSIGN_OR_RETURN(const MarkedText text, to_text(runtime, subject));
  ASSIGN_OR_RETURN(const MarkedText from, to_text(runtime, parameters[0]));
  ASSIGN_OR_RETURN(const MarkedText to, to_text(runtime, parameters[1]));
  ASSIGN_OR_RETURN(MarkedText result, replaced(runtime, text, from, to, limit));
  return make_string(std::move(result));
}

// The text that indent puts before a line: a text that is given, or a number of spaces.
Result<MarkedText> indentation(Runtime& runtime, const Parameters& parameters, size_t index,
                               int64_t fallback) {
  const Value* given = parameters.get(index);
  if (given != nullptr && given->text() != nullptr) return *given->text();
  ASSIGN_OR_RETURN(const int64_t width, parameters.integer(index, fallback));
  return padded(runtime, MarkedText(), " ", '<', width);
}

Result<Value> indent(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"width", "first", "blank"}));
  ASSIGN_OR_RETURN(const MarkedText indentation_text, indentation(runtime, parameters, 0, 4));
  const bool indents_first = parameters.flag(1, false);
  const bool indents_blank = parameters.flag(2, false);
  if (subject.text() == nullptr) {
    return template_error("needs a string, not " + std::string(subject.type_name()));
  }
  ASSIGN_OR_RETURN(String string, as_string(runtime, subject));
  string.text.append("\n", false);
  ASSIGN_OR_RETURN(const PaidVector<MarkedText> lines, split_lines(runtime, string.text, false));
  MarkedText indented;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) indented.append("\n", false);
    const bool is_indented = i == 0 ? indents_first : indents_blank || !lines[i].empty();
    if (is_indented) indented.append(indentation_text);
    indented.append(lines[i]);
  }
  return as_value({std::move(indented), string.is_markup});
}

Result<JsonStyle> json_style(Runtime& runtime, const Parameters& parameters) {
  JsonStyle style;
  style.ensure_ascii = parameters.flag(0, false);
  if (parameters.get(1) != nullptr) {
    ASSIGN_OR_RETURN(style.indent, indentation(runtime, parameters, 1, 0));
  }
  style.item_separator = MarkedText(style.indent.has_value() ? "," : ", ", false);
  style.key_separator = MarkedText(": ", false);
  style.sort_keys = parameters.flag(3, false);
  if (const Value* separators = parameters.get(2)) {
    const Sequence* pair = separators->sequence();
    const bool is_pair = pair != nullptr && pair->items.size() == 2 &&
                         pair->items[0].text() != nullptr && pair->items[1].text() != nullptr;
    if (!is_pair) return template_error("the argument 'separators' must be two strings");
    style.item_separator = *pair->items[0].text();
    style.key_separator = *pair->items[1].text();
  }
  return style;
}

// As Hugging Face defines it for chat templates: json.dumps, without escapes for HTML.
Result<Value> tojson(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters,
                   bind(arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  ASSIGN_OR_RETURN(const JsonStyle style, json_style(runtime, parameters));
  ASSIGN_OR_RETURN(MarkedText text, to_json(runtime, subject, style));
  return make_string(std::move(text));
}

// json.loads(). Its result is not trusted, because the text may come from a client.
Result<Value> from_json_text(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  RETURN_IF_ERROR(bind(arguments, {}));
  if (subject.text() == nullptr) return template_error("needs a string");
  const std::string_view text = subject.text()->view();
  RETURN_IF_ERROR(runtime.charge_characters(text.size()));
  auto parsed = parse_ordered_json(text, "the string");
  if (!parsed.ok()) return template_error(parsed.error().message);
  return from_json(runtime, *parsed, /*trusted=*/false);
}

constexpr std::array kTextFilters = {
    Filter{"capitalize", map_case<capitalized, true>},
    Filter{"center", center},
    Filter{"e", escape},
    Filter{"escape", escape},
    Filter{"format", format},
    Filter{"from_json", from_json_text},
    Filter{"indent", indent},
    Filter{"lower", map_case<to_lower, true>},
    Filter{"replace", replace},
    Filter{"safe", safe},
    Filter{"string", string},
    Filter{"title", map_case<words_capitalized, false>},
    Filter{"tojson", tojson},
    Filter{"trim", trim},
    Filter{"upper", map_case<to_upper, true>},
};

}  // namespace

std::span<const Filter> text_filters() {
  return kTextFilters;
}

}  // namespace cascade::jinja
