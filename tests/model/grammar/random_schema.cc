// Generates nested schemas: the deeper, the simpler.
#include "tests/model/grammar/random_schema.h"

#include <string>

namespace cascade::testing {
namespace {

class Maker {
 public:
  explicit Maker(Random& random) : random_(random) {}

  OrderedJson document() {
    OrderedJson schema = make(0);
    if (!schema.is_object()) return schema;
    OrderedJson defs = OrderedJson::object();
    for (int i = 0; i < 3; ++i) defs["d" + std::to_string(i)] = make(2);
    schema["$defs"] = defs;
    return schema;
  }

 private:
  uint64_t below(uint64_t n) { return random_.below(n); }
  bool chance(double p) { return random_.unit() < p; }

  OrderedJson make(int depth) {
    if (chance(0.02)) return true;
    OrderedJson schema = plain(depth);
    if (schema.is_object() && !schema.contains("not") && chance(0.06)) {
      schema["not"] = denied(depth);
    }
    return schema;
  }

  OrderedJson plain(int depth) {
    const uint64_t kinds = depth >= 4 ? 5 : 13;
    switch (below(kinds)) {
      case 0: return string();
      case 1: return integer();
      case 2: return number();
      case 3: return chance(0.5) ? OrderedJson{{"type", "boolean"}} : OrderedJson{{"type", "null"}};
      case 4: return listed();
      case 5:
      case 6:
      case 7: return object(depth);
      case 8: return array(depth);
      case 9: return choice(depth);
      case 10: return {{"$ref", chance(0.3) ? "#" : "#/$defs/d" + std::to_string(below(3))}};
      case 11: return dictionary(depth);
      default: return conjunction(depth);
    }
  }

  const char* pattern() {
    static const char* patterns[] = {"^[a-z]{2,5}$",
                                     "^(ab|cd)+$",
                                     "[0-9]",
                                     "^\\d{3}-\\d{4}$",
                                     "^x|y$",
                                     "^[^\"a-f]*$",
                                     "^\\w+(\\.\\w+)?$",
                                     "a.c",
                                     "^[\\\\/\"]{1,3}$",
                                     "^(?=.*\\d)(?=.*[a-z])[a-z0-9]{2,6}$",
                                     "^(?!ab)[a-c]+$",
                                     "^(?:(?!ba).)*$",
                                     "^(a(?=b)|b(?!b)|c)*$",
                                     "(^a|b)c$",
                                     "^a.*\\bz$",
                                     "^[a-f0-9]{0,9}-?$"};
    return patterns[below(std::size(patterns))];
  }

  OrderedJson string() {
    OrderedJson schema = {{"type", "string"}};
    static const char* formats[] = {"date",     "date-time", "uuid",  "email",  "ipv4",
                                    "hostname", "uri",       "uuid4", "made-up"};
    switch (below(7)) {
      case 0: schema["pattern"] = pattern(); break;
      case 1: schema["maxLength"] = below(6); break;
      case 2:
        schema["minLength"] = below(4);
        schema["maxLength"] = 3 + below(5);
        break;
      case 3: schema["format"] = formats[below(std::size(formats))]; break;
      case 4:
        schema["pattern"] = chance(0.5) ? "[a-f0-9]$" : "^[^x]*$";
        schema["format"] = formats[below(std::size(formats))];
        break;
      case 5:
        schema["pattern"] = pattern();
        schema["allOf"] = OrderedJson::array({{{"pattern", pattern()}}});
        if (chance(0.3)) schema["minLength"] = 3;
        break;
      default: break;
    }
    if (chance(0.05)) schema["nullable"] = true;
    return schema;
  }

  OrderedJson bound(bool whole) {
    const int64_t base = static_cast<int64_t>(below(2000)) - 1000;
    if (whole) return base;
    return static_cast<double>(base) / (chance(0.5) ? 8 : 1000);
  }

  OrderedJson limits(const char* type, bool whole) {
    OrderedJson schema = {{"type", type}};
    if (chance(0.5)) schema[chance(0.7) ? "minimum" : "exclusiveMinimum"] = bound(whole);
    if (chance(0.5)) schema[chance(0.7) ? "maximum" : "exclusiveMaximum"] = bound(whole);
    if (chance(0.05) && schema.contains("minimum")) schema["exclusiveMinimum"] = true;
    static const OrderedJson steps = {1, 2, 3, 7, 10, 25, 64, 100, 0.5, 0.25, 0.01, 1.5, 0.001};
    if (chance(0.3)) schema["multipleOf"] = steps[below(steps.size())];
    return schema;
  }
  OrderedJson integer() { return limits("integer", chance(0.8)); }
  OrderedJson number() { return limits("number", chance(0.3)); }

  OrderedJson some_values() {
    const OrderedJson values = {
        "red", "green",        "gr\"een\\", 1, 12, 1.5, nullptr, true, OrderedJson::array({1, "a"}),
        "\n",  "z\xC3\xBCrich"};
    OrderedJson list = OrderedJson::array();
    for (uint64_t i = 0; i <= below(4); ++i) list.push_back(values[below(values.size())]);
    return list;
  }

  OrderedJson listed() {
    const OrderedJson list = some_values();
    if (chance(0.3)) return {{"const", list[0]}};
    return {{"enum", list}};
  }

  // A schema for `not`.
  OrderedJson denied(int depth) {
    switch (below(8)) {
      case 0: return {{"type", chance(0.5) ? "string" : "integer"}};
      case 1: return {{"const", "red"}};
      case 2: return {{"enum", OrderedJson::array({"green", 1, 12, 2.5, nullptr, true})}};
      case 3: return {{"type", "string"}, {"pattern", pattern()}};
      case 4: return {{"required", OrderedJson::array({"a", "b"})}};
      case 5: return {{"properties", {{"a", listed()}}}, {"required", OrderedJson::array({"a"})}};
      case 6: return {{"minimum", bound(true)}};
      default:
        if (chance(0.5)) return {{"minItems", 1 + below(3)}};
        return {{"anyOf", OrderedJson::array({listed(), limits("integer", depth > 1)})}};
    }
  }

  OrderedJson object(int depth) {
    OrderedJson schema = {{"type", "object"}};
    static const char* names[] = {"a", "ab", "b", "na\"me", "caf\xC3\xA9", "value", "x y", ""};
    OrderedJson properties = OrderedJson::object(), required = OrderedJson::array();
    for (const char* name : names) {
      if (chance(0.6)) continue;
      properties[name] = make(depth + 1);
      if (chance(0.5)) required.push_back(name);
    }
    if (chance(0.05)) required.push_back("undeclared");
    schema["properties"] = properties;
    if (chance(0.7)) schema["required"] = required;
    if (chance(0.3)) schema["additionalProperties"] = false;
    if (chance(0.2)) schema["additionalProperties"] = make(depth + 1);
    if (chance(0.1)) schema["patternProperties"] = patterns(depth);
    if (chance(0.1)) schema["minProperties"] = below(4);
    if (chance(0.1)) schema["maxProperties"] = 1 + below(4);
    return schema;
  }

  OrderedJson patterns(int depth) {
    OrderedJson all;
    for (uint64_t i = 0; i <= below(2); ++i) {
      static const char* names[] = {"^a", "b$", "^[a-c]{1,3}$", "\\d", "^(?!a)", "e"};
      all[names[below(std::size(names))]] = make(depth + 1);
    }
    return all;
  }

  // An object with property names that are not listed.
  OrderedJson dictionary(int depth) {
    OrderedJson schema = {{"type", "object"}};
    if (chance(0.8)) schema["additionalProperties"] = make(depth + 1);
    if (chance(0.3)) schema["patternProperties"] = patterns(depth);
    switch (below(6)) {
      case 0:
        schema["propertyNames"] = {{"enum", OrderedJson::array({"a", "zz", "b c", 5})}};
        break;
      case 1: schema["propertyNames"] = string(); break;
      case 2: schema["propertyNames"] = {{"pattern", "^[a-d]{1,3}$"}, {"maxLength", 2}}; break;
      case 3:
        schema["propertyNames"] = {{"anyOf", OrderedJson::array({string(), listed()})}};
        break;
      default: break;
    }
    if (chance(0.2)) schema["minProperties"] = below(3);
    if (chance(0.2)) schema["maxProperties"] = 1 + below(3);
    if (chance(0.1)) schema["required"] = OrderedJson::array({"ab"});
    return schema;
  }

  OrderedJson array(int depth) {
    OrderedJson schema = {{"type", "array"}};
    if (chance(0.2)) return distinct();
    if (chance(0.8)) schema["items"] = make(depth + 1);
    if (chance(0.3)) {
      OrderedJson first = OrderedJson::array();
      for (uint64_t i = 0; i <= below(3); ++i) first.push_back(make(depth + 1));
      schema["prefixItems"] = first;
    }
    const uint64_t min = below(3);
    if (chance(0.3)) schema["minItems"] = min;
    if (chance(0.5)) schema["maxItems"] = min + below(3);
    if (chance(0.1)) schema["uniqueItems"] = true;
    return schema;
  }

  // An array of few different values whose items must be distinct.
  OrderedJson distinct() {
    OrderedJson schema = {{"type", "array"}, {"uniqueItems", true}};
    schema["items"] = chance(0.5) ? OrderedJson{{"enum", some_values()}}
                                  : OrderedJson{{"type", OrderedJson::array({"integer", "null"})},
                                                {"minimum", 2},
                                                {"maximum", 2 + below(30)}};
    if (chance(0.3)) schema["minItems"] = below(4);
    if (chance(0.3)) schema["maxItems"] = below(6);
    return schema;
  }

  OrderedJson choice(int depth) {
    OrderedJson list = OrderedJson::array();
    for (uint64_t i = 0; i <= 1 + below(2); ++i) list.push_back(make(depth + 1));
    OrderedJson schema = {{chance(0.7) ? "anyOf" : "oneOf", list}};
    if (chance(0.2)) schema["type"] = OrderedJson::array({"object", "string"});
    return schema;
  }

  OrderedJson conjunction(int depth) {
    OrderedJson list = OrderedJson::array({object(depth + 1), object(depth + 1)});
    if (chance(0.2)) list = OrderedJson::array({integer(), number()});
    if (chance(0.2)) list = OrderedJson::array({array(depth + 1), array(depth + 1)});
    if (chance(0.2)) list = OrderedJson::array({object(depth + 1), dictionary(depth + 1)});
    return {{"allOf", list}};
  }

  Random& random_;
};

}  // namespace

OrderedJson random_schema(Random& random) {
  return Maker(random).document();
}

}  // namespace cascade::testing
