// Escaping for HTML, and concatenation that escapes.
#include "model/jinja/markup.h"

namespace cascade::jinja {
namespace {

std::string_view reference_of(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&#34;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

size_t escaped_size(std::string_view text) {
  size_t size = text.size();
  for (const char c : text) {
    const size_t reference = reference_of(c).size();
    if (reference > 0) size += reference - 1;
  }
  return size;
}

}  // namespace

Result<MarkedText> escape_html(Runtime& runtime, const MarkedText& text) {
  RETURN_IF_ERROR(runtime.charge_bytes(text.bytes_held()));
  MarkedText escaped;
  escaped.reserve(escaped_size(text.view()));
  size_t copied = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view reference = reference_of(text.view()[i]);
    if (reference.empty()) continue;
    escaped.append(text, copied, i);
    escaped.append(reference, false);
    copied = i + 1;
  }
  escaped.append(text, copied, text.size());
  return escaped;
}

Value make_markup(MarkedText text) {
  return make_paid<const String>(String{std::move(text), true});
}

Result<Value> add_markup(Runtime& runtime, const String& a, const String& b) {
  MarkedText sum;
  for (const String* part : {&a, &b}) {
    if (part->is_markup) {
      sum.append(part->text);
    } else {
      ASSIGN_OR_RETURN(const MarkedText escaped, escape_html(runtime, part->text));
      sum.append(escaped);
    }
  }
  return make_markup(std::move(sum));
}

}  // namespace cascade::jinja
