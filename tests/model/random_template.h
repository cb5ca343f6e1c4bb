// Random templates for the tests of the template engine.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"

namespace cascade::testing {

// Writes random templates over given variables. Expressions have types, so most templates render;
// the other templates end with a run-time error.
class RandomTemplate {
 public:
  struct Words {
    std::vector<std::string_view> literals;  // the text that the template itself has
    std::vector<std::string_view> texts;     // variables, grouped by their type
    std::vector<std::string_view> lists;
    std::vector<std::string_view> dicts;
    std::vector<std::string_view> others;
  };
  RandomTemplate(Random& random, Words words) : random_(random), words_(std::move(words)) {}

  std::string statements(int depth) {
    std::string source;
    for (uint64_t i = 0; i <= random_.below(3); ++i) source += statement(depth);
    return source;
  }

 private:
  std::string one_of(const std::vector<std::string_view>& choices) {
    return std::string(choices[random_.below(choices.size())]);
  }
  std::string one_of(std::initializer_list<std::string_view> choices) {
    return std::string(*(choices.begin() + random_.below(choices.size())));
  }
  std::string literal() { return "'" + one_of(words_.literals) + "'"; }

  std::string statement(int depth) {
    const std::string inner = depth > 0 ? statements(depth - 1) : "{{ " + text(2) + " }}";
    switch (random_.below(12)) {
      case 0: return "{% if " + any(1) + " %}" + inner + "{% else %}" + inner + "{% endif %}";
      case 1: return "{% for x in " + list(2) + " %}{{ x }}" + inner + "{% endfor %}";
      case 2:
        return "{% for x, y in " + dict(1) + ".items() %}{{ x ~ y }}" + inner + "{% endfor %}";
      case 3: return "{% set x = " + any(2) + " %}{{ x|string|" + text_filter() + " }}";
      case 4: return "{% set x %}" + inner + "{% endset %}{{ x." + text_method() + " }}";
      case 5:
        return "{% macro m(a, b=" + any(1) + ") %}" + inner + "{{ a }}{{ b }}{% endmacro %}{{ m(" +
               any(2) + ")|" + text_filter() + " }}";
      case 6: return "{% filter " + text_filter() + " %}" + inner + "{% endfilter %}";
      case 7:
        return "{% set ns = namespace(v=" + any(1) + ") %}{% set ns.v = [ns.v, " + any(1) +
               "] %}{{ ns.v }}";
      default: return "{{ " + text(3) + " }}";
    }
  }

  std::string any(int depth) {
    switch (random_.below(6)) {
      case 0: return list(depth);
      case 1: return dict(depth);
      case 2: return one_of(words_.others);
      default: return text(depth);
    }
  }

  std::string text(int depth) {
    if (depth <= 0) return random_.below(3) == 0 ? literal() : one_of(words_.texts);
    const std::string a = text(depth - 1);
    switch (random_.below(12)) {
      case 0: return "(" + a + one_of({" ~ ", " + "}) + text(depth - 1) + ")";
      case 1: return "(" + a + ")" + one_of({"[:1]", "[-1:]", "[1:]", "[::-1]", "[:2]", "[1:5:2]"});
      case 2: return "(" + a + " if " + any(depth - 1) + " else " + literal() + ")";
      case 3:
        return "('" + one_of({"%s%s", "%r%s", "%s%%%r"}) + "' % (" + a + ", " + any(depth - 1) +
               "))";
      case 4:
        return "'" + one_of({"{}{}", "{1}{0}", "{!r}{:>9}"}) + "'.format(" + a + ", " +
               text(depth - 1) + ")";
      case 5: return list(depth - 1) + "|join(" + a + ")";
      case 6: return a + ".join(" + list(depth - 1) + "|map('string')|list)";
      case 7:
        return any(depth - 1) + "|" +
               one_of({"string", "tojson", "tojson(indent=1)", "tojson(ensure_ascii=true)",
                       "list|string"});
      case 8: return "(" + a + ")." + text_method();
      default: return "(" + a + ")|" + text_filter();
    }
  }

  std::string list(int depth) {
    if (depth <= 0) return one_of(words_.lists);
    switch (random_.below(8)) {
      case 0: return "[" + any(depth - 1) + ", " + any(depth - 1) + "]";
      case 1:
        return "(" + text(depth - 1) + ")." +
               one_of({"split(" + text(0) + " or '.')", "split()", "rsplit(none, 1)",
                       "splitlines(true)", "partition('a')", "rpartition('<')"});
      case 2: return "(" + text(depth - 1) + ")|list";
      case 3: return "(" + list(depth - 1) + "|list + " + list(depth - 1) + "|list)";
      case 4:
        return dict(depth - 1) +
               one_of({"|list", ".values()|list", ".keys()|list", "|dictsort|map('join')|list"});
      case 5:
        return "(" + list(depth - 1) + "|map('string')|" +
               one_of({"sort", "unique|list", "map('upper')|list", "sort(reverse=true)",
                       "select('ne', " + literal() + ")|list", "batch(2)|map('join')|list"}) +
               ")";
      default:
        return "(" + list(depth - 1) + "|" + one_of({"list", "reverse|list", "select|list"}) + ")";
    }
  }

  std::string dict(int depth) {
    if (depth <= 0) return one_of(words_.dicts);
    if (random_.below(2) == 0) return "dict(" + dict(depth - 1) + ", a=" + any(depth - 1) + ")";
    return "{" + text(depth - 1) + ": " + any(depth - 1) + ", " + text(0) + ": " + text(depth - 1) +
           "}";
  }

  std::string text_filter() {
    return one_of({"upper", "lower", "title", "capitalize", "trim", "trim('<a')", "string", "e",
                   "safe", "reverse", "indent(2, true)", "center(9)", "default('q')",
                   "replace(" + literal() + ", " + one_of(words_.texts) + ")",
                   "replace('a', " + literal() + ")", "upper|lower|title", "e|upper"});
  }

  std::string text_method() {
    return one_of({"upper()", "lower()", "title()", "capitalize()", "strip()", "lstrip('a<')",
                   "center(9, '.')", "zfill(5)", "ljust(5)", "replace('', " + literal() + ")",
                   "replace(" + one_of(words_.texts) + ", " + literal() + ")",
                   "replace(" + literal() + ", " + one_of(words_.texts) + ", 1)",
                   "removeprefix('a')", "removesuffix('>')"});
  }

  Random& random_;
  const Words words_;
};

}  // namespace cascade::testing
