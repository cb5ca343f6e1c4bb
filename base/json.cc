// Bounded JSON parsing: the tree is built from parse events, each checked before it is taken.
#include "base/json.h"

#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "base/exact_number.h"

namespace cascade {
namespace {

// An ordered object finds a key by comparing it with all keys before it. This bound limits the
// worst text of 64 MiB to a few seconds; real messages, tools and schemas have tens of members.
constexpr size_t kOrderedMembersMax = 1024;

// Numbers are read as long doubles first, so that numbers beyond f64 do not count as malformed.
using WideJson =
    nlohmann::basic_json<std::map, std::vector, std::string, bool, int64_t, uint64_t, long double>;

bool is_integer_text(std::string_view text) {
  return text.find_first_of(".eE") == text.npos;
}

// Converts a number that is not a 64-bit integer; nullopt if f64 cannot hold it.
std::optional<double> to_double(std::string_view text, long double wide) {
  double number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec == std::errc()) return number;
  if (std::abs(wide) > 1) return std::nullopt;
  return std::copysign(0.0, static_cast<double>(wide));
}

// Builds a tree from the parse events, counts depth and members, and remembers what went wrong and
// where.
template <class AnyJson>
class TreeBuilder : public nlohmann::json_sax<WideJson> {
 public:
  TreeBuilder(int depth_max, size_t members_max)
      : depth_max_(depth_max), members_max_(members_max) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& text) override {
    const std::optional<double> number = to_double(text, value);
    constexpr bool kKeeps = std::is_same_v<AnyJson, OrderedJson>;
    if (number && (!kKeeps || !is_integer_text(text))) return add(*number);
    if constexpr (kKeeps) {
      if (text.size() <= kExactNumberBytesMax) return add(exact_number(text));
      problem_ =
          "has a number of more than " + std::to_string(kExactNumberBytesMax) + " characters";
    } else {
      problem_ = "has a number that is too large for f64";
    }
    return false;
  }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // never occurs in JSON text
  bool key(string_t& name) override {
    if (++members_.back() > members_max_) {
      problem_ = "has an object of more than " + std::to_string(members_max_) + " members";
      return false;
    }
    member_ = &(*open_.back())[name];
    return true;
  }
  bool start_object(size_t) override { return enter(AnyJson::object()); }
  bool end_object() override { return leave(); }
  bool start_array(size_t) override { return enter(AnyJson::array()); }
  bool end_array() override { return leave(); }
  bool parse_error(size_t position, const std::string&,
                   const WideJson::exception& exception) override {
    constexpr int kTooLarge = 406;
    problem_ = exception.id == kTooLarge
                   ? "has a number that is too large at byte " + std::to_string(position)
                   : "not valid JSON at byte " + std::to_string(position);
    return false;
  }
  const std::string& problem() const { return problem_; }
  AnyJson take() { return std::move(root_); }

 private:
  AnyJson* place(AnyJson value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    AnyJson& holder = *open_.back();
    if (holder.is_object()) {
      *member_ = std::move(value);
      return member_;
    }
    holder.push_back(std::move(value));
    return &holder.back();
  }
  bool add(AnyJson value) {
    place(std::move(value));
    return true;
  }
  bool enter(AnyJson empty) {
    open_.push_back(place(std::move(empty)));
    members_.push_back(0);
    if (open_.size() <= static_cast<size_t>(depth_max_)) return true;
    problem_ = "nested deeper than " + std::to_string(depth_max_) + " levels";
    return false;
  }
  bool leave() {
    open_.pop_back();
    members_.pop_back();
    return true;
  }

  int depth_max_;
  size_t members_max_;
  AnyJson root_;
  std::vector<AnyJson*> open_;   // each is the last value in the open value before it
  std::vector<size_t> members_;  // the members so far of each open value (0 for an array)
  AnyJson* member_ = nullptr;    // the member of the innermost object whose value comes next
  std::string problem_;
};

template <class AnyJson>
Result<AnyJson> parse_bounded(std::string_view text, std::string_view what,
                              const JsonLimits& limits, size_t members_max) {
  const std::string field(what);
  if (text.size() > limits.bytes_max) {
    return invalid_argument(field, "larger than " + std::to_string(limits.bytes_max) + " bytes");
  }
  // The library takes a NUL byte for the end of the text and would accept anything after it.
  const size_t nul = text.find('\0');
  if (nul != text.npos) {
    return invalid_argument(field, "not valid JSON at byte " + std::to_string(nul + 1));
  }
  TreeBuilder<AnyJson> builder(limits.depth_max, members_max);
  if (!WideJson::sax_parse(text.begin(), text.end(), &builder)) {
    return invalid_argument(field, builder.problem());
  }
  return builder.take();
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
