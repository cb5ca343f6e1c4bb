// Errors name what is wrong and the line; what is not supported fails when a template is loaded.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/model/chat_template_testing.h"

namespace cascade::testing {
namespace {

std::string parse_error(std::string_view source) {
  const auto chat_template = ChatTemplate::parse(source);
  if (chat_template.ok()) return "no error";
  EXPECT_EQ(chat_template.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(chat_template.error().field, "chat_template");
  return chat_template.error().message;
}

std::string render_error(std::string_view source, const OrderedJson& variables = {}) {
  const auto chat_template = ChatTemplate::parse(source);
  if (!chat_template.ok()) return "does not parse: " + chat_template.error().message;
  const auto text =
      chat_template->render(variables.is_null() ? OrderedJson::object() : variables, 0);
  if (text.ok()) return "no error: " + plain_text(*text);
  EXPECT_EQ(text.error().field, "chat_template");
  return text.error().message;
}

TEST(ChatTemplateErrors, unsupported_tags_fail_when_parsed) {
  for (const char* tag :
       {"include 'x'", "import 'x' as y", "from 'x' import y", "extends 'x'", "block b", "call m()",
        "autoescape true", "do x", "trans", "debug", "print x", "nonsense", "endfor"}) {
    const std::string name = std::string(tag).substr(0, std::string(tag).find(' '));
    EXPECT_EQ(parse_error("a\n\n{% " + std::string(tag) + " %}"),
              "line 3: the tag '" + name + "' is not supported here");
  }
}

TEST(ChatTemplateErrors, unsupported_names_fail_when_parsed) {
  const std::pair<const char*, const char*> cases[] = {
      {"{{ x | urlize }}", "line 1: the filter 'urlize' is not supported"},
      {"{{ x is nonsense }}", "line 1: the test 'nonsense' is not supported"},
      {"{{ x.encode() }}", "line 1: the method 'encode' is not supported"},
      {"{{ cycler(1) }}", "line 1: the function 'cycler' is not supported"},
      {"{{ joiner() }}", "line 1: the function 'joiner' is not supported"},
      {"{{ lipsum() }}", "line 1: the function 'lipsum' is not supported"},
      {"{{ self.x() }}", "line 1: expected an expression, got 'self'"},
      {"{% for x in y recursive %}{% endfor %}", "line 1: recursive loops are not supported"},
      {"{% for x in y %}{{ loop(x) }}{% endfor %}", "line 1: recursive loops are not supported"},
      {"{% macro m() %}{{ varargs }}{% endmacro %}",
       "line 1: 'varargs' is not supported in a macro"},
      {"{% macro m() %}{{ kwargs }}{% endmacro %}", "line 1: 'kwargs' is not supported in a macro"},
      {"{% macro m() %}{{ caller() }}{% endmacro %}",
       "line 1: 'caller' is not supported in a macro"},
      {"{{ x[1, 2] }}", "line 1: several keys in one subscript are not supported"},
      {"{{ '\\N{DASH}' }}", "line 1: the escape \\N{...} is not supported"},
      {"{{ 9223372036854775808 }}", "line 1: the number '9223372036854775808' exceeds 64 bits"},
      {"{{ 1e400 }}", "line 1: the number '1e400' does not fit a double"},
      {"{{ '\\ud800' }}", "line 1: an escape names a surrogate or a code point beyond U+10FFFF"}};
  for (const auto& [source, message] : cases) EXPECT_EQ(parse_error(source), message);
}

TEST(ChatTemplateErrors, syntax_errors_name_the_line) {
  const std::pair<const char*, const char*> cases[] = {
      {"a\n{{ 1 + }}", "line 2: expected an expression, got '}}'"},
      {"{% if x %}\n\n", "line 2: expected '{% endif %}', got the end of the template"},
      {"\r\n{% for x in y %}{% endif %}", "line 2: the tag 'endif' is not supported here"},
      {"\n\n{{ 'abc }}", "line 3: the string is not closed"},
      {"\n{# abc", "line 2: the comment is not closed: '#}' is missing"},
      {"{% raw %}\n", "line 1: the raw block is not closed: '{% endraw %}' is missing"},
      {"{{ a", "line 1: the tag is not closed: '}}' is missing"},
      {"{% set a", "line 1: the tag is not closed: '%}' is missing"},
      {"{{ (1] }}", "line 1: unexpected ']'"},
      {"{{ a ? b }}", "line 1: unexpected character '?'"},
      {"{{ \u00e9 }}", "line 1: unexpected character '\u00e9'"},
      {"{{ a b }}", "line 1: expected '}}', got 'b'"},
      {"{% if a %}{% else b %}{% endif %}", "line 1: expected '%}', got 'b'"},
      {"{% set true = 1 %}", "line 1: expected the name of a variable, got 'true'"},
      {"{% set loop = 1 %}", "line 1: 'loop' cannot be assigned to"},
      {"{{ f(a=1, a=2) }}", "line 1: the argument 'a' is given twice"},
      {"{% macro m(a, a) %}{% endmacro %}", "line 1: the parameter 'a' is given twice"},
      {"{% break %}", "line 1: break and continue are for loops"}};
  for (const auto& [source, message] : cases) EXPECT_EQ(parse_error(source), message);
  EXPECT_EQ(parse_error("\xff"), "the template is not UTF-8");
}

TEST(ChatTemplateErrors, run_time_errors_name_the_line) {
  const std::pair<const char*, const char*> cases[] = {
      {"a\n{{ x.y.z }}", "line 2: 'x' is undefined"},
      {"{% set x = {} %}\n\n{{ x.y.z }}", "line 3: 'dict object' has no attribute 'y'"},
      {"{{ 'a' + 1 }}", "line 1: '+' does not work between str and int"},
      {"{{ 1 // 0 }}", "line 1: division by zero"},
      {"{{ 9223372036854775807 + 1 }}", "line 1: the result does not fit a 64-bit integer"},
      {"{{ 3 ** 99 }}", "line 1: the result does not fit a 64-bit integer"},
      {"{{ -(-9223372036854775807 - 1) }}", "line 1: the result does not fit a 64-bit integer"},
      {"{{ (-9223372036854775807 - 1) // -1 }}",
       "line 1: the result does not fit a 64-bit integer"},
      {"{{ (-9223372036854775807 - 1)|abs }}",
       "line 1: filter 'abs': the result does not fit a 64-bit integer"},
      {"{{ 1 < 'a' }}", "line 1: cannot order int and str"},
      {"{% for a, b in [[1]] %}{% endfor %}", "line 1: cannot unpack 1 values into 2 variables"},
      {"{% macro m() %}\n{{ x.y }}{% endmacro %}\n\n{{ m() }}", "line 2: 'x' is undefined"},
      {"{{ [1]|map('nope')|list }}", "line 1: filter 'map': the filter 'nope' is not supported"},
      {"{{ [1].append(2) }}",
       "line 1: the method 'append' of a list may not be used: values do not change"},
      {"{{ namespace() }}", "line 1: a value of type Namespace cannot be printed"},
      {"{{ 'a'.upper }}", "line 1: a value of type method cannot be printed"},
      {"{{ 1 is sameas 1 }}", "line 1: test 'sameas': is supported for true, false and none only"},
      {"{{ (-8) ** 0.5 }}", "line 1: a negative number to a fractional power is not supported"},
      {"{{ strftime_now('%Q') }}", "line 1: the time format '%Q' is not supported"},
      {"{{ {}|tojson(color=1) }}", "line 1: filter 'tojson': has no argument 'color'"},
      {"{{ 'a'|indent('x', 1, 2, 3) }}",
       "line 1: filter 'indent': takes at most 3 arguments, got 4"}};
  for (const auto& [source, message] : cases) EXPECT_EQ(render_error(source), message) << source;
}

TEST(ChatTemplateErrors, raise_exception_gives_its_message_verbatim) {
  EXPECT_EQ(render_error("\n\n{{ raise_exception('Only \"user\" roles, please') }}"),
            "Only \"user\" roles, please");
  EXPECT_EQ(render_error("{% macro m() %}{{ raise_exception(x) }}{% endmacro %}{{ m()|upper }}",
                         {{"x", "line 7: no"}}),
            "line 7: no");
}

TEST(ChatTemplateErrors, variables_must_be_json_that_values_can_hold) {
  EXPECT_EQ(render_error("{{ x + 1 }}", {{"x", 18446744073709551615u}}),
            "line 1: there is no arithmetic with integers beyond 64 bits");
  EXPECT_EQ(render_error("{{ x }}", {{"x", "\xff"}}), "a string in the variables is not UTF-8");
  EXPECT_EQ(render_error("{{ x }}", {{"x", OrderedJson::binary({1})}}),
            "a variable holds binary data");
  EXPECT_EQ(render_error("{{ x }}", OrderedJson::array()), "the variables must be a JSON object");
  // A variable that the template does not name is not looked at.
  EXPECT_EQ(render_error("{{ y }}", {{"x", "\xff"}}), "no error: ");
}

TEST(ChatTemplateErrors, names_from_clients_are_cut) {
  const std::string name(1000, 'x');
  const std::string message = render_error("{{ {}[n].y }}", {{"n", name}});
  EXPECT_EQ(message, "line 1: 'dict object' has no attribute '" + name.substr(0, 64) + "...'");
}

}  // namespace
}  // namespace cascade::testing
