// Methods of strings that look into them: find, count, startswith, isdigit, ...
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "model/jinja/error.h"
#include "model/jinja/methods.h"
#include "model/jinja/unicode.h"

namespace cascade::jinja {
namespace {

// The part of a string that [start, end) selects.
struct Window {
  size_t start = 0;  // in characters
  std::string_view text;
};

// The window that parameters 1 and 2 give; nullopt if it lies outside.
Result<std::optional<Window>> window_of(Runtime& runtime, const MarkedText& text,
                                        const Parameters& parameters) {
  RETURN_IF_ERROR(runtime.charge_bytes(text.size()));
  const int64_t size = static_cast<int64_t>(code_point_count(text.view()));
  ASSIGN_OR_RETURN(int64_t start, parameters.integer(1, 0));
  ASSIGN_OR_RETURN(int64_t end, parameters.integer(2, size));
  if (start < 0) start = std::max<int64_t>(start + size, 0);
  end = end < 0 ? std::max<int64_t>(end + size, 0) : std::min(end, size);
  if (start > end) return std::optional<Window>();
  const size_t begin_offset = offset_of(text.view(), static_cast<size_t>(start));
  const size_t end_offset = offset_of(text.view(), static_cast<size_t>(end));
  return std::optional<Window>(Window{static_cast<size_t>(start),
                                      text.view().substr(begin_offset, end_offset - begin_offset)});
}

// The index of the first (last) occurrence; -1 or an error if there is none.
template <bool kFromRight, bool kMustBeThere>
Result<Value> find(Runtime& runtime, const Value& object, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"sub", "start", "end"}, 1));
  ASSIGN_OR_RETURN(const MarkedText* needle, parameters.text(0));
  if (needle == nullptr) return template_error("the text to find must be a string");
  ASSIGN_OR_RETURN(const auto window, window_of(runtime, *object.text(), parameters));
  RETURN_IF_ERROR(runtime.charge_bytes(needle->size()));
  size_t found = std::string_view::npos;
  if (window.has_value()) {
    found = kFromRight ? find_last(window->text, needle->view())
                       : find_first(window->text, needle->view(), 0);
  }
  if (found != std::string_view::npos) {
    const size_t index = window->start + code_point_count(window->text.substr(0, found));
    return Value(static_cast<int64_t>(index));
  }
  if (kMustBeThere) return template_error("the text to find does not occur");
  return Value(int64_t{-1});
}

Result<Value> count(Runtime& runtime, const Value& object, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"sub", "start", "end"}, 1));
  ASSIGN_OR_RETURN(const MarkedText* needle, parameters.text(0));
  if (needle == nullptr) return template_error("the text to count must be a string");
  ASSIGN_OR_RETURN(const auto window, window_of(runtime, *object.text(), parameters));
  RETURN_IF_ERROR(runtime.charge_bytes(needle->size()));
  if (!window.has_value()) return Value(int64_t{0});
  if (needle->empty()) return Value(static_cast<int64_t>(code_point_count(window->text)) + 1);
  int64_t occurrences = 0;
  size_t at = find_first(window->text, needle->view(), 0);
  while (at != std::string_view::npos) {
    ++occurrences;
    RETURN_IF_ERROR(runtime.charge(1));
    at = find_first(window->text, needle->view(), at + needle->size());
  }
  return Value(occurrences);
}

// Whether the string begins (ends) with a text, or with one of a tuple of texts.
template <bool kPrefix>
Result<Value> has_affix(Runtime& runtime, const Value& object, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Parameters parameters, bind(arguments, {"affix", "start", "end"}, 1));
  PaidVector<Value> affixes = {parameters[0]};
  if (const Sequence* tuple = parameters[0].tuple()) affixes = tuple->items;
  std::optional<Window> window = Window{0, object.text()->view()};
  if (parameters.get(1) != nullptr || parameters.get(2) != nullptr) {
    ASSIGN_OR_RETURN(window, window_of(runtime, *object.text(), parameters));
  }
  RETURN_IF_ERROR(runtime.charge_items(affixes.size()));
  for (const Value& affix : affixes) {
    const MarkedText* text = affix.text();
    if (text == nullptr) {
      return template_error(
          "startswith() and endswith() need a string or a tuple of strings, not " +
          std::string(affix.type_name()));
    }
    RETURN_IF_ERROR(runtime.charge_bytes(text->size()));
    if (!window.has_value()) continue;
    const bool matches =
        kPrefix ? window->text.starts_with(text->view()) : window->text.ends_with(text->view());
    if (matches) return Value(true);
  }
  return Value(false);
}

template <bool (*kPredicate)(uint32_t)>
Result<Value> all_are(Runtime& runtime, const Value& object, const Arguments& arguments) {
  RETURN_IF_ERROR(bind(arguments, {}));
  const std::string_view text = object.text()->view();
  RETURN_IF_ERROR(runtime.charge_characters(text.size()));
  for (size_t offset = 0; offset < text.size();) {
    const CodePoint code_point = utf8_decode(text, offset);
    if (!kPredicate(code_point.value)) return Value(false);
    offset += code_point.size;
  }
  return Value(!text.empty());
}

Result<Value> is_ascii(Runtime& runtime, const Value& object, const Arguments& arguments) {
  RETURN_IF_ERROR(bind(arguments, {}));
  RETURN_IF_ERROR(charge_reading(runtime, object));
  return Value(std::ranges::all_of(object.text()->view(),
                                   [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
}

// Whether some characters have this case, and none has the other one.
template <bool (*kIsWanted)(uint32_t), bool (*kIsOther)(uint32_t)>
Result<Value> has_case(Runtime& runtime, const Value& object, const Arguments& arguments) {
  RETURN_IF_ERROR(bind(arguments, {}));
  const std::string_view text = object.text()->view();
  RETURN_IF_ERROR(runtime.charge_characters(text.size()));
  bool found = false;
  for (size_t offset = 0; offset < text.size();) {
    const CodePoint code_point = utf8_decode(text, offset);
    if (kIsOther(code_point.value) || is_title(code_point.value)) return Value(false);
    found = found || kIsWanted(code_point.value);
    offset += code_point.size;
  }
  return Value(found);
}

constexpr std::array kSearchMethods = {
    Method{"count", count},
    Method{"endswith", has_affix<false>},
    Method{"find", find<false, false>},
    Method{"index", find<false, true>},
    Method{"isalnum", all_are<is_alnum>},
    Method{"isalpha", all_are<is_alpha>},
    Method{"isascii", is_ascii},
    Method{"isdecimal", all_are<is_decimal>},
    Method{"isdigit", all_are<is_digit>},
    Method{"islower", has_case<is_lower, is_upper>},
    Method{"isspace", all_are<is_space>},
    Method{"isupper", has_case<is_upper, is_lower>},
    Method{"rfind", find<true, false>},
    Method{"rindex", find<true, true>},
    Method{"startswith", has_affix<true>},
};

}  // namespace

std::span<const Method> search_methods() {
  return kSearchMethods;
}

}  // namespace cascade::jinja
