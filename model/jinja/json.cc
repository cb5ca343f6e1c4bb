// Reading variables from JSON, and json.dumps().
#include "model/jinja/json.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/exact_number.h"
#include "base/utf8.h"
#include "model/jinja/compare.h"
#include "model/jinja/error.h"
#include "model/jinja/number.h"
#include "model/jinja/print.h"

namespace cascade::jinja {
namespace {

class JsonReader {
 public:
  JsonReader(Runtime& runtime, bool trusted) : runtime_(runtime), trusted_(trusted) {}

  Result<Value> read(const OrderedJson& json);

 private:
  Result<Value> read_big_integer(const std::string& digits);
  Result<Value> read_exact(const OrderedJson& json);
  Result<Value> read_string(const std::string& text);
  Result<Value> read_array(const OrderedJson& json);
  Result<Value> read_object(const OrderedJson& json);

  Runtime& runtime_;
  const bool trusted_;
  int depth_ = 0;
};

Result<Value> JsonReader::read(const OrderedJson& json) {
  const Nesting nesting(depth_, kValueDepthMax + 1);
  if (!nesting.ok()) {
    return limit_error("a variable is nested deeper than " + std::to_string(kValueDepthMax) +
                       " levels");
  }
  RETURN_IF_ERROR(runtime_.charge(1));
  switch (json.type()) {
    case OrderedJson::value_t::null: return Value(None());
    case OrderedJson::value_t::boolean: return Value(json.get<bool>());
    case OrderedJson::value_t::number_integer: return Value(json.get<int64_t>());
    case OrderedJson::value_t::number_unsigned: {
      const auto number = json.get<uint64_t>();
      if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return read_big_integer(std::to_string(number));
      }
      return Value(static_cast<int64_t>(number));
    }
    case OrderedJson::value_t::number_float: return Value(json.get<double>());
    case OrderedJson::value_t::string: return read_string(json.get_ref<const std::string&>());
    case OrderedJson::value_t::array: return read_array(json);
    case OrderedJson::value_t::object: return read_object(json);
    default:
      if (is_exact_number(json)) return read_exact(json);
      return template_error("a variable holds binary data");
  }
}

Result<Value> JsonReader::read_big_integer(const std::string& digits) {
  RETURN_IF_ERROR(runtime_.charge_bytes(digits.size()));
  return make_big_integer(digits);
}

// Reads a number beyond 64 bits or f64 as Python does: as an integer of any length, or as a float
// that is infinite.
Result<Value> JsonReader::read_exact(const OrderedJson& json) {
  const std::string text = exact_number_text(json);
  if (text.find_first_of(".eE") == text.npos) return read_big_integer(text);
  return Value(nearest_double(json));
}

Result<Value> JsonReader::read_string(const std::string& text) {
  if (!is_utf8(text)) return template_error("a string in the variables is not UTF-8");
  return make_string(MarkedText(text, trusted_));
}

Result<Value> JsonReader::read_array(const OrderedJson& json) {
  PaidVector<Value> items;
  items.reserve(json.size());
  for (const OrderedJson& element : json) {
    ASSIGN_OR_RETURN(Value item, read(element));
    items.push_back(std::move(item));
  }
  return make_list(std::move(items));
}

Result<Value> JsonReader::read_object(const OrderedJson& json) {
  Dict::Entries entries;
  entries.reserve(json.size());
  for (const auto& [name, element] : json.items()) {
    ASSIGN_OR_RETURN(Value key, read_string(name));
    ASSIGN_OR_RETURN(Value value, read(element));
    entries.emplace_back(std::move(key), std::move(value));
  }
  return make_dict(std::move(entries));
}

// "\u1234"; a surrogate pair beyond U+FFFF.
std::string unicode_escape(uint32_t code_point) {
  static constexpr char kDigits[] = "0123456789abcdef";
  if (code_point >= 0x10000) {
    const uint32_t rest = code_point - 0x10000;
    return unicode_escape(0xD800 + (rest >> 10)) + unicode_escape(0xDC00 + (rest & 0x3FF));
  }
  std::string text = "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) text += kDigits[(code_point >> shift) & 0xF];
  return text;
}

// The escape of a character in a JSON string, or "" if it stands for itself.
std::string escape_of(uint32_t code_point, bool ensure_ascii) {
  static constexpr std::string_view kEscaped = "\"\\\n\r\t\f\b";
  static constexpr std::string_view kLetters = "\"\\nrtfb";
  if (code_point < 0x80) {
    const size_t found = kEscaped.find(static_cast<char>(code_point));
    if (found != std::string_view::npos) return std::string("\\") + kLetters[found];
  }
  const bool escapes = code_point < 0x20 || (ensure_ascii && code_point >= 0x7F);
  return escapes ? unicode_escape(code_point) : "";
}

// Writes a value; recursion is bounded by kValueDepthMax.
class JsonWriter {
 public:
  JsonWriter(Runtime& runtime, const JsonStyle& style) : runtime_(runtime), style_(style) {}

  Status write(const Value& value, int level);
  MarkedText take() { return std::move(out_); }

 private:
  Status write_string(const MarkedText& text);
  Status write_list(const PaidVector<Value>& items, int level);
  Status write_dict(const Dict& dict, int level);
  Status write_key(const Value& key);
  Status begin_item(bool is_first, int level);
  Status new_line(int level);
  Status add(std::string_view text);
  Status add(const MarkedText& text);

  Runtime& runtime_;
  const JsonStyle& style_;
  MarkedText out_;
};

std::string number_text(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return float_text(number);
}

Status JsonWriter::write(const Value& value, int level) {
  if (const MarkedText* text = value.text()) return write_string(*text);
  if (value.is_none()) return add("null");
  if (const bool* flag = value.boolean()) return add(*flag ? "true" : "false");
  if (const int64_t* number = value.integer()) return add(std::to_string(*number));
  if (const double* number = value.real()) return add(number_text(*number));
  if (const BigInteger* number = value.big_integer()) return add(number->digits);
  if (const Sequence* sequence = value.sequence()) return write_list(sequence->items, level);
  if (const Dict* dict = value.dict()) return write_dict(*dict, level);
  return template_error("a value of type " + std::string(value.type_name()) +
                        " has no form in JSON");
}

Status JsonWriter::write_string(const MarkedText& text) {
  RETURN_IF_ERROR(add("\""));
  RETURN_IF_ERROR(runtime_.charge_bytes(text.bytes_held()));
  size_t copied = 0;
  for (size_t offset = 0; offset < text.size();) {
    const CodePoint code_point = utf8_decode(text.view(), offset);
    const std::string escape = escape_of(code_point.value, style_.ensure_ascii);
    if (!escape.empty()) {
      out_.append(text, copied, offset);
      RETURN_IF_ERROR(add(escape));
      copied = offset + code_point.size;
    }
    offset += code_point.size;
  }
  out_.append(text, copied, text.size());
  return add("\"");
}

Status JsonWriter::write_list(const PaidVector<Value>& items, int level) {
  if (items.empty()) return add("[]");
  RETURN_IF_ERROR(add("["));
  for (size_t i = 0; i < items.size(); ++i) {
    RETURN_IF_ERROR(begin_item(i == 0, level + 1));
    RETURN_IF_ERROR(write(items[i], level + 1));
  }
  RETURN_IF_ERROR(new_line(level));
  return add("]");
}

Status JsonWriter::write_dict(const Dict& dict, int level) {
  if (dict.entries.empty()) return add("{}");
  PaidVector<Value> keys;
  keys.reserve(dict.entries.size());
  for (const auto& entry : dict.entries) keys.push_back(entry.first);
  PaidVector<size_t> order(keys.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (style_.sort_keys) {
    ASSIGN_OR_RETURN(order, sorted_order(runtime_, keys, false));
  }
  RETURN_IF_ERROR(add("{"));
  bool is_first = true;
  for (const size_t i : order) {
    RETURN_IF_ERROR(begin_item(is_first, level + 1));
    is_first = false;
    RETURN_IF_ERROR(write_key(keys[i]));
    RETURN_IF_ERROR(add(style_.key_separator));
    RETURN_IF_ERROR(write(dict.entries[i].second, level + 1));
  }
  RETURN_IF_ERROR(new_line(level));
  return add("}");
}

// A key that is not a string is written as the text of its JSON form.
Status JsonWriter::write_key(const Value& key) {
  if (key.text() != nullptr) return write(key, 0);
  const bool has_text = key.is_none() || key.big_integer() || as_number(key).has_value();
  if (!has_text) {
    return template_error("a value of type " + std::string(key.type_name()) +
                          " cannot be a key in JSON");
  }
  RETURN_IF_ERROR(add("\""));
  RETURN_IF_ERROR(write(key, 0));
  return add("\"");
}

Status JsonWriter::begin_item(bool is_first, int level) {
  if (!is_first) RETURN_IF_ERROR(add(style_.item_separator));
  return new_line(level);
}

Status JsonWriter::new_line(int level) {
  if (!style_.indent.has_value()) return {};
  RETURN_IF_ERROR(add("\n"));
  for (int i = 0; i < level; ++i) RETURN_IF_ERROR(add(*style_.indent));
  return {};
}

Status JsonWriter::add(std::string_view text) {
  RETURN_IF_ERROR(runtime_.charge_bytes(text.size()));
  out_.append(text, false);
  return {};
}

Status JsonWriter::add(const MarkedText& text) {
  RETURN_IF_ERROR(runtime_.charge_bytes(text.bytes_held()));
  out_.append(text);
  return {};
}

}  // namespace

Result<Value> from_json(Runtime& runtime, const OrderedJson& json, bool trusted) {
  return JsonReader(runtime, trusted).read(json);
}

Result<MarkedText> to_json(Runtime& runtime, const Value& value, const JsonStyle& style) {
  JsonWriter writer(runtime, style);
  RETURN_IF_ERROR(writer.write(value, 0));
  return writer.take();
}

}  // namespace cascade::jinja
