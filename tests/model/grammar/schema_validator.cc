// There is one function for each group of keywords.
#include "tests/model/grammar/schema_validator.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <regex>
#include <set>

#include "base/utf8.h"

namespace cascade::testing {
namespace {

// Each code point becomes one character. With `plain_spaces`, all that ECMAScript calls white space
// becomes a space, except the separators of lines and paragraphs.
std::wstring wide(const std::string& text, bool plain_spaces) {
  std::wstring all;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = utf8_decode(text, at);
    at += c.size;
    const bool space = c.value == 0xA0 || c.value == 0x1680 ||
                       (c.value >= 0x2000 && c.value <= 0x200A) || c.value == 0x202F ||
                       c.value == 0x205F || c.value == 0x3000 || c.value == 0xFEFF;
    all += plain_spaces && space ? L' ' : static_cast<wchar_t>(c.value);
  }
  return all;
}

// ECMAScript's "." does not match line and paragraph separators; the library excludes only "\n".
std::wstring with_plain_line_ends(std::wstring text) {
  std::ranges::replace_if(
      text, [](wchar_t c) { return c == 0x2028 || c == 0x2029; }, L'\n');
  return text;
}

// A pattern that the library does not know counts as a match.
bool has_match(const std::string& pattern, const std::string& text) {
  if (pattern.find("\\p{") != pattern.npos) return true;
  const std::wregex regex(wide(pattern, false), std::regex::ECMAScript);
  const auto matches = [&](bool plain_spaces) {
    return std::regex_search(with_plain_line_ends(wide(text, plain_spaces)), regex);
  };
  return matches(false) || matches(true);
}

class Validator {
 public:
  Validator(const OrderedJson& root, Formats formats) : root_(root), formats_(formats) {}

  std::string check(const Json& value, const OrderedJson& schema) {
    if (schema.is_boolean()) return schema.get<bool>() ? "" : "nothing is allowed here";
    static const std::set<std::string> known = {"type",          "properties",
                                                "required",      "additionalProperties",
                                                "enum",          "const",
                                                "anyOf",         "oneOf",
                                                "allOf",         "$ref",
                                                "$defs",         "items",
                                                "minItems",      "maxItems",
                                                "prefixItems",   "minLength",
                                                "pattern",       "maxLength",
                                                "minimum",       "maximum",
                                                "format",        "exclusiveMinimum",
                                                "nullable",      "exclusiveMaximum",
                                                "not",           "multipleOf",
                                                "uniqueItems",   "patternProperties",
                                                "propertyNames", "minProperties",
                                                "maxProperties", "additionalItems",
                                                "definitions"};
    static const std::set<std::string> annotations = {
        "title",           "description",      "$schema",       "default",
        "examples",        "readOnly",         "writeOnly",     "deprecated",
        "contentEncoding", "contentMediaType", "contentSchema", "discriminator"};
    for (const auto& [name, unused] : schema.items()) {
      const bool other = name.starts_with("x-") || annotations.contains(name);
      if (!other && !known.contains(name)) return "the validator does not know " + name;
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
    if (schema.contains("not") && holds(value, schema["not"])) {
      return schema["not"].dump() + " holds for " + value.dump();
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

  std::string check_member(const std::string& name, const Json& member, const OrderedJson& schema) {
    bool described = false;
    std::string problem;
    const auto must = [&](const OrderedJson& inner) {
      described = true;
      if (problem.empty()) problem = check(member, inner);
    };
    if (schema.contains("properties") && schema["properties"].contains(name)) {
      must(schema["properties"][name]);
    }
    if (schema.contains("patternProperties")) {
      for (const auto& [pattern, inner] : schema["patternProperties"].items()) {
        if (has_match(pattern, name)) must(inner);
      }
    }
    if (!described && schema.contains("additionalProperties")) must(schema["additionalProperties"]);
    if (problem.empty() && schema.contains("propertyNames")) {
      problem = check(Json(name), schema["propertyNames"]);
    }
    return problem;
  }

  std::string check_object(const Json& value, const OrderedJson& schema) {
    if (schema.contains("required")) {
      for (const OrderedJson& name : schema["required"]) {
        if (!value.contains(name.get<std::string>())) return "lacks " + name.dump();
      }
    }
    const size_t count = value.size();
    if (count < schema.value("minProperties", size_t{0})) return "too few properties";
    if (count > schema.value("maxProperties", SIZE_MAX)) return "too many properties";
    for (const auto& [name, member] : value.items()) {
      const std::string problem = check_member(name, member, schema);
      if (!problem.empty()) return name + ": " + problem;
    }
    return "";
  }

  std::string check_array(const Json& value, const OrderedJson& schema) {
    if (schema.contains("minItems") && value.size() < schema["minItems"]) return "too few items";
    if (schema.contains("maxItems") && value.size() > schema["maxItems"]) return "too many items";
    const bool older = schema.contains("items") && schema["items"].is_array();
    const char* const first = older ? "items" : "prefixItems";
    const char* const others = older ? "additionalItems" : "items";
    const OrderedJson prefix = schema.value(first, OrderedJson::array());
    for (size_t i = 0; i < value.size(); ++i) {
      std::string problem;
      if (i < prefix.size()) {
        problem = check(value[i], prefix[i]);
      } else if (schema.contains(others)) {
        problem = check(value[i], schema[others]);
      }
      if (!problem.empty()) return "[" + std::to_string(i) + "]: " + problem;
      for (size_t j = 0; j < i && schema.value("uniqueItems", false); ++j) {
        if (value[i] == value[j]) return value[i].dump() + " is given twice";
      }
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
    const bool right = month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1];
    return right ? "" : text + " is no day";
  }

  static std::string check_format(const std::string& text, const std::string& format) {
    if (format == "date") return check_date(text);
    if (format == "date-time") {
      static const std::regex time(
          "T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d+)?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)");
      if (text.size() < 11 || !std::regex_match(text.substr(10), time)) return text + ": no time";
      return check_date(text.substr(0, 10));
    }
    static const std::map<std::string, std::string> forms = {
        {"uuid", "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"},
        {"uuid4",
         "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-"
         "[0-9a-fA-F]{12}"},
        {"email", "[^@\\s]+@([a-zA-Z0-9-]+\\.)+[a-zA-Z0-9-]+"},
        {"ipv4", "((25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)(\\.(?!$)|$)){4}"},
        {"hostname", "(?=.{1,253}$)[a-zA-Z0-9-]{1,63}(\\.[a-zA-Z0-9-]{1,63})*"},
        {"uri", "[a-z]+://[a-zA-Z0-9.:-]+([/?#].*)?"}};
    const auto form = forms.find(format);
    if (form == forms.end()) return "";  // a format that is not known here
    return std::regex_match(text, std::regex(form->second)) ? "" : text + " is no " + format;
  }

  std::string check_string(const Json& value, const OrderedJson& schema) {
    const std::string& text = value.get_ref<const std::string&>();
    const size_t length = wide(text, false).size();
    if (schema.contains("minLength") && length < schema["minLength"]) return "too short";
    if (schema.contains("maxLength") && length > schema["maxLength"]) return "too long";
    if (schema.contains("pattern") && !has_match(schema["pattern"], text)) {
      return value.dump() + " does not match the pattern";
    }
    if (formats_ == Formats::kAnnotate || !schema.contains("format")) return "";
    return check_format(text, schema["format"]);
  }

  std::string check_number(const Json& value, const OrderedJson& schema) {
    const double number = value.get<double>();
    const auto is = [&](const char* name, const auto& test) {
      return !schema.contains(name) || !schema[name].is_number() ||
             test(number, schema[name].get<double>());
    };
    // This is the form of drafts before 6.
    const auto excluded = [&](const char* exclusive, const char* limit) {
      return schema.contains(exclusive) && schema[exclusive] == true && number == schema[limit];
    };
    const bool right =
        is("minimum", std::greater_equal()) && is("maximum", std::less_equal()) &&
        is("exclusiveMinimum", std::greater()) && is("exclusiveMaximum", std::less()) &&
        !excluded("exclusiveMinimum", "minimum") && !excluded("exclusiveMaximum", "maximum");
    if (!right) return value.dump() + " is out of range";
    if (!schema.contains("multipleOf")) return "";
    // Both are decimal numbers of at most 15 digits; rounding errors are not larger than this
    // tolerance.
    const double quotient = number / schema["multipleOf"].get<double>();
    const bool multiple =
        std::abs(quotient - std::round(quotient)) <= 1e-9 * std::max(1.0, std::abs(quotient));
    return multiple ? "" : value.dump() + " is no multiple of " + schema["multipleOf"].dump();
  }

  const OrderedJson& root_;
  const Formats formats_;
};

}  // namespace

std::string violation(const Json& document, const OrderedJson& schema, Formats formats) {
  return Validator(schema, formats).check(document, schema);
}

std::string violation_but_formats(const Json& document, const OrderedJson& schema,
                                  int& without_formats) {
  if (violation(document, schema).empty()) return "";
  ++without_formats;
  return violation(document, schema, Formats::kAnnotate);
}

}  // namespace cascade::testing
