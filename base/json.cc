// Bounded JSON parsing: a SAX pass checks depth and size before any tree is built.
#include "base/json.h"

#include <cmath>
#include <vector>

namespace cascade {
namespace {

// An ordered object finds a key by looking at all before it. The bound keeps the worst text of
// 64 MiB to a few seconds; real messages, tools and schemas have tens of members.
constexpr size_t kOrderedMembersMax = 1024;

// Follows the parse events, counts depth and members, and remembers what went wrong and where.
class BoundsCheck : public nlohmann::json_sax<Json> {
 public:
  BoundsCheck(int depth_max, size_t members_max)
      : depth_max_(depth_max), members_max_(members_max) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override {
    if (++members_.back() <= members_max_) return true;
    problem_ = "has an object of more than " + std::to_string(members_max_) + " members";
    return false;
  }
  bool start_object(size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool parse_error(size_t position, const std::string&, const Json::exception&) override {
    problem_ = "not valid JSON at byte " + std::to_string(position);
    return false;
  }
  const std::string& problem() const { return problem_; }

 private:
  bool enter() {
    members_.push_back(0);
    if (members_.size() <= static_cast<size_t>(depth_max_)) return true;
    problem_ = "nested deeper than " + std::to_string(depth_max_) + " levels";
    return false;
  }
  bool leave() {
    members_.pop_back();
    return true;
  }

  int depth_max_;
  size_t members_max_;
  std::vector<size_t> members_;  // so far, of each object (and array: none) that is open
  std::string problem_;
};

template <class AnyJson>
Result<AnyJson> parse_bounded(std::string_view text, std::string_view what,
                              const JsonLimits& limits, size_t members_max) {
  const std::string field(what);
  if (text.size() > limits.bytes_max) {
    return invalid_argument(field, "larger than " + std::to_string(limits.bytes_max) + " bytes");
  }
  // The library takes a NUL byte for the end of the text and would accept anything behind it.
  const size_t nul = text.find('\0');
  if (nul != text.npos) {
    return invalid_argument(field, "not valid JSON at byte " + std::to_string(nul + 1));
  }
  BoundsCheck check(limits.depth_max, members_max);
  if (!Json::sax_parse(text.begin(), text.end(), &check)) {
    return invalid_argument(field, check.problem());
  }
  AnyJson parsed = AnyJson::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return invalid_argument(field, "not valid JSON");
  return parsed;
}

const Json* find_member(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(std::string(key));
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

Error missing(std::string_view key) {
  return invalid_argument(std::string(key), "is missing");
}

std::string range_text(double min, double max) {
  const auto number = [](double x) { return Json(x).dump(); };
  return "must be between " + number(min) + " and " + number(max);
}

Result<int64_t> to_int(const Json& value, std::string_view key, int64_t min, int64_t max) {
  const std::string field(key);
  const std::string range =
      "must be a whole number between " + std::to_string(min) + " and " + std::to_string(max);
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    if (number > static_cast<uint64_t>(INT64_MAX)) return invalid_argument(field, range);
  } else if (!value.is_number_integer()) {
    return invalid_argument(field, range + ", got " + std::string(value.type_name()));
  }
  const auto number = value.get<int64_t>();
  if (number < min || number > max) {
    return invalid_argument(field, range + ", got " + std::to_string(number));
  }
  return number;
}

Result<double> to_number(const Json& value, std::string_view key, double min, double max) {
  const std::string field(key);
  if (!value.is_number()) {
    return invalid_argument(field, "must be a number, got " + std::string(value.type_name()));
  }
  const auto number = value.get<double>();
  if (!std::isfinite(number) || number < min || number > max) {
    return invalid_argument(field, range_text(min, max) + ", got " + value.dump());
  }
  return number;
}

Result<std::string> to_text(const Json& value, std::string_view key) {
  if (!value.is_string()) {
    return invalid_argument(std::string(key),
                            "must be a string, got " + std::string(value.type_name()));
  }
  return value.get<std::string>();
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view what, const JsonLimits& limits) {
  return parse_bounded<Json>(text, what, limits, SIZE_MAX);
}

Result<OrderedJson> parse_ordered_json(std::string_view text, std::string_view what,
                                       const JsonLimits& limits) {
  return parse_bounded<OrderedJson>(text, what, limits, kOrderedMembersMax);
}

Result<int64_t> required_int(const Json& object, std::string_view key, int64_t min, int64_t max) {
  const Json* value = find_member(object, key);
  if (value == nullptr) return missing(key);
  return to_int(*value, key, min, max);
}

Result<int64_t> optional_int(const Json& object, std::string_view key, int64_t min, int64_t max,
                             int64_t fallback) {
  const Json* value = find_member(object, key);
  if (value == nullptr) return fallback;
  return to_int(*value, key, min, max);
}

Result<double> required_number(const Json& object, std::string_view key, double min, double max) {
  const Json* value = find_member(object, key);
  if (value == nullptr) return missing(key);
  return to_number(*value, key, min, max);
}

Result<double> optional_number(const Json& object, std::string_view key, double min, double max,
                               double fallback) {
  const Json* value = find_member(object, key);
  if (value == nullptr) return fallback;
  return to_number(*value, key, min, max);
}

Result<bool> optional_bool(const Json& object, std::string_view key, bool fallback) {
  const Json* value = find_member(object, key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) {
    return invalid_argument(std::string(key),
                            "must be true or false, got " + std::string(value->type_name()));
  }
  return value->get<bool>();
}

Result<std::string> required_string(const Json& object, std::string_view key) {
  const Json* value = find_member(object, key);
  if (value == nullptr) return missing(key);
  return to_text(*value, key);
}

Result<std::string> optional_string(const Json& object, std::string_view key,
                                    std::string_view fallback) {
  const Json* value = find_member(object, key);
  if (value == nullptr) return std::string(fallback);
  return to_text(*value, key);
}

}  // namespace cascade
