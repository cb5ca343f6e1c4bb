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

}  // namespace

MarkedText escape_html(const MarkedText& text) {
  MarkedText escaped;
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
  return std::make_shared<const String>(String{std::move(text), true});
}

Result<Value> add_markup(Runtime& runtime, const String& a, const String& b) {
  constexpr size_t kReferenceBytesMax = 5;
  const size_t bytes = a.text.bytes_held() + b.text.bytes_held();
  RETURN_IF_ERROR(runtime.charge_bytes(kReferenceBytesMax * bytes));
  MarkedText sum = a.is_markup ? a.text : escape_html(a.text);
  sum.append(b.is_markup ? b.text : escape_html(b.text));
  return make_markup(std::move(sum));
}

}  // namespace cascade::jinja
