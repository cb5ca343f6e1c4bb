// Strict types: a number that is given as a string is an error, not a guess.
#include "wire/openai/fields.h"

#include <cmath>
#include <limits>

#include "wire/openai/json_text.h"

namespace cascade::openai {

namespace {

// Also accepts 10.0, since languages without integers write whole numbers in this way.
bool is_whole(const OrderedJson& value) {
  constexpr double kExact = int64_t{1} << std::numeric_limits<double>::digits;
  if (!value.is_number_float()) return false;
  const auto number = value.get<double>();
  return std::abs(number) < kExact && std::trunc(number) == number;
}

}  // namespace

Result<OrderedJson> parse_body(std::string_view body) {
  ASSIGN_OR_RETURN(OrderedJson parsed, parse_ordered_json(body, "body"));
  if (!parsed.is_object()) return invalid_argument("body", "must be a JSON object");
  return parsed;
}

Fields::Fields(const OrderedJson& object, std::string path)
    : object_(object), path_(std::move(path)) {}

const OrderedJson* Fields::find(std::string_view key) const {
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(std::string(key));
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<bool> Fields::boolean(std::string_view key) {
  const OrderedJson* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  fail(key, std::string("must be true or false, got ") + type_name_of(*value));
  return std::nullopt;
}

std::optional<int64_t> Fields::integer(std::string_view key, int64_t min, int64_t max) {
  const OrderedJson* value = find(key);
  if (value == nullptr) return std::nullopt;
  const bool huge =
      value->is_number_unsigned() && value->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  if ((value->is_number_integer() && !huge) || is_whole(*value)) {
    const auto number = value->get<int64_t>();
    if (number >= min && number <= max) return number;
  }
  fail(key,
       "must be a whole number between " + std::to_string(min) + " and " + std::to_string(max));
  return std::nullopt;
}

std::optional<double> Fields::number(std::string_view key) {
  const OrderedJson* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (is_any_number(*value)) {
    const double number = nearest_double(*value);
    if (std::isfinite(number)) return number;
    fail(key, "is too large a number");
    return std::nullopt;
  }
  fail(key, std::string("must be a number, got ") + type_name_of(*value));
  return std::nullopt;
}

std::optional<std::string> Fields::text(std::string_view key) {
  const OrderedJson* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  fail(key, std::string("must be a string, got ") + type_name_of(*value));
  return std::nullopt;
}

const OrderedJson* Fields::array(std::string_view key) {
  const OrderedJson* value = find(key);
  if (value == nullptr || value->is_array()) return value;
  fail(key, std::string("must be an array, got ") + type_name_of(*value));
  return nullptr;
}

const OrderedJson* Fields::object(std::string_view key) {
  const OrderedJson* value = find(key);
  if (value == nullptr || value->is_object()) return value;
  fail(key, std::string("must be an object, got ") + type_name_of(*value));
  return nullptr;
}

void Fields::refuse(std::string_view key, const OrderedJson& harmless, const char* why) {
  const OrderedJson* value = find(key);
  if (value != nullptr && *value != harmless) fail(unsupported(path(key), why));
}

void Fields::fail(std::string_view key, std::string message) {
  fail(invalid_argument(path(key), std::move(message)));
}

void Fields::fail(const Status& status) {
  if (status_.ok() && !status.ok()) status_ = status;
}

}  // namespace cascade::openai
