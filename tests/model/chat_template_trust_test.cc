// Trust marks: literals and the model's tokens are trusted; what a client wrote never becomes so.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/model/chat_template_testing.h"

namespace cascade::testing {
namespace {

const OrderedJson& variables() {
  static const OrderedJson json = {{"bos_token", "<s>"},
                                   {"c", "client"},
                                   {"n", 12},
                                   {"f", 1.5},
                                   {"t", true},
                                   {"d", {{"key", "value"}, {"other", {1, "x"}}}},
                                   {"l", {"p", "q"}},
                                   {"nested_token", {{"content", "deep"}}},
                                   {"messages", {{{"bos_token", "inner"}, {"role", "user"}}}}};
  return json;
}

// The text with the trusted parts in « ».
std::string marked(std::string_view source) {
  const auto text = render(source, variables());
  if (!text.ok()) return "error: " + text.error().to_string();
  std::string shown;
  for (const TextSpan& span : *text) {
    EXPECT_FALSE(span.text.empty());
    shown += span.trusted ? "«" + span.text + "»" : span.text;
  }
  return shown;
}

void expect_marks(std::initializer_list<std::pair<const char*, const char*>> cases) {
  for (const auto& [source, expected] : cases) EXPECT_EQ(marked(source), expected) << source;
}

TEST(ChatTemplateTrust, templates_and_tokens_are_trusted_variables_are_not) {
  expect_marks({{"a{{ 'b' }}{{ c }}", "«ab»client"},
                {"{{ bos_token }}{{ c }}", "«<s>»client"},
                {"{{ messages[0].bos_token }}", "inner"},
                {"{{ messages[0].role }}", "user"},
                {"{{ nested_token.content }}", "deep"},
                {"{% raw %}{{{% endraw %}", "«{{»"},
                {"{{ d.key }}{{ d['key'] }}", "valuevalue"}});
}

TEST(ChatTemplateTrust, neighbours_join_into_one_span) {
  const auto text = render("a{{ 'b' }}{{ bos_token }}{# c #}d{{ c }}{{ c }}", variables());
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, (SpannedText{{"ab<s>d", true}, {"clientclient", false}}));
}

TEST(ChatTemplateTrust, concatenation_keeps_marks) {
  expect_marks({{"{{ '<' + c + '>' }}", "«<»client«>»"},
                {"{{ '<' ~ c ~ '>' ~ n }}", "«<»client«>»12"},
                {"{{ c * 2 }}{{ '-' * 2 }}", "clientclient«--»"},
                {"{{ ('<' + c) * 2 }}", "«<»client«<»client"},
                {"{{ ['<', c, '>']|join('|') }}", "«<|»client«|>»"},
                {"{{ ['<', '>']|join(c) }}", "«<»client«>»"},
                {"{{ '|'.join([c, bos_token]) }}", "client«|<s>»"}});
}

TEST(ChatTemplateTrust, cutting_keeps_marks) {
  expect_marks({{"{{ ('<' + c + '>')[1:3] }}", "cl"},
                {"{{ ('<' + c + '>')[::-1] }}", "«>»tneilc«<»"},
                {"{{ ('<' + c + '>')[0] }}", "«<»"},
                {"{{ ('<' + c + '>')[-2] }}", "t"},
                {"{{ ('  ' + c + ' <')|trim }}", "client« <»"},
                {"{{ ('x' + c + 'x').strip('x') }}", "client"},
                {"{{ ('<' + c + '>').split('e')[0] }}", "«<»cli"},
                {"{{ ('a.b.' + c).rsplit('.', 1)|join('/') }}", "«a.b/»client"},
                {"{{ ('a\n' + c).splitlines()|join('+') }}", "«a+»client"},
                {"{{ ('a-' + c).partition('-')|join }}", "«a-»client"},
                {"{{ c.partition('i')|join }}{{ c.rpartition('e')[1] }}", "cliente"},
                {"{{ ('<' + c)|list|last }}{{ ('<' + c)|first }}", "t«<»"},
                {"{{ ('<' + c)|reverse }}", "tneilc«<»"},
                {"{% for x in '<' + c %}{{ x }}{% endfor %}", "«<»client"},
                {"{{ ('<' + c).removeprefix('<') }}", "client"}});
}

TEST(ChatTemplateTrust, replacing_keeps_the_marks_of_both_sides) {
  expect_marks({{"{{ c.replace('i', '<') }}", "cl«<»ent"},
                {"{{ '<x>'.replace('x', c) }}", "«<»client«>»"},
                {"{{ c|replace('client', '<') }}", "«<»"},
                {"{{ c.replace('zz', '<') }}", "client"},
                {"{{ c.replace('', '.', 2) }}", "«.»c«.»lient"}});
}

TEST(ChatTemplateTrust, case_keeps_marks) {
  expect_marks({{"{{ ('<a>' + c)|upper }}", "«<A>»CLIENT"},
                {"{{ ('<A>' + c).lower() }}", "«<a>»client"},
                {"{{ (c ~ ' abc')|title }}", "Client« Abc»"},
                {"{{ (c + 'ABC')|capitalize }}", "Client«abc»"}});
}

TEST(ChatTemplateTrust, numbers_and_what_the_engine_writes_are_untrusted) {
  expect_marks({{"{{ n }}{{ 5 }}{{ 1 + 1 }}", "1252"},
                {"{{ f }}{{ t }}{{ none }}{{ true }}", "1.5TrueNoneTrue"},
                {"{{ '<'|length }}", "1"},
                {"{{ ['a', c] }}", "['«a»', 'client']"},
                {"{{ {'a': c} }}", "{'«a»': 'client'}"},
                {"{{ '\\n'|string }}{{ ['\\n'] }}", "«\n»['\\n']"},
                {"{{ range(2) }}", "range(0, 2)"},
                {"{{ '<'|e }}{{ c|e }}{{ 'a&b'|e }}", "&lt;client«a»&amp;«b»"},
                {"{{ 'a'.center(5) }}{{ '1'.zfill(3) }}", "  «a»  00«1»"},
                {"{{ 'a\nb'|indent(2) }}", "«a»\n  «b»"},
                {"{{ strftime_now('<%Y>') }}", "«<»2026«>»"},
                {"{{ strftime_now(c) }}", "client"}});
}

TEST(ChatTemplateTrust, json_keeps_the_marks_of_strings_only) {
  expect_marks({{"{{ d|tojson }}", R"({"key": "value", "other": [1, "x"]})"},
                {"{{ {'a<': c}|tojson }}", "{\"«a<»\": \"client\"}"},
                {"{{ ['a\"b']|tojson }}", "[\"«a»\\\"«b»\"]"},
                {"{{ '\u00e9'|tojson(ensure_ascii=true) }}", "\"\\u00e9\""},
                {"{{ [1]|tojson(indent=1) }}", "[\n 1\n]"}});
}

TEST(ChatTemplateTrust, keys_of_clients_are_untrusted) {
  expect_marks({{"{% for k in d %}{{ k }}{% endfor %}", "keyother"},
                {"{% for k, v in d.items() %}{{ k }}{% endfor %}", "keyother"},
                {"{{ d|list|first }}{{ d|dictsort|first|first }}", "keykey"},
                {"{% for k in {'x': 1, c: 2} %}{{ k }}{% endfor %}", "«x»client"},
                {"{% for k in dict(d) %}{{ k }}{% endfor %}", "keyother"},
                {"{% for k in dict(a=1, **d) %}{{ k }}{% endfor %}", "akeyother"},
                // When two keys are equal, the first one is kept.
                {"{% for k in {'client': 1, c: 2} %}{{ k }}{% endfor %}", "«client»"},
                {"{% for k in {c: 1, 'client': 2} %}{{ k }}{% endfor %}", "client"}});
}

TEST(ChatTemplateTrust, formatting_keeps_marks) {
  expect_marks({{"{{ '<%s|%d>' % (c, 5) }}", "«<»client«|»5«>»"},
                {"{{ c % () }}", "client"},
                {"{{ '<{}|{:>4}>'.format(c, 'x') }}", "«<»client«|»   «x>»"},
                {"{{ '%r' % 'a' }}", "'«a»'"},
                {"{{ '<%(k)s>'|format(k=c) }}", "«<»client«>»"},
                {"{{ '{{}}%%' % () }}", "«{{}}%»"}});
}

TEST(ChatTemplateTrust, blocks_and_macros_keep_marks) {
  expect_marks(
      {{"{% set x %}<{{ c }}>{% endset %}{{ x }}", "«<»client«>»"},
       {"{% set x | upper %}a{{ c }}{% endset %}{{ x }}", "«A»CLIENT"},
       {"{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(c) }}{{ m('b') }}", "«<»client«><b>»"},
       {"{% filter upper %}a{{ c }}{% endfilter %}", "«A»CLIENT"},
       {"{% generation %}<{{ c }}{% endgeneration %}", "«<»client"},
       {"{% set ns = namespace(a=c) %}{% set ns.b = '<' ~ ns.a %}{{ ns.b }}", "«<»client"},
       {"{{ c if true else '<' }}{{ missing|default(c) }}", "clientclient"},
       {"{{ ('<'|safe) + c }}{{ c|safe }}", "«<»clientclient"}});
}

TEST(ChatTemplateTrust, selecting_keeps_the_marks_of_what_is_selected) {
  expect_marks({{"{{ (l + ['<'])|sort|join }}", "«<»pq"},
                {"{{ [c, 'client']|unique|join }}", "client"},
                {"{{ ['client', c]|unique|join }}", "«client»"},
                {"{{ [c, 'client']|max }}{{ ['client', c]|max }}", "client«client»"},
                {"{{ (l + ['r'])|select('ne', 'p')|map('upper')|join }}", "Q«R»"},
                {"{{ messages|map(attribute='role')|join('|') }}", "user"},
                {"{{ messages|map(attribute='nope', default='<')|join }}", "«<»"}});
}

}  // namespace
}  // namespace cascade::testing
