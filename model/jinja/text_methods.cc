// Methods of strings that give strings or lists of strings.
#include <array>
#include <string>

#include "model/jinja/case.h"
#include "model/jinja/error.h"
#include "model/jinja/format.h"
#include "model/jinja/format_spec.h"
#include "model/jinja/markup.h"
#include "model/jinja/methods.h"
#include "model/jinja/string_ops.h"
#include "model/jinja/unicode.h"

namespace cascade::jinja {
namespace {

using TextMap = MarkedText (*)(const MarkedText&);

template <TextMap kMap>
Result<Value> map_case_method(Runtime& runtime, const Value& object, const Arguments& arguments) {
  RETURN_IF_ERROR(bind(arguments, {}));
  RETURN_IF_ERROR(runtime.charge_characters(object.text()->size()));
  return make_string(kMap(*object.text()));
}

template <bool kLeft, bool kRight>
Result<Value> strip(Runtime& runtime, const Value& object, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"chars"}));
  ASSIGN_OR_RETURN(const MarkedText* chars, parameters.text(0));
  ASSIGN_OR_RETURN(MarkedText text, stripped(runtime, *object.text(), chars, kLeft, kRight));
  return make_string(std::move(text));
}

template <bool kFromRight>
Result<Value> split_method(Runtime& runtime, const Value& object, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"sep", "maxsplit"}));
  ASSIGN_OR_RETURN(const MarkedText* separator, parameters.text(0));
  ASSIGN_OR_RETURN(const int64_t limit, parameters.integer(1, kNoLimit));
  const MarkedText& text = *object.text();
  ASSIGN_OR_RETURN(PaidVector<MarkedText> parts,
                   separator == nullptr ? split_at_space(runtime, text, limit, kFromRight)
                                        : split(runtime, text, *separator, limit, kFromRight));
  return list_of_strings(std::move(parts));
}

Result<Value> splitlines(Runtime& runtime, const Value& object, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"keepends"}));
  ASSIGN_OR_RETURN(PaidVector<MarkedText> lines,
                   split_lines(runtime, *object.text(), parameters.flag(0, false)));
  return list_of_strings(std::move(lines));
}

// The tuple (before, separator, after). The text is divided at the first separator, or at the last.
template <bool kFromRight>
Result<Value> partition(Runtime& runtime, const Value& object, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"sep"}, 1));
  ASSIGN_OR_RETURN(const MarkedText* separator, parameters.text(0));
  if (separator == nullptr) return template_error("the separator of a split is empty");
  ASSIGN_OR_RETURN(PaidVector<MarkedText> parts,
                   split(runtime, *object.text(), *separator, 1, kFromRight));
  const MarkedText& text = *object.text();
  if (parts.size() == 2) {
    // Takes the separator from the text, because the argument may have other marks.
    const size_t end = text.size() - parts[1].size();
    parts.insert(parts.begin() + 1, text.slice(parts[0].size(), end));
  } else {
    parts.insert(kFromRight ? parts.begin() : parts.end(), 2, MarkedText());
  }
  PaidVector<Value> items;
  for (MarkedText& part : parts) items.push_back(make_string(std::move(part)));
  return make_tuple(std::move(items));
}

Result<Value> replace_method(Runtime& runtime, const Value& object, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"old", "new", "count"}, 2));
  ASSIGN_OR_RETURN(const MarkedText* from, parameters.text(0));
  ASSIGN_OR_RETURN(const MarkedText* to, parameters.text(1));
  ASSIGN_OR_RETURN(const int64_t limit, parameters.integer(2, kNoLimit));
  if (from == nullptr || to == nullptr) return template_error("replace() needs two strings");
  ASSIGN_OR_RETURN(MarkedText text, replaced(runtime, *object.text(), *from, *to, limit));
  return make_string(std::move(text));
}

template <bool kPrefix>
Result<Value> remove_affix(Runtime& runtime, const Value& object, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"affix"}, 1));
  ASSIGN_OR_RETURN(const MarkedText* affix, parameters.text(0));
  if (affix == nullptr) return template_error("the text to remove must be a string");
  RETURN_IF_ERROR(charge_reading(runtime, object));
  const MarkedText& text = *object.text();
  if (kPrefix && text.view().starts_with(affix->view())) {
    return make_string(text.slice(affix->size(), text.size()));
  }
  if (!kPrefix && text.view().ends_with(affix->view())) {
    return make_string(text.slice(0, text.size() - affix->size()));
  }
  return make_string(text);
}

Result<Value> join_method(Runtime& runtime, const Value& object, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"iterable"}, 1));
  ASSIGN_OR_RETURN(const PaidVector<Value> items, items_of(parameters[0]));
  const String& separator = *object.string();
  PaidVector<MarkedText> texts;
  texts.reserve(items.size());
  for (const Value& item : items) {
    const String* string = item.string();
    if (string == nullptr) {
      return template_error("join() needs strings, not " + std::string(item.type_name()));
    }
    if (separator.is_markup && !string->is_markup) {
      ASSIGN_OR_RETURN(MarkedText escaped, escape_html(runtime, string->text));
      texts.push_back(std::move(escaped));
    } else {
      texts.push_back(string->text);
    }
  }
  return make_string(joined(texts, separator.text));
}

Result<Value> format_method(Runtime& runtime, const Value& object, const Arguments& arguments) {
  return format_braces(runtime, *object.string(), arguments);
}

// ljust ('<'), rjust ('>') and center ('^').
template <char kAlign>
Result<Value> justify(Runtime& runtime, const Value& object, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"width", "fillchar"}, 1));
  ASSIGN_OR_RETURN(const int64_t width, parameters.integer(0, 0));
  ASSIGN_OR_RETURN(const MarkedText* fill, parameters.text(1));
  const std::string_view fill_text = fill == nullptr ? " " : fill->view();
  if (code_point_count(fill_text) != 1) return template_error("the fill must be one character");
  const MarkedText& text = *object.text();
  RETURN_IF_ERROR(charge_reading(runtime, object));
  const int64_t size = static_cast<int64_t>(code_point_count(text.view()));
  MarkedText field = text;
  if (kAlign == '^' && width > size) {
    // If the width is odd, an odd character of padding goes to the left.
    const int64_t missing = width - size;
    const int64_t left = missing / 2 + (missing & width & 1);
    ASSIGN_OR_RETURN(field, padded(runtime, text, fill_text, '>', size + left));
  }
  ASSIGN_OR_RETURN(field, padded(runtime, field, fill_text, kAlign == '>' ? '>' : '<', width));
  return make_string(std::move(field));
}

Result<Value> zfill(Runtime& runtime, const Value& object, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"width"}, 1));
  ASSIGN_OR_RETURN(const int64_t width, parameters.integer(0, 0));
  const MarkedText& text = *object.text();
  const size_t sign = text.view().starts_with('-') || text.view().starts_with('+') ? 1 : 0;
  ASSIGN_OR_RETURN(const MarkedText digits, padded(runtime, text.slice(sign, text.size()), "0", '>',
                                                   width - static_cast<int64_t>(sign)));
  MarkedText filled = text.slice(0, sign);
  filled.append(digits);
  return make_string(std::move(filled));
}

constexpr std::array kTextMethods = {
    Method{"capitalize", map_case_method<capitalized>},
    Method{"center", justify<'^'>},
    Method{"format", format_method},
    Method{"join", join_method},
    Method{"ljust", justify<'<'>},
    Method{"lower", map_case_method<to_lower>},
    Method{"lstrip", strip<true, false>},
    Method{"partition", partition<false>},
    Method{"removeprefix", remove_affix<true>},
    Method{"removesuffix", remove_affix<false>},
    Method{"replace", replace_method},
    Method{"rjust", justify<'>'>},
    Method{"rpartition", partition<true>},
    Method{"rsplit", split_method<true>},
    Method{"rstrip", strip<false, true>},
    Method{"split", split_method<false>},
    Method{"splitlines", splitlines},
    Method{"strip", strip<true, true>},
    Method{"title", map_case_method<title_cased>},
    Method{"upper", map_case_method<to_upper>},
    Method{"zfill", zfill},
};

}  // namespace

std::span<const Method> text_methods() {
  return kTextMethods;
}

}  // namespace cascade::jinja
