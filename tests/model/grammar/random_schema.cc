// Schemas by depth: the deeper, the simpler.
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
    const uint64_t kinds = depth >= 4 ? 5 : 12;
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
      default: return conjunction(depth);
    }
  }

  OrderedJson string() {
    OrderedJson schema = {{"type", "string"}};
    static const char* patterns[] = {"^[a-z]{2,5}$",     "^(ab|cd)+$", "[0-9]",
                                     "^\\d{3}-\\d{4}$",  "^x|y$",      "^[^\"a-f]*$",
                                     "^\\w+(\\.\\w+)?$", "a.c",        "^[\\\\/\"]{1,3}$"};
    switch (below(6)) {
      case 0: schema["pattern"] = patterns[below(std::size(patterns))]; break;
      case 1: schema["maxLength"] = below(6); break;
      case 2:
        schema["minLength"] = below(4);
        schema["maxLength"] = 3 + below(5);
        break;
      case 3: schema["format"] = chance(0.5) ? "date" : chance(0.5) ? "date-time" : "uuid"; break;
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
    return schema;
  }
  OrderedJson integer() { return limits("integer", chance(0.8)); }
  OrderedJson number() { return limits("number", chance(0.3)); }

  OrderedJson listed() {
    const OrderedJson values = {
        "red", "green",        "gr\"een\\", 1, 12, 1.5, nullptr, true, OrderedJson::array({1, "a"}),
        "\n",  "z\xC3\xBCrich"};
    if (chance(0.3)) return {{"const", values[below(values.size())]}};
    OrderedJson list = OrderedJson::array();
    for (uint64_t i = 0; i <= below(4); ++i) list.push_back(values[below(values.size())]);
    return {{"enum", list}};
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
    return schema;
  }

  OrderedJson array(int depth) {
    OrderedJson schema = {{"type", "array"}};
    if (chance(0.8)) schema["items"] = make(depth + 1);
    if (chance(0.3)) {
      OrderedJson first = OrderedJson::array();
      for (uint64_t i = 0; i <= below(3); ++i) first.push_back(make(depth + 1));
      schema["prefixItems"] = first;
    }
    const uint64_t min = below(3);
    if (chance(0.3)) schema["minItems"] = min;
    if (chance(0.5)) schema["maxItems"] = min + below(3);
    return schema;
  }

  OrderedJson choice(int depth) {
    OrderedJson list = OrderedJson::array();
    for (uint64_t i = 0; i <= 1 + below(2); ++i) list.push_back(make(depth + 1));
    OrderedJson schema = {{chance(0.9) ? "anyOf" : "oneOf", list}};
    if (chance(0.2)) schema["type"] = OrderedJson::array({"object", "string"});
    return schema;
  }

  OrderedJson conjunction(int depth) {
    OrderedJson list = OrderedJson::array({object(depth + 1), object(depth + 1)});
    if (chance(0.2)) list = OrderedJson::array({integer(), number()});
    if (chance(0.2)) list = OrderedJson::array({array(depth + 1), array(depth + 1)});
    return {{"allOf", list}};
  }

  Random& random_;
};

}  // namespace

OrderedJson random_schema(Random& random) {
  return Maker(random).document();
}

}  // namespace cascade::testing
