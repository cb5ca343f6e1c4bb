// Limits: whatever a template does, it ends, in bounded memory and stack.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/model/chat_template_testing.h"

namespace cascade::testing {
namespace {

std::string repeat(std::string_view text, int count) {
  std::string repeated;
  for (int i = 0; i < count; ++i) repeated += text;
  return repeated;
}

// Expects that rendering reaches a limit, and gives the message.
std::string exhausted(std::string_view source, const OrderedJson& variables = OrderedJson::object(),
                      const TemplateLimits& limits = {}) {
  const auto text = render(source, variables, limits);
  if (text.ok()) return "rendered";
  EXPECT_EQ(text.error().code, ErrorCode::kResourceExhausted) << text.error().to_string();
  EXPECT_EQ(text.error().field, "chat_template");
  return text.error().message;
}

constexpr std::string_view kTooManySteps = "line 1: the template takes more than 20000000 steps";

TEST(ChatTemplateLimits, doubling_a_string_stops) {
  EXPECT_EQ(exhausted("{% set ns = namespace(a='x') %}{% for i in range(999) %}"
                      "{% set ns.a = ns.a ~ ns.a %}{% endfor %}"),
            kTooManySteps);
}

TEST(ChatTemplateLimits, doubling_marks_stops) {
  EXPECT_EQ(exhausted("{% set ns = namespace(a='x' ~ 1) %}{% for i in range(999) %}"
                      "{% set ns.a = ns.a + ns.a %}{% endfor %}"),
            kTooManySteps);
}

TEST(ChatTemplateLimits, doubling_a_list_stops) {
  EXPECT_EQ(exhausted("{% set ns = namespace(a=[1]) %}{% for i in range(999) %}"
                      "{% set ns.a = ns.a + ns.a %}{% endfor %}"),
            kTooManySteps);
}

TEST(ChatTemplateLimits, large_products_stop_at_once) {
  for (const char* source :
       {"{{ 'x' * 1000000000 }}", "{{ ('ab' * 9223372036854775807)|length }}",
        "{{ ([1] * 9223372036854775807)|length }}", "{{ 9223372036854775807 * (1,) }}",
        "{{ 'x'.center(9223372036854775807) }}", "{{ 'x'.ljust(1000000000) }}",
        "{{ '1'.zfill(1000000000) }}", "{{ ('a' * 1000000).replace('', 'b' * 1000000) }}",
        "{{ ('a ' * 1000000).replace('a', 'b' * 1000000) }}"}) {
    EXPECT_EQ(exhausted(source), kTooManySteps) << source;
  }
  EXPECT_EQ(exhausted("{{ 'x'|indent(1000000000) }}"),
            "line 1: filter 'indent': the template takes more than 20000000 steps");
  EXPECT_EQ(exhausted("{{ [1]|batch(1000000000, 0)|list }}"),
            "line 1: filter 'batch': the template takes more than 20000000 steps");
  EXPECT_EQ(exhausted("{{ range(1000000000) }}"), "line 1: range() gives more than 100000 numbers");
}

TEST(ChatTemplateLimits, widths_and_precisions_of_formats_are_bounded) {
  EXPECT_EQ(rendered("{{ '%99999999s' % 'a' }}"),
            "error: invalid_argument: chat_template: line 1: the width of a format is larger than "
            "1048576");
  EXPECT_EQ(rendered("{{ '{:.999}'.format(1.5) }}"),
            "error: invalid_argument: chat_template: line 1: the precision of a format is larger "
            "than 300");
  EXPECT_EQ(rendered("{{ '%.300f' % 1e300 }}").size(), 602u);
}

TEST(ChatTemplateLimits, endless_work_stops) {
  const OrderedJson variables = {{"c", std::string(1'000'000, 'a')},
                                 {"needle", std::string(500'000, 'a') + "b"}};
  for (const char* work :
       {"{% for j in range(99999) %}{% endfor %}",
        "{% set x = range(9999)|list %}",
        "{% set x = c.find(needle) %}",
        "{% set x = c.rfind(needle) %}",
        "{% set x = c == c ~ e %}",
        "{% set x = needle in c %}",
        "{% set x = c|upper %}",
        "{% set x = c.strip(needle) %}",
        "{% set x = c.split('a') %}",
        "{% set x = c|list %}",
        "{% set x = c[::-1] %}",
        "{% set x = c|tojson %}",
        "{% set x = [c]|string %}",
        "{% set x = c|e %}",
        "{% set x = c[-1] %}",
        "{% set x = c|length %}",
        "{% set x = c.isalpha() %}",
        "{% set x = 1.5|round(300) %}{% set x = '%.300f' % 1.5 %}",
        "{% set x = range(999)|map('string')|list|sort|unique|join %}",
        "{% set x = namespace(a=1) %}{% set x = dict(a=1) %}{% set x = {1: [2, (3,)]} %}"}) {
    const std::string source = "{% for a in range(99999) %}{% for b in range(99999) %}" +
                               std::string(work) + "{% endfor %}{% endfor %}";
    TemplateLimits limits;
    limits.steps_max = 2'000'000;
    EXPECT_THAT(exhausted(source, variables, limits),
                ::testing::EndsWith("the template takes more than 2000000 steps"))
        << work;
  }
}

// A search among many items, and an operation that does much work for one character, count that
// work as steps too.
TEST(ChatTemplateLimits, long_searches_stop) {
  OrderedJson many = OrderedJson::object();
  for (int i = 0; i < 3'000; ++i) many["key" + std::to_string(10'000 + i)] = 1;
  OrderedJson alike = OrderedJson::object();
  for (const char end : {'a', 'b', 'c', 'd'}) alike[std::string(100'000, 'x') + end] = 1;
  const OrderedJson variables = {{"many", many}, {"alike", alike}};
  const std::string name(20'000, 'n');
  TemplateLimits limits;
  limits.steps_max = 1'000'000;
  const std::string nested = repeat("{% with a = 1 %}", 80);
  const std::string times = "{% for i in range(2000) %}";
  const std::vector<std::string> sources = {
      "{{ '%(key12999)s' * 2000 % many }}",
      "{% set k = 'x' * 100000 ~ 'e' %}" + times + "{{ k in alike }}{% endfor %}",
      "{% macro f(" + name + "=1) %}{% endmacro %}" + times + "{{ f(" + name + "=2) }}{% endfor %}",
      "{% set s = namespace(" + name + "=1) %}{% for i in range(40000) %}{% set s." + name +
          " = 1 %}{% endfor %}",
      "{% set v = 1 %}" + nested + "{% for i in range(99) %}{% for j in range(99) %}" +
          repeat("{{ v }}", 5) + "{% endfor %}{% endfor %}" + repeat("{% endwith %}", 80),
      "{{ strftime_now('%c' * 50000) }}",
      "{{ ('1' * 2000000).islower() }}",
      "{{ ('1' * 1900000).title() }}",
      "{{ ('a' * 100000).count('a') ~ ('a' * 900000).count('a') }}"};
  for (const std::string& source : sources) {
    EXPECT_THAT(exhausted(source, variables, limits),
                ::testing::EndsWith("the template takes more than 1000000 steps"))
        << source.substr(0, 80);
  }
}

TEST(ChatTemplateLimits, values_that_share_parts_are_not_walked_without_end) {
  const std::string doubling =
      "{% set ns = namespace(a=[1], b=[1]) %}{% for i in range(90) %}"
      "{% set ns.a = [ns.a, ns.a] %}{% set ns.b = [ns.b, ns.b] %}{% endfor %}";
  EXPECT_EQ(exhausted(doubling + "{{ ns.a }}"), kTooManySteps);
  EXPECT_EQ(exhausted(doubling + "{{ ns.a == ns.b }}"), kTooManySteps);
  EXPECT_EQ(exhausted(doubling + "{{ ns.a < ns.b }}"), kTooManySteps);
  EXPECT_THAT(exhausted(doubling + "{{ ns.a|tojson }}"), ::testing::HasSubstr("steps"));
  EXPECT_EQ(exhausted("{% set ns = namespace(a=(1,)) %}{% for i in range(90) %}"
                      "{% set ns.a = (ns.a, ns.a) %}{% endfor %}{{ {ns.a: 1} }}"),
            kTooManySteps);
}

TEST(ChatTemplateLimits, output_is_bounded) {
  TemplateLimits limits;
  limits.output_bytes_max = 1000;
  EXPECT_EQ(rendered("{{ 'x' * 1000 }}", OrderedJson::object(), limits).size(), 1000u);
  EXPECT_EQ(exhausted("{{ 'x' * 1000 }}y", OrderedJson::object(), limits),
            "line 1: the output is larger than 1000 bytes");
  EXPECT_EQ(exhausted("{% set a %}{{ 'x' * 1001 }}{% endset %}", OrderedJson::object(), limits),
            "line 1: the output is larger than 1000 bytes");
}

TEST(ChatTemplateLimits, source_is_bounded) {
  TemplateLimits limits;
  limits.source_bytes_max = 10;
  EXPECT_EQ(rendered("0123456789", OrderedJson::object(), limits), "0123456789");
  EXPECT_EQ(rendered("0123456789\n", OrderedJson::object(), limits),
            "error: invalid_argument: chat_template: the template is larger than 10 bytes");
}

TEST(ChatTemplateLimits, deep_sources_are_refused) {
  const int many = 20'000;
  for (const std::string& source :
       {"{{ " + repeat("(", many) + "1" + repeat(")", many) + " }}",
        "{{ " + repeat("[", many) + repeat("]", many) + " }}",
        "{{ " + repeat("{1:", many) + "1" + repeat("}", many) + " }}",
        "{{ x" + repeat("[x", many) + repeat("]", many) + " }}",
        "{{ " + repeat("f(", many) + repeat(")", many) + " }}",
        "{{ " + repeat("not ", many) + "1 }}", "{{ " + repeat("- ", many) + "1 }}",
        "{{ " + repeat("1 if 1 else ", many) + "1 }}", "{{ " + repeat("1 if ", many) + "1 }}",
        repeat("{% if 1 %}", many), repeat("{% for x in y %}", 10'000),
        repeat("{% macro m() %}", many / 2), repeat("{% set x %}", many),
        repeat("{% filter upper %}", many / 2), repeat("{% with %}", many),
        "{% set " + repeat("(", many) + "a" + repeat(")", many) + " = 1 %}"}) {
    const auto chat_template = ChatTemplate::parse(source);
    ASSERT_FALSE(chat_template.ok()) << source.substr(0, 40);
    EXPECT_EQ(chat_template.error().message, "line 1: nested deeper than 100 levels");
  }
}

TEST(ChatTemplateLimits, long_chains_are_not_deep) {
  EXPECT_EQ(rendered("{{ " + repeat("1 + ", 50'000) + "1 }}"), "50001");
  EXPECT_EQ(rendered("{{ " + repeat("'' ~ ", 40'000) + "1 }}"), "1");
  EXPECT_EQ(rendered("{{ " + repeat("1 and ", 40'000) + "2 }}"), "2");
  EXPECT_EQ(rendered("{{ " + repeat("1 == ", 40'000) + "1 }}"), "True");
  EXPECT_EQ(rendered("{{ 'a'" + repeat("|upper", 40'000) + " }}"), "A");
  EXPECT_EQ(rendered("{{ 'a'" + repeat("[0]", 40'000) + " }}"), "a");
  EXPECT_EQ(rendered("{% if 0 %}" + repeat("{% elif 0 %}", 20'000) + "{% else %}z{% endif %}"),
            "z");
  EXPECT_EQ(rendered("{{ " + repeat("(1 + ", 95) + "1" + repeat(")", 95) + " }}"), "96");
}

TEST(ChatTemplateLimits, macros_that_call_themselves_stop) {
  EXPECT_EQ(exhausted("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
            "line 1: more than 100 calls of macros in each other");
  EXPECT_EQ(exhausted("{% macro m() %}{{ " + repeat("(1 + ", 40) + "m()" + repeat(")", 40) +
                      " }}{% endmacro %}{{ m() }}"),
            "line 1: nested deeper than 1000 levels of evaluation");
  EXPECT_EQ(exhausted("{% macro m() %}" + repeat("{% if 1 %}", 80) + "{{ m() }}" +
                      repeat("{% endif %}", 80) + "{% endmacro %}{{ m() }}"),
            "line 1: nested deeper than 1000 levels of evaluation");
  EXPECT_EQ(
      rendered("{% macro m(n) %}{% if n %}{{ m(n - 1) }}{% else %}end{% endif %}{% endmacro %}"
               "{{ m(90) }}"),
      "end");
}

TEST(ChatTemplateLimits, filters_that_apply_filters_stop) {
  EXPECT_THAT(exhausted("{{ ['a']|map(" + repeat("'map', ", 30'000) + "'upper')|list }}"),
              ::testing::StartsWith("line 1: filter 'map': "));
}

TEST(ChatTemplateLimits, values_are_not_deep) {
  const std::string too_deep = "line 1: a value is nested deeper than 100 levels";
  EXPECT_EQ(exhausted("{% set ns = namespace(a=[]) %}{% for i in range(9999) %}"
                      "{% set ns.a = [ns.a] %}{% endfor %}"),
            too_deep);
  EXPECT_EQ(exhausted("{% set ns = namespace(a=1) %}{% for i in range(9999) %}"
                      "{% set ns.a = {1: ns.a} %}{% endfor %}"),
            too_deep);
  EXPECT_EQ(exhausted("{% set ns = namespace(a=1) %}{% for i in range(9999) %}"
                      "{% set ns.a = dict(a=ns.a).values() %}{% endfor %}"),
            too_deep);
  EXPECT_THAT(exhausted("{% set ns = namespace(a=1) %}{% for i in range(9999) %}"
                        "{% set ns.a = [ns.a]|select %}{% endfor %}"),
              ::testing::HasSubstr("a value is nested deeper than 100 levels"));
  EXPECT_EQ(exhausted("{% set ns = namespace(a=1) %}{% for i in range(9999) %}"
                      "{% for j in [ns.a] %}{% set ns.a = loop %}{% endfor %}{% endfor %}"),
            too_deep);
  OrderedJson deep = 1;
  for (int i = 0; i < 5000; ++i) {
    OrderedJson outer = OrderedJson::array();
    outer.push_back(std::move(deep));
    deep = std::move(outer);
  }
  OrderedJson variables;
  variables["x"] = std::move(deep);
  EXPECT_EQ(exhausted("{{ x }}", variables), "a variable is nested deeper than 100 levels");
}

// Chains of objects that change: taking them apart must not recurse, and circles must not leak.
TEST(ChatTemplateLimits, long_chains_of_objects_are_taken_apart) {
  EXPECT_EQ(rendered("{% set ns = namespace(a=1) %}{% for i in range(50000) %}"
                     "{% set ns.a = namespace(p=ns.a) %}{% endfor %}"),
            "");
  EXPECT_EQ(rendered("{% set ns = namespace(x=1) %}{% for i in range(50000) %}{% set y = ns.x %}"
                     "{% macro m() %}{{ y }}{% endmacro %}{% set ns.x = m %}{% endfor %}"),
            "");
  EXPECT_EQ(
      rendered("{% set ns = namespace(x=1) %}{% for i in range(50000) %}{% for j in [1] %}"
               "{% set z = loop.changed(ns.x) %}{% set ns.x = loop %}{% endfor %}{% endfor %}"),
      "");
  EXPECT_EQ(rendered("{% set ns = namespace() %}{% set ns.self_ = [ns] %}{{ ns.self_ == ns.self_ }}"
                     "{% for i in [1] %}{{ loop.changed(loop) }}{% endfor %}"),
            "TrueTrue");
  EXPECT_EQ(rendered("{% set ns = namespace() %}{% for i in [1] %}{% set ns.l = loop %}{% endfor %}"
                     "{{ ns.l.changed(1) }}"),
            "error: invalid_argument: chat_template: line 1: loop.changed() is called after the "
            "end of the loop");
}

}  // namespace
}  // namespace cascade::testing
