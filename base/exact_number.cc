// Keeps the text of a number in nlohmann's binary value.
#include "base/exact_number.h"

#include <algorithm>
#include <cstdlib>

namespace cascade {
namespace {

// This subtype distinguishes numbers from other binary values.
constexpr uint8_t kSubtype = 'n';

bool holds_exact_number(const OrderedJson& json) {
  if (!json.is_structured()) return is_exact_number(json);
  return std::ranges::any_of(json, holds_exact_number);
}

std::string dump_rounded(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace

OrderedJson exact_number(std::string_view text) {
  return OrderedJson::binary({text.begin(), text.end()}, kSubtype);
}

bool is_exact_number(const OrderedJson& json) {
  if (!json.is_binary()) return false;
  const auto& bytes = json.get_binary();
  return bytes.has_subtype() && bytes.subtype() == kSubtype;
}

std::string exact_number_text(const OrderedJson& json) {
  const auto& bytes = json.get_binary();
  return {bytes.begin(), bytes.end()};
}

bool is_any_number(const OrderedJson& json) {
  return json.is_number() || is_exact_number(json);
}

double nearest_double(const OrderedJson& json) {
  if (!is_exact_number(json)) return json.get<double>();
  return std::strtod(exact_number_text(json).c_str(), nullptr);
}

const char* type_name_of(const OrderedJson& json) {
  return is_exact_number(json) ? "number" : json.type_name();
}

std::string dump_exact(const OrderedJson& json) {
  if (is_exact_number(json)) return exact_number_text(json);
  if (!holds_exact_number(json)) return dump_rounded(json);
  std::string text(1, json.is_array() ? '[' : '{');
  for (const auto& [name, value] : json.items()) {
    if (text.size() > 1) text += ',';
    if (json.is_object()) text += dump_rounded(name) + ':';
    text += dump_exact(value);
  }
  return text + (json.is_array() ? ']' : '}');
}

}  // namespace cascade
