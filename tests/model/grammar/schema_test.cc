// Schemas: which documents their grammars accept, keyword by keyword, and which they do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/grammar/grammar_testing.h"

namespace cascade {
namespace {

using testing::Accepting;
using ::testing::HasSubstr;
using testing::refusal;

TEST(Schema, an_object_has_its_properties_in_order_and_may_lack_those_that_are_not_required) {
  Accepting schema(R"({"type": "object", "properties": {"a": {"type": "integer"},
                       "b": {"type": "boolean"}, "c": {"type": "null"}}, "required": ["b"]})");
  for (const char* document :
       {R"({"a":1,"b":true,"c":null})", R"({"b":false})", R"({"a": 1, "b": true})",
        "{\n  \"b\": true\n}", R"({"b":true,"c":null})"}) {
    EXPECT_TRUE(schema.takes(document)) << document;
  }
  for (const char* document :
       {"{}", R"({"a":1})", R"({"b":true,"a":1})", R"({"b":1})", R"({"b":true,"d":1})",
        R"({"b":true,})", R"({"b":true}})", R"({"b":true,"b":true})", "[]", R"({"b" :true})"}) {
    EXPECT_FALSE(schema.takes(document)) << document;
  }
}

TEST(Schema, white_space_is_bounded) {
  Accepting schema(R"({"type": "array", "items": {"type": "integer"}})");
  EXPECT_TRUE(schema.takes("[1, 2,\n  3\n]"));
  EXPECT_TRUE(schema.takes("[\n                1]"));
  EXPECT_FALSE(schema.begins("[\n                 1"));
  EXPECT_FALSE(schema.begins("[  "));
  EXPECT_FALSE(schema.begins("[\n\n"));
  EXPECT_FALSE(schema.begins(" "));
  EXPECT_FALSE(schema.begins("[1]\n"));
}

TEST(Schema, additional_properties_come_last_and_never_spell_a_declared_name) {
  Accepting schema(R"({"type": "object", "properties": {"a": {"type": "integer"}},
                       "additionalProperties": {"type": "string"}})");
  EXPECT_TRUE(schema.takes(R"({"a":1,"x":"y","":"z"})"));
  EXPECT_TRUE(schema.takes(R"({"ab":"y"})"));
  EXPECT_TRUE(schema.takes(R"({"\"\n":"y"})"));
  EXPECT_TRUE(schema.takes("{}"));
  EXPECT_FALSE(schema.takes(R"({"a":"y"})"));
  EXPECT_FALSE(schema.begins(R"({"\u0061)"));
  EXPECT_FALSE(schema.takes(R"({"x":1})"));
  EXPECT_FALSE(schema.takes(R"({"x":"y","a":1})"));
}

TEST(Schema, an_object_of_which_nothing_is_said_is_any_object) {
  Accepting schema(R"({"type": "object"})");
  EXPECT_TRUE(schema.takes(R"({"a":[1,{"b":[]}],"c":{},"d":-0.5e+10})"));
  EXPECT_FALSE(schema.takes("[]"));
  Accepting any("{}");
  for (const char* document : {"1", "\"x\"", "null", "[]", "{}", "[[[{\"a\":null}]]]"}) {
    EXPECT_TRUE(any.takes(document)) << document;
  }
}

TEST(Schema, strings_are_utf8_with_the_escapes_of_json) {
  Accepting schema(R"({"type": "string"})");
  for (const char* document : {R"("")", R"("a\"\\\/\b\f\n\r\t")", R"("\u00e9\uD83D\uDE00")",
                               "\"\xC3\xA9\"", "\"\xF0\x9F\x98\x80\"", "\"\x7F\""}) {
    EXPECT_TRUE(schema.takes(document)) << document;
  }
  for (const char* beginning :
       {"\"\n", "\"\\x", "\"\\uD83Dx", "\"\\uD83D\\u0041", "\"\\uDC00", "\"\xC0", "\"\xED\xA0",
        "\"\xF4\x90", "\"\xFF", "\"\x80", "\"\xE0\x80", "\"\xC3\""}) {
    EXPECT_FALSE(schema.begins(beginning)) << beginning;
  }
}

TEST(Schema, lengths_count_code_points) {
  Accepting schema(R"({"type": "string", "minLength": 2, "maxLength": 3})");
  EXPECT_TRUE(schema.takes("\"ab\""));
  EXPECT_TRUE(schema.takes("\"\xC3\xA9\xF0\x9F\x98\x80\\n\""));
  EXPECT_TRUE(schema.takes(R"("\uD83D\uDE00b")"));
  EXPECT_FALSE(schema.begins("\"a\""));
  EXPECT_FALSE(schema.begins("\"abcd"));
  Accepting long_text(R"({"type": "string", "minLength": 100000, "maxLength": 100000})");
  EXPECT_TRUE(long_text.takes('"' + std::string(100000, 'x') + '"'));
  EXPECT_FALSE(long_text.takes('"' + std::string(99999, 'x') + '"'));
}

TEST(Schema, patterns_and_formats_hold) {
  Accepting pattern(R"({"type": "string", "pattern": "^[a-c]+\\d{2}$"})");
  EXPECT_TRUE(pattern.takes("\"abc12\""));
  EXPECT_FALSE(pattern.begins("\"1"));
  Accepting found(R"({"type": "string", "pattern": "ab"})");
  EXPECT_TRUE(found.takes("\"xxabyy\\n\""));
  EXPECT_FALSE(found.takes("\"xxa\""));
  Accepting both(R"({"type": "string", "pattern": "^a*$", "minLength": 2, "maxLength": 3})");
  EXPECT_TRUE(both.takes("\"aaa\""));
  EXPECT_FALSE(both.begins("\"a\""));
  EXPECT_FALSE(both.begins("\"aaaa"));
  const std::pair<const char*, std::vector<const char*>> formats[] = {
      {"date", {"2024-02-29", "2000-02-29", "1999-12-31", "0001-01-01"}},
      {"time", {"23:59:59Z", "00:00:00.123+05:30"}},
      {"date-time", {"2024-01-31T10:20:30Z"}},
      {"duration", {"P1Y2M3D", "PT1H", "P2W"}},
      {"uuid", {"123e4567-e89b-12d3-a456-426614174000"}},
      {"email", {"jane.doe@example.com"}},
      {"hostname", {"a-b.example.org"}},
      {"ipv4", {"255.0.10.1"}},
      {"ipv6", {"2001:db8:0:0:0:0:0:1", "::1"}},
      {"uri", {"https://example.com/a/b?c=d#e"}}};
  for (const auto& [format, texts] : formats) {
    Accepting schema(R"({"type": "string", "format": ")" + std::string(format) + "\"}");
    for (const char* text : texts) {
      EXPECT_TRUE(schema.takes('"' + std::string(text) + '"')) << format << " " << text;
    }
  }
  Accepting date(R"({"type": "string", "format": "date"})");
  for (const char* text : {"2023-02-29", "1900-02-29", "2024-04-31", "2024-13-01", "0000-01-01"}) {
    EXPECT_FALSE(date.takes('"' + std::string(text) + '"')) << text;
  }
}

TEST(Schema, integers_and_numbers_are_within_their_limits) {
  const auto schema = [](const char* type, const char* limits) {
    return R"({"type": ")" + std::string(type) + "\", " + limits + "}";
  };
  Accepting month(schema("integer", R"("minimum": 1, "maximum": 12)"));
  for (int i = -20; i < 130; ++i) {
    EXPECT_EQ(month.takes(std::to_string(i)), i >= 1 && i <= 12) << i;
  }
  Accepting around(schema("integer", R"("minimum": -105, "exclusiveMaximum": 27)"));
  for (int i = -1200; i < 1200; ++i) {
    EXPECT_EQ(around.takes(std::to_string(i)), i >= -105 && i < 27) << i;
  }
  Accepting share(schema("number", R"("exclusiveMinimum": 0, "maximum": 0.25)"));
  for (const char* text : {"0.25", "0.250", "0.1", "0.00001", "0.2499"}) {
    EXPECT_TRUE(share.takes(text)) << text;
  }
  for (const char* text : {"0", "0.0", "0.251", "1", "-0.1", "0.2500001", "00.1", ".1", "0."}) {
    EXPECT_FALSE(share.takes(text)) << text;
  }
  Accepting cold(schema("number", R"("maximum": -1.5)"));
  EXPECT_TRUE(cold.takes("-1.5"));
  EXPECT_TRUE(cold.takes("-12"));
  EXPECT_FALSE(cold.takes("-1.49"));
  EXPECT_FALSE(cold.takes("-1"));
  EXPECT_FALSE(cold.takes("2"));
  Accepting plain(R"({"type": ["integer", "null"]})");
  for (const char* text : {"0", "-7", "12345678901234567890", "null"}) {
    EXPECT_TRUE(plain.takes(text)) << text;
  }
  for (const char* text : {"-0", "01", "1.0", "1e3", "123456789012345678901", "-"}) {
    EXPECT_FALSE(plain.takes(text)) << text;
  }
}

TEST(Schema, a_schema_that_is_too_deep_is_told_from_one_that_nothing_satisfies) {
  std::string defs = R"("0": {"type": "null"})";
  for (int i = 1; i <= 200; ++i) {
    defs += ", \"" + std::to_string(i) +
            R"(": {"type": "array", "minItems": 2, "items": {"$ref": )" + R"("#/$defs/)" +
            std::to_string(i - 1) + "\"}}";
  }
  EXPECT_THAT(refusal(R"({"$ref": "#/$defs/200", "$defs": {)" + defs + "}}"),
              HasSubstr("within the depth limit of 128 frames"));
}

TEST(Schema, listed_values_are_written_compactly_and_must_satisfy_the_rest) {
  Accepting schema(R"({"enum": ["a", "ab", 1, 12, null, {"x": [1, 2.5]}, "caf\u00e9\n"]})");
  for (const char* document :
       {"\"a\"", "\"ab\"", "1", "12", "null", R"({"x":[1,2.5]})", "\"caf\xC3\xA9\\n\""}) {
    EXPECT_TRUE(schema.takes(document)) << document;
  }
  EXPECT_FALSE(schema.takes(R"({"x": [1,2.5]})"));
  EXPECT_FALSE(schema.takes("2"));
  Accepting typed(R"({"type": "string", "minLength": 2, "enum": ["a", "ab", 1], "const": "ab"})");
  EXPECT_TRUE(typed.takes("\"ab\""));
  EXPECT_FALSE(typed.begins("1"));
  EXPECT_FALSE(typed.takes("\"a\""));
}

TEST(Schema, arrays_have_their_first_items_and_their_number_of_items) {
  Accepting pair(R"({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}],
                     "items": {"type": "null"}, "minItems": 1, "maxItems": 3})");
  for (const char* document : {"[1]", R"([1,"a"])", R"([1, "a", null])"}) {
    EXPECT_TRUE(pair.takes(document)) << document;
  }
  for (const char* document : {"[]", R"(["a"])", R"([1,"a",null,null])", "[1,]", "[,1]"}) {
    EXPECT_FALSE(pair.takes(document)) << document;
  }
  Accepting several(R"({"items": {"enum": [0, 1]}, "minItems": 2, "maxItems": 4})");
  for (size_t count = 0; count < 7; ++count) {
    std::string document = "[";
    for (size_t i = 0; i < count; ++i) document += i == 0 ? "0" : ",1";
    EXPECT_EQ(several.takes(document + "]"), count >= 2 && count <= 4) << document;
  }
  Accepting tuple(R"({"type": "array", "items": [{"type": "integer"}], "additionalItems": false})");
  EXPECT_TRUE(tuple.takes("[1]"));
  EXPECT_TRUE(tuple.takes("[]"));
  EXPECT_FALSE(tuple.takes("[1,2]"));
}

TEST(Schema, references_may_be_recursive) {
  Accepting tree(R"({"$ref": "#/$defs/a~1b%20c", "$defs": {"a/b c": {"type": "object",
      "properties": {"v": {"type": "integer"},
                     "next": {"type": "array", "items": {"$ref": "#"}}}, "required": ["v"]}}})");
  EXPECT_TRUE(tree.takes(R"({"v":1,"next":[{"v":2},{"v":3,"next":[{"v":4}]}]})"));
  EXPECT_FALSE(tree.takes(R"({"v":1,"next":[{}]})"));
}

TEST(Schema, nesting_ends_where_it_could_not_be_completed_any_more) {
  Accepting nested(R"({"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#"},
      {"type": "null"}]}}, "required": ["a"]})");
  std::string text;
  while (nested.begins(text + R"({"a":)") && text.size() < 10000) text += R"({"a":)";
  const size_t levels = text.size() / 5;
  EXPECT_GE(levels, 40u);
  EXPECT_LE(levels, Grammar::kFramesMax);
  EXPECT_TRUE(nested.takes(text + "null" + std::string(levels, '}')));
}

TEST(Schema, alternatives_and_conjunctions) {
  Accepting any(R"({"anyOf": [{"type": "object", "properties": {"a": {"type": "integer"}},
      "required": ["a"]}, {"type": "object", "properties": {"a": {"type": "string"},
      "b": {"type": "null"}}, "required": ["a", "b"]}]})");
  EXPECT_TRUE(any.takes(R"({"a":1})"));
  EXPECT_TRUE(any.takes(R"({"a":"x","b":null})"));
  EXPECT_FALSE(any.takes(R"({"a":1,"b":null})"));
  Accepting all(R"({"allOf": [{"type": "object", "properties": {"a": {"minimum": 3}}},
      {"properties": {"a": {"type": "integer"}, "b": {"type": "null"}}, "required": ["a"]}]})");
  EXPECT_TRUE(all.takes(R"({"a":3,"b":null})"));
  EXPECT_FALSE(all.takes(R"({"a":2})"));
  EXPECT_FALSE(all.takes("{}"));
  Accepting one(R"({"oneOf": [
      {"type": "object", "properties": {"t": {"const": "x"}, "v": {"type": "integer"}},
       "required": ["t"]},
      {"type": "object", "properties": {"t": {"enum": ["y"]}}, "required": ["t"]},
      {"type": "string"}]})");
  EXPECT_TRUE(one.takes(R"({"t":"x","v":1})"));
  EXPECT_TRUE(one.takes(R"({"t":"y"})"));
  EXPECT_TRUE(one.takes("\"z\""));
  EXPECT_FALSE(one.takes(R"({"t":"z"})"));
  Accepting beside(R"({"type": "object", "properties": {"a": {"type": "integer"},
      "b": {"type": "integer"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})");
  EXPECT_TRUE(beside.takes(R"({"a":1})"));
  EXPECT_TRUE(beside.takes(R"({"b":1})"));
  EXPECT_FALSE(beside.takes("{}"));
}

TEST(Schema, nullable_and_annotations) {
  Accepting schema(R"({"title": "T", "description": "D", "default": 3, "examples": [1],
      "type": "string", "nullable": true, "x-order": 1, "$schema": "s", "$id": "i",
      "uniqueItems": false})");
  EXPECT_TRUE(schema.takes("null"));
  EXPECT_TRUE(schema.takes("\"a\""));
}

TEST(Schema, refuses_what_it_cannot_hold_to_by_place_and_name) {
  const auto in_property = [](const std::string& inner) {
    return R"({"type": "object", "properties": {"a": {"items": )" + inner + "}}}";
  };
  for (const char* keyword :
       {R"("if": true)", R"("contains": {})", R"("dependentRequired": {"a": ["b"]})",
        R"("unevaluatedProperties": false)", R"("$dynamicRef": "#")"}) {
    const std::string name(keyword + 1, std::string_view(keyword).find(':') - 2);
    EXPECT_EQ(refusal(in_property("{" + std::string(keyword) + "}")),
              "#/properties/a/items: " + name + ": the keyword is not supported");
  }
  EXPECT_EQ(refusal(in_property(R"({"$ref": "#/$defs/x"})")),
            "#/properties/a/items: $ref: names nothing in this schema");
  EXPECT_THAT(refusal(in_property(R"({"$ref": "other.json"})")), HasSubstr("$ref: must be #"));
  EXPECT_THAT(refusal(in_property(R"({"type": "strin"})")), HasSubstr("type: must be null, "));
  EXPECT_THAT(refusal(in_property(R"({"minLength": -1})")),
              HasSubstr("minLength: must be a whole"));
  EXPECT_THAT(refusal(in_property(R"({"format": "made-up"})")),
              HasSubstr("#/properties/a/items: format: is not a known format; give a pattern "
                        "beside it, leave it out, or use one of base64, "));
  EXPECT_THAT(refusal(in_property(R"x({"pattern": "(?<=a)"})x")),
              HasSubstr("#/properties/a/items: pattern: look-behind is not supported"));
  EXPECT_THAT(refusal(in_property("3")), HasSubstr("items: must be a schema"));
  EXPECT_THAT(refusal(in_property(R"({"uniqueItems": true})")),
              HasSubstr("#/properties/a/items: uniqueItems: can be held only where"));
  EXPECT_EQ(refusal(in_property(R"({"not": {"contains": {"type": "null"}}})")),
            "#/properties/a/items/not: contains: the keyword is not supported");
  EXPECT_EQ(refusal(in_property(R"({"not": {"items": {"type": "null"}}})")),
            "#/properties/a/items/not: items: cannot be denied, as not or oneOf wants it here");
  EXPECT_THAT(refusal(R"({"oneOf": [{"items": {"type": "null"}}, {"items": {"type": "string"}}]})"),
              HasSubstr("oneOf: alternatives 0 and 1 might both hold"));
  EXPECT_THAT(refusal(R"({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [true,
      {"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"})"),
              HasSubstr("leads back to itself"));
}

TEST(Schema, refuses_what_no_document_satisfies) {
  for (const char* schema :
       {"false", R"({"enum": []})", R"({"type": "integer", "minimum": 3, "maximum": 2})",
        R"({"allOf": [{"type": "string"}, {"type": "null"}]})",
        R"({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})",
        R"({"type": "string", "minLength": 3, "maxLength": 2})",
        R"({"type": "array", "items": false, "minItems": 1})",
        R"({"type": "string", "pattern": "^a$", "minLength": 2})"}) {
    EXPECT_THAT(refusal(schema), HasSubstr("no text satisfies it: what it demands")) << schema;
  }
}

}  // namespace
}  // namespace cascade
