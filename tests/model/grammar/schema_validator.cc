// One function for each group of keywords.
#include "tests/model/grammar/schema_validator.h"

#include <cmath>
#include <regex>
#include <set>

namespace cascade::testing {
namespace {

class Validator {
 public:
  explicit Validator(const OrderedJson& root) : root_(root) {}

  std::string check(const Json& value, const OrderedJson& schema) {
    if (schema.is_boolean()) return schema.get<bool>() ? "" : "nothing is allowed here";
    static const std::set<std::string> known = {"type",        "properties",
                                                "required",    "additionalProperties",
                                                "enum",        "const",
                                                "anyOf",       "oneOf",
                                                "allOf",       "$ref",
                                                "$defs",       "items",
                                                "minItems",    "maxItems",
                                                "prefixItems", "minLength",
                                                "pattern",     "maxLength",
                                                "minimum",     "maximum",
                                                "format",      "exclusiveMinimum",
                                                "nullable",    "title",
                                                "description", "exclusiveMaximum"};
    for (const auto& [name, unused] : schema.items()) {
      if (!known.contains(name)) return "the validator does not know " + name;
    }
    std::string problem = check_combinations(value, schema);
    if (problem.empty()) problem = check_type(value, schema);
    if (problem.empty() && value.is_object()) problem = check_object(value, schema);
    if (problem.empty() && value.is_array()) problem = check_array(value, schema);
    if (problem.empty() && value.is_string()) problem = check_string(value, schema);
    if (problem.empty() && value.is_number()) problem = check_number(value, schema);
    return problem;
  }

 private:
  bool holds(const Json& value, const OrderedJson& schema) { return check(value, schema).empty(); }

  std::string check_combinations(const Json& value, const OrderedJson& schema) {
    if (schema.contains("$ref")) {
      const std::string ref = schema["$ref"];
      const OrderedJson& target =
          ref == "#" ? root_ : root_.at(OrderedJson::json_pointer(ref.substr(1)));
      if (std::string problem = check(value, target); !problem.empty()) return problem;
    }
    if (schema.contains("allOf")) {
      for (const OrderedJson& all : schema["allOf"]) {
        if (std::string problem = check(value, all); !problem.empty()) return problem;
      }
    }
    for (const char* name : {"anyOf", "oneOf"}) {
      if (!schema.contains(name)) continue;
      int count = 0;
      for (const OrderedJson& one : schema[name]) count += holds(value, one) ? 1 : 0;
      if (count == 0) return std::string("none of ") + name + " holds for " + value.dump();
      if (count > 1 && name == std::string("oneOf")) return "more than one of oneOf holds";
    }
    return "";
  }

  static bool is(const Json& value, const std::string& type) {
    if (type == "integer") {
      return value.is_number() && value.get<double>() == std::floor(value.get<double>());
    }
    if (type == "number") return value.is_number();
    return type == value.type_name();
  }

  std::string check_type(const Json& value, const OrderedJson& schema) {
    if (schema.contains("const") && Json(schema["const"]) != value) return "is not the constant";
    if (schema.contains("enum")) {
      bool found = false;
      for (const OrderedJson& one : schema["enum"]) found |= Json(one) == value;
      if (!found) return value.dump() + " is not in the enum";
    }
    if (!schema.contains("type")) return "";
    if (schema.value("nullable", false) && value.is_null()) return "";
    if (schema["type"].is_string()) {
      return is(value, schema["type"]) ? "" : value.dump() + " is not " + schema["type"].dump();
    }
    for (const OrderedJson& type : schema["type"]) {
      if (is(value, type)) return "";
    }
    return value.dump() + " is not of " + schema["type"].dump();
  }

  std::string check_object(const Json& value, const OrderedJson& schema) {
    if (schema.contains("required")) {
      for (const OrderedJson& name : schema["required"]) {
        if (!value.contains(name.get<std::string>())) return "lacks " + name.dump();
      }
    }
    for (const auto& [name, member] : value.items()) {
      std::string problem;
      if (schema.contains("properties") && schema["properties"].contains(name)) {
        problem = check(member, schema["properties"][name]);
      } else if (schema.contains("additionalProperties")) {
        problem = check(member, schema["additionalProperties"]);
      }
      if (!problem.empty()) return name + ": " + problem;
    }
    return "";
  }

  std::string check_array(const Json& value, const OrderedJson& schema) {
    if (schema.contains("minItems") && value.size() < schema["minItems"]) return "too few items";
    if (schema.contains("maxItems") && value.size() > schema["maxItems"]) return "too many items";
    const OrderedJson prefix = schema.value("prefixItems", OrderedJson::array());
    for (size_t i = 0; i < value.size(); ++i) {
      std::string problem;
      if (i < prefix.size()) {
        problem = check(value[i], prefix[i]);
      } else if (schema.contains("items")) {
        problem = check(value[i], schema["items"]);
      }
      if (!problem.empty()) return "[" + std::to_string(i) + "]: " + problem;
    }
    return "";
  }

  static std::string check_date(const std::string& text) {
    static const std::regex form("(\\d{4})-(\\d\\d)-(\\d\\d)");
    std::smatch match;
    if (!std::regex_match(text, match, form)) return text + " is no date";
    const int year = std::stoi(match[1]), month = std::stoi(match[2]), day = std::stoi(match[3]);
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    const int days[] = {31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool right = year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1];
    return right ? "" : text + " is no day";
  }

  std::string check_string(const Json& value, const OrderedJson& schema) {
    const std::string& text = value.get_ref<const std::string&>();
    size_t length = 0;
    for (const char c : text) length += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
    if (schema.contains("minLength") && length < schema["minLength"]) return "too short";
    if (schema.contains("maxLength") && length > schema["maxLength"]) return "too long";
    if (schema.contains("pattern")) {
      const std::regex pattern(schema["pattern"].get<std::string>(), std::regex::ECMAScript);
      if (!std::regex_search(text, pattern)) return value.dump() + " does not match the pattern";
    }
    if (!schema.contains("format")) return "";
    const std::string format = schema["format"];
    if (format == "date") return check_date(text);
    if (format == "date-time") {
      static const std::regex time(
          "T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d+)?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)");
      if (text.size() < 11 || !std::regex_match(text.substr(10), time)) return text + ": no time";
      return check_date(text.substr(0, 10));
    }
    static const std::regex uuid("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
    if (format == "uuid") return std::regex_match(text, uuid) ? "" : text + " is no uuid";
    return "the validator does not know the format " + format;
  }

  std::string check_number(const Json& value, const OrderedJson& schema) {
    const double number = value.get<double>();
    const auto limit = [&](const char* name) { return schema[name].get<double>(); };
    const bool right =
        (!schema.contains("minimum") || number >= limit("minimum")) &&
        (!schema.contains("maximum") || number <= limit("maximum")) &&
        (!schema.contains("exclusiveMinimum") || number > limit("exclusiveMinimum")) &&
        (!schema.contains("exclusiveMaximum") || number < limit("exclusiveMaximum"));
    return right ? "" : value.dump() + " is out of range";
  }

  const OrderedJson& root_;
};

}  // namespace

std::string violation(const Json& document, const OrderedJson& schema) {
  return Validator(schema).check(document, schema);
}

}  // namespace cascade::testing
