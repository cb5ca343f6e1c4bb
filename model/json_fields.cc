// Typed reading of a model folder's JSON beyond base/json.h.
#include "model/json_fields.h"

#include <limits>

namespace cascade {
namespace {

constexpr size_t kQuotedBytesMax = 64;  // enough to recognise what was meant

std::string number_text(double number) {
  return Json(number).dump();
}

}  // namespace

const Json* find_field(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(std::string(key));
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

Result<std::optional<double>> number_above(const Json& object, std::string_view key, double above,
                                           double max) {
  if (find_field(object, key) == nullptr) return std::optional<double>();
  const double lowest = std::numeric_limits<double>::lowest();
  ASSIGN_OR_RETURN(const double number,
                   required_number(object, key, lowest, std::numeric_limits<double>::max()));
  if (number > above && number <= max) return std::optional<double>(number);
  return invalid_argument(std::string(key), "must be greater than " + number_text(above) +
                                                " and at most " + number_text(max) + ", got " +
                                                number_text(number));
}

Result<std::optional<double>> agreed_number_above(const Json& inner, const Json& outer,
                                                  std::string_view key, double above, double max) {
  ASSIGN_OR_RETURN(const std::optional<double> first, number_above(inner, key, above, max));
  ASSIGN_OR_RETURN(const std::optional<double> second, number_above(outer, key, above, max));
  if (first && second && *first != *second) {
    return invalid_argument(std::string(key), "is given twice and differs: " + number_text(*first) +
                                                  " and " + number_text(*second));
  }
  return first ? first : second;
}

std::string quote_text(std::string_view text) {
  const bool cut = text.size() > kQuotedBytesMax;
  const Json shown = std::string(text.substr(0, kQuotedBytesMax)) + (cut ? "..." : "");
  return shown.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace cascade
