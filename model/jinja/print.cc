// Printing values the way Python does.
#include "model/jinja/print.h"

#include <charconv>
#include <string>
#include <string_view>

#include "model/jinja/error.h"
#include "model/jinja/number.h"
#include "model/jinja/unicode.h"

namespace cascade::jinja {
namespace {

std::string hex_escape(uint32_t code_point) {
  const size_t width = code_point < 0x100 ? 2 : code_point < 0x10000 ? 4 : 8;
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, code_point, 16).ptr;
  const std::string hex(digits, end);
  const char letter = width == 2 ? 'x' : width == 4 ? 'u' : 'U';
  return std::string("\\") + letter + std::string(width - hex.size(), '0') + hex;
}

// The escape of a character in a repr, or "" if it stands for itself.
std::string quoted_escape_of(uint32_t code_point, char quote) {
  if (code_point == static_cast<uint32_t>(quote)) return std::string("\\") + quote;
  switch (code_point) {
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: return is_printable(code_point) ? "" : hex_escape(code_point);
  }
}

// Writes the repr of a value; recursion is bounded by kValueDepthMax.
class ReprWriter {
 public:
  explicit ReprWriter(Runtime& runtime) : runtime_(runtime) {}

  Status write(const Value& value);
  MarkedText take() { return std::move(out_); }

 private:
  Status write_string(const String& string);
  Status write_sequence(const Sequence& sequence);
  Status write_dict(const Dict& dict);
  Status write_view(const DictView& view);
  Status write_range(const Range& range);
  Status add(std::string_view text) {
    RETURN_IF_ERROR(runtime_.charge_bytes(text.size()));
    out_.append(text, false);
    return {};
  }

  Runtime& runtime_;
  MarkedText out_;
};

Status ReprWriter::write(const Value& value) {
  if (value.is_undefined()) return add("Undefined");
  if (value.is_none()) return add("None");
  if (const bool* flag = value.boolean()) return add(*flag ? "True" : "False");
  if (const int64_t* number = value.integer()) return add(std::to_string(*number));
  if (const double* number = value.real()) return add(float_text(*number));
  if (const BigInteger* number = value.big_integer()) return add(number->digits);
  if (const String* string = value.string()) return write_string(*string);
  if (const Sequence* sequence = value.sequence()) return write_sequence(*sequence);
  if (const Dict* dict = value.dict()) return write_dict(*dict);
  if (const DictView* view = value.dict_view()) return write_view(*view);
  if (const Range* range = value.range()) return write_range(*range);
  return template_error("a value of type " + std::string(value.type_name()) + " cannot be printed");
}

Status ReprWriter::write_string(const String& string) {
  const MarkedText& text = string.text;
  RETURN_IF_ERROR(runtime_.charge_bytes(text.bytes_held()));
  if (string.is_markup) RETURN_IF_ERROR(add("Markup("));
  const bool has_single = text.view().find('\'') != std::string_view::npos;
  const bool has_double = text.view().find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  RETURN_IF_ERROR(add({&quote, 1}));
  size_t copied = 0;
  for (size_t offset = 0; offset < text.size();) {
    const CodePoint code_point = utf8_decode(text.view(), offset);
    const std::string escape = quoted_escape_of(code_point.value, quote);
    if (!escape.empty()) {
      out_.append(text, copied, offset);
      RETURN_IF_ERROR(add(escape));
      copied = offset + code_point.size;
    }
    offset += code_point.size;
  }
  out_.append(text, copied, text.size());
  return add(string.is_markup ? std::string(1, quote) + ")" : std::string(1, quote));
}

Status ReprWriter::write_sequence(const Sequence& sequence) {
  RETURN_IF_ERROR(add(sequence.is_tuple ? "(" : "["));
  for (size_t i = 0; i < sequence.items.size(); ++i) {
    if (i > 0) RETURN_IF_ERROR(add(", "));
    RETURN_IF_ERROR(write(sequence.items[i]));
  }
  if (!sequence.is_tuple) return add("]");
  return add(sequence.items.size() == 1 ? ",)" : ")");
}

Status ReprWriter::write_dict(const Dict& dict) {
  RETURN_IF_ERROR(add("{"));
  bool is_first = true;
  for (const auto& [key, value] : dict.entries) {
    if (!is_first) RETURN_IF_ERROR(add(", "));
    is_first = false;
    RETURN_IF_ERROR(write(key));
    RETURN_IF_ERROR(add(": "));
    RETURN_IF_ERROR(write(value));
  }
  return add("}");
}

Status ReprWriter::write_view(const DictView& view) {
  ASSIGN_OR_RETURN(PaidVector<Value> items, items_of(make_paid<const DictView>(view)));
  const std::string_view name = view.part == DictPart::kKeys     ? "dict_keys("
                                : view.part == DictPart::kValues ? "dict_values("
                                                                 : "dict_items(";
  RETURN_IF_ERROR(add(name));
  RETURN_IF_ERROR(write_sequence(Sequence{false, std::move(items), 1}));
  return add(")");
}

Status ReprWriter::write_range(const Range& range) {
  const std::string bounds = std::to_string(range.start) + ", " + std::to_string(range.stop);
  return add("range(" + bounds + (range.step == 1 ? "" : ", " + std::to_string(range.step)) + ")");
}

}  // namespace

Result<MarkedText> to_text(Runtime& runtime, const Value& value) {
  MarkedText text;
  RETURN_IF_ERROR(append_text(runtime, text, value));
  return text;
}

Status append_text(Runtime& runtime, MarkedText& out, const Value& value) {
  if (value.is_undefined()) return {};
  if (const MarkedText* text = value.text()) {
    out.append(*text);
    return {};
  }
  ASSIGN_OR_RETURN(const MarkedText text, to_repr(runtime, value));
  out.append(text);
  return {};
}

Result<MarkedText> to_repr(Runtime& runtime, const Value& value) {
  ReprWriter writer(runtime);
  RETURN_IF_ERROR(writer.write(value));
  return writer.take();
}

}  // namespace cascade::jinja
