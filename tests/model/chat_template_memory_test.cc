// Memory: whatever a template makes, it stays under 16 bytes for each of its steps.
#include <gtest/gtest.h>

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/jinja/filters.h"
#include "model/jinja/functions.h"
#include "model/jinja/methods.h"
#include "tests/model/chat_template_testing.h"
#include "tests/model/counted_memory.h"

namespace cascade::testing {
namespace {

constexpr uint64_t kPromisedBytesPerStep = 16;

// Texts from which operations make large results: marks that change with each character, characters
// with long escapes or with an upper case of three characters, many lines and many numbers.
const std::vector<std::string>& subjects() {
  static const std::vector<std::string> subjects = {"\"a'\" * 1500", "(\"a'\" * 600)|e|string",
                                                    "'\u0390' * 1000", "'1 \\n' * 1000"};
  return subjects;
}

// Expressions over the text `q`, the list `l`, the dict `d` and the markup `m`, keyed by the name
// of the filter, method or function that they test.
using Uses = std::map<std::string, std::vector<std::string>, std::less<>>;

size_t peak_of(const std::string& source, const TemplateLimits& limits) {
  auto chat_template = ChatTemplate::parse(source, limits);
  EXPECT_TRUE(chat_template.ok()) << source << "\n" << chat_template.error().to_string();
  if (!chat_template.ok()) return 0;
  const OrderedJson variables = OrderedJson::object();
  const CountedMemory memory;
  const auto text = chat_template->render(variables, kReferenceNow);
  EXPECT_TRUE(text.ok() || text.error().code == ErrorCode::kResourceExhausted)
      << source << "\n"
      << text.error().to_string();
  return memory.peak_bytes();
}

// Renders two templates: one makes `expression` and keeps it, again and again, and one only prints
// (the length of `expression`, and `q`).
void expect_bounded(const std::string& expression) {
  TemplateLimits limits;
  limits.steps_max = 60'000;
  for (const std::string& subject : subjects()) {
    const std::string given =
        "{% set ns = namespace(kept=[]) %}{% set q = " + subject +
        " %}{% set m = q|safe %}{% set l = q.split('a')[:100] %}{% set d = {'a': q, 'b': l} %}";
    EXPECT_EQ(rendered(given, OrderedJson::object(), limits), "");
    EXPECT_EQ(rendered(given + "{% for i in [1] %}{{ [" + expression + "]|length }}{% endfor %}"),
              "1");
    for (const std::string& use : {"{% set ns.kept = ns.kept + [" + expression + "] %}",
                                   "{{ [" + expression + "]|length }}{{ q }}"}) {
      const std::string source = given + "{% for i in range(20000) %}" + use + "{% endfor %}";
      EXPECT_LT(peak_of(source, limits), kPromisedBytesPerStep * limits.steps_max)
          << expression << " of " << subject;
    }
  }
}

// Each of `named` must have a line in `uses` and keep to the bound.
template <class Named>
void expect_all_bounded(std::span<const Named> named, const Uses& uses) {
  EXPECT_EQ(named.size(), uses.size());
  for (const Named& one : named) {
    const auto found = uses.find(one.name);
    ASSERT_NE(found, uses.end()) << "no use of " << one.name << " is tested for its memory";
    for (const std::string& expression : found->second) expect_bounded(expression);
  }
}

TEST(ChatTemplateMemory, of_text_filters_is_bounded) {
  expect_all_bounded(
      jinja::text_filters(),
      {{"capitalize", {"q|capitalize"}},
       {"center", {"q|center(9000)"}},
       {"e", {"q|e"}},
       {"escape", {"(\"'\" * 1000)|escape"}},
       {"format", {"'%s%r'|format(q, l)", "m|format"}},
       {"indent", {"q|indent(20, true)"}},
       {"lower", {"q|lower"}},
       {"replace", {"q|replace('a', \"a'\"|e)", "q|replace('', '1')"}},
       {"safe", {"q|safe"}},
       {"string", {"q|string", "l|string", "d|string"}},
       {"title", {"q|title"}},
       {"from_json", {"(l|tojson)|from_json", "('[' ~ '1,' * 2000 ~ '1]')|from_json"}},
       {"tojson", {"q|tojson(ensure_ascii=true)", "d|tojson(indent=9)"}},
       {"trim", {"q|trim", "q|trim('a')"}},
       {"upper", {"q|upper"}}});
}

TEST(ChatTemplateMemory, of_number_filters_is_bounded) {
  expect_all_bounded(jinja::number_filters(), {{"abs", {"-1|abs"}},
                                               {"float", {"q|float", "('1' * 3000)|float"}},
                                               {"int", {"q|int", "('0' * 3000)|int"}},
                                               {"round", {"1.5|round(300)"}}});
}

TEST(ChatTemplateMemory, of_sequence_filters_is_bounded) {
  expect_all_bounded(jinja::sequence_filters(),
                     {{"batch", {"l|batch(2, 1)|list", "l|batch(3000, 1)|list"}},
                      {"count", {"q|count"}},
                      {"d", {"none|d(q)"}},
                      {"default", {"x|default([q])"}},
                      {"dictsort", {"{q: 1, 'b': 2}|dictsort"}},
                      {"first", {"q|first"}},
                      {"items", {"d|items"}},
                      {"join", {"l|join(q[:50])", "q|join('')"}},
                      {"last", {"q|last"}},
                      {"length", {"q|length"}},
                      {"list", {"q|list", "l|list", "d|list", "range(3000)|list"}},
                      {"max", {"q|max", "l|max"}},
                      {"min", {"q|min", "l|min"}},
                      {"reverse", {"q|reverse", "l|reverse|list"}},
                      {"sort", {"q|sort", "l|sort", "[[q], [q]]|sort(attribute='0,0')"}},
                      {"sum", {"[l, l]|sum(start=[])"}},
                      {"unique", {"q|unique|list", "l|unique|list"}}});
}

TEST(ChatTemplateMemory, of_selection_filters_is_bounded) {
  expect_all_bounded(jinja::selection_filters(),
                     {{"map", {"l|map('upper')|list", "[d, d]|map(attribute='a')|list"}},
                      {"reject", {"q|reject|list", "l|reject('in', q)|list"}},
                      {"rejectattr", {"[d, d]|rejectattr('x')|list"}},
                      {"select", {"q|select|list", "l|select('in', q)|list"}},
                      {"selectattr", {"[d, d]|selectattr('a')|list"}}});
}

TEST(ChatTemplateMemory, of_text_methods_is_bounded) {
  expect_all_bounded(jinja::text_methods(),
                     {{"capitalize", {"q.capitalize()"}},
                      {"center", {"q.center(9000)", "q.center(9000, '\u0390')"}},
                      {"format", {"'{}{!r}'.format(q, q)", "(m ~ '{}').format(q)"}},
                      {"join", {"q[:50].join(l)", "m[:50].join(l)"}},
                      {"ljust", {"q.ljust(9000)", "q.ljust(9000, '\u0390')"}},
                      {"lower", {"q.lower()"}},
                      {"lstrip", {"q.lstrip('a')"}},
                      {"partition", {"q.partition('a')"}},
                      {"removeprefix", {"q.removeprefix('a')"}},
                      {"removesuffix", {"q.removesuffix('a')"}},
                      {"replace", {"q.replace('a', '')", "m.replace('a', q[:9])"}},
                      {"rjust", {"q.rjust(9000)"}},
                      {"rpartition", {"q.rpartition('a')"}},
                      {"rsplit", {"q.rsplit('a')", "q.rsplit(none, 3)"}},
                      {"rstrip", {"q.rstrip('a')"}},
                      {"split", {"q.split('a')", "q.split()", "m.split('a')"}},
                      {"splitlines", {"q.splitlines()", "q.splitlines(true)"}},
                      {"strip", {"q.strip()"}},
                      {"title", {"q.title()"}},
                      {"upper", {"q.upper()", "m.upper()"}},
                      {"zfill", {"q.zfill(9000)"}}});
}

TEST(ChatTemplateMemory, of_search_methods_is_bounded) {
  Uses uses;
  for (const jinja::Method& method : jinja::search_methods()) {
    const std::string name(method.name);
    // A text contains itself, so none of the methods that search for one fails.
    uses[name] = {"q." + name + (name.starts_with("is") ? "()" : "(q)")};
  }
  expect_all_bounded(jinja::search_methods(), uses);
}

TEST(ChatTemplateMemory, of_methods_of_containers_is_bounded) {
  expect_all_bounded(jinja::dict_methods(), {{"copy", {"d.copy()"}},
                                             {"get", {"d.get('a')", "d.get('x', [q])"}},
                                             {"items", {"d.items()", "d.items()|list"}},
                                             {"keys", {"d.keys()"}},
                                             {"values", {"d.values()"}}});
  expect_all_bounded(
      jinja::sequence_methods(),
      {{"copy", {"l.copy()"}}, {"count", {"l.count(q)"}}, {"index", {"(l + [q]).index(q)"}}});
  expect_all_bounded(jinja::loop_methods(),
                     {{"changed", {"loop.changed(q ~ i)"}}, {"cycle", {"loop.cycle([q], [l])"}}});
}

TEST(ChatTemplateMemory, of_functions_is_bounded) {
  expect_all_bounded(jinja::functions(), {{"dict", {"dict(a=q ~ 1)", "dict(d, c=1)"}},
                                          {"namespace", {"namespace(a=q ~ 1)"}},
                                          // See of_raised_messages_is_bounded.
                                          {"raise_exception", {"[raise_exception]"}},
                                          {"range", {"range(3000)"}},
                                          {"strftime_now", {"strftime_now('%c' * 1000)"}}});
}

TEST(ChatTemplateMemory, of_raised_messages_is_bounded) {
  TemplateLimits limits;
  limits.steps_max = 60'000;
  for (const int size : {10'000, 100'000, 400'000}) {
    const std::string text = "'x' * " + std::to_string(size);
    auto chat_template = ChatTemplate::parse("{{ raise_exception(" + text + ") }}", limits);
    ASSERT_TRUE(chat_template.ok());
    const OrderedJson variables = OrderedJson::object();
    const CountedMemory memory;
    EXPECT_FALSE(chat_template->render(variables, kReferenceNow).ok());
    EXPECT_LT(memory.peak_bytes(), kPromisedBytesPerStep * limits.steps_max) << size;
  }
}

TEST(ChatTemplateMemory, of_operators_is_bounded) {
  for (const char* expression : {"q + q",
                                 "q ~ i ~ q",
                                 "m + q",
                                 "q * 3",
                                 "l + l",
                                 "(l * 3)",
                                 "'%s%r' % (q, q)",
                                 "'%9000s' % 1",
                                 "'%-9000d' % i",
                                 "'{:>9000}'.format(i)",
                                 "'%.300f' % 1.5",
                                 "q[::-1]",
                                 "q[1:]",
                                 "q[7]",
                                 "l[::-1]",
                                 "l[1:]",
                                 "[q, [i, [q]]]",
                                 "(i, i)",
                                 "{i: q, 'a': [i]}",
                                 "d['a']",
                                 "q.upper",
                                 "x",
                                 "x is defined",
                                 "d.x",
                                 "q == q ~ ''",
                                 "q < q ~ ''",
                                 "q in [q ~ 1]",
                                 "i in range(20000)",
                                 "q is lower",
                                 "q is upper",
                                 "1.5 * i",
                                 "i ** 2",
                                 "not q",
                                 "q and l",
                                 "q if i else l",
                                 "dict(**d)"}) {
    expect_bounded(expression);
  }
}

TEST(ChatTemplateMemory, of_statements_is_bounded) {
  TemplateLimits limits;
  limits.steps_max = 60'000;
  for (const char* body :
       {"{% set x %}{{ q }}{% endset %}{% set ns.kept = ns.kept + [x] %}",
        "{% set x | upper | e %}{{ q }}{% endset %}{% set ns.kept = ns.kept + [x] %}",
        "{% filter upper %}{{ q }}{% endfilter %}",
        "{% macro f(a, b=q ~ 1) %}{{ a }}{{ b }}{% endmacro %}{% set ns.kept = ns.kept + [f(q)] %}",
        "{% for c in q %}{% set ns.kept = [ns.kept, loop, c]|batch(3)|list|first|list %}{% endfor "
        "%}",
        "{% for c in q if c == 'a' %}{{ loop.length }}{{ loop.nextitem }}{% endfor %}",
        "{% with a = q ~ 1, b = l + [1] %}{% set ns.kept = ns.kept + [a, b] %}{% endwith %}",
        "{% set a, b = [q ~ 1, q ~ 2] %}{% set ns.kept = [a, b] + ns.kept %}",
        "{% set s = namespace(p=ns.kept) %}{% set ns.kept = s %}",
        "{% macro g() %}{{ q }}{% endmacro %}{% set ns.kept = [g] %}", "{{ q }}{{ q ~ 1 }}",
        "{{ l }}{{ d }}", "text"}) {
    for (const std::string& subject : subjects()) {
      const std::string source = "{% set ns = namespace(kept=[]) %}{% set q = " + subject +
                                 " %}{% set l = q.split('a')[:100] %}{% set d = {'a': q} %}"
                                 "{% for i in range(20000) %}" +
                                 body + "{% endfor %}";
      EXPECT_LT(peak_of(source, limits), kPromisedBytesPerStep * limits.steps_max)
          << body << " of " << subject;
    }
  }
}

// Measures the whole way, from the variables to the resulting spans.
TEST(ChatTemplateMemory, of_variables_and_output_is_bounded) {
  TemplateLimits limits;
  limits.steps_max = 60'000;
  const std::string text(50'000, '\'');
  for (const OrderedJson& value :
       {OrderedJson(text), OrderedJson(std::vector<std::string>(5'000, "a")),
        OrderedJson(std::vector<int>(20'000, 1)), OrderedJson{{"a", {{"b", text}, {"c", text}}}}}) {
    for (const char* source :
         {"{{ v|e }}", "{{ v }}{{ v }}", "{{ v|list }}", "{% for c in v %}{{ c }}x{% endfor %}"}) {
      auto chat_template = ChatTemplate::parse(source, limits);
      ASSERT_TRUE(chat_template.ok());
      const OrderedJson variables = {{"v", value}};
      const CountedMemory memory;
      (void)chat_template->render(variables, kReferenceNow).ok();
      EXPECT_LT(memory.peak_bytes(), kPromisedBytesPerStep * limits.steps_max) << source;
    }
  }
}

// Lists of texts that are longer, or have more marks, than what they were made of.
TEST(ChatTemplateMemory, of_lists_of_long_results_is_bounded) {
  TemplateLimits limits;
  limits.steps_max = 2'000'000;
  for (const char* made : {"q|e", "p|e", "g|upper"}) {
    const std::string source =
        "{% set ns = namespace(l=[]) %}{% set q = \"a'\" * 50000 %}{% set p = \"'\" * 100000 %}"
        "{% set g = '\u0390' * 100000 %}{% for i in range(100000) %}{% set ns.l = ns.l + [" +
        std::string(made) + "] %}{% endfor %}";
    EXPECT_LT(peak_of(source, limits), kPromisedBytesPerStep * limits.steps_max) << made;
  }
}

}  // namespace
}  // namespace cascade::testing
