// Random templates for the tests of the template engine.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace cascade::testing {

// Writes random templates that parse, over the variables that it is given. Many of them print
// something; the others end in run-time errors.
class RandomTemplate {
 public:
  struct Words {
    std::vector<std::string_view> variables;
    std::vector<std::string_view> literals;  // the only text that the template itself has
  };
  RandomTemplate(Random& random, Words words) : random_(random), words_(std::move(words)) {}

  std::string statements(int depth) {
    std::string text;
    for (uint64_t i = 0; i <= random_.below(3); ++i) text += statement(depth);
    return text;
  }

 private:
  std::string pick(std::initializer_list<std::string_view> choices) {
    return std::string(*(choices.begin() + random_.below(choices.size())));
  }
  std::string variable() {
    return std::string(words_.variables[random_.below(words_.variables.size())]);
  }
  std::string literal() {
    return "'" + std::string(words_.literals[random_.below(words_.literals.size())]) + "'";
  }

  std::string statement(int depth) {
    const std::string inner = depth > 0 ? statements(depth - 1) : "{{ " + expression(2) + " }}";
    switch (random_.below(12)) {
      case 0:
        return "{% if " + expression(1) + " %}" + inner + "{% else %}" + inner + "{% endif %}";
      case 1:
        return "{% for " + pick({"x", "y", "x, y"}) + " in " + expression(1) + " %}" + inner +
               "{% endfor %}";
      case 2:
        return "{% set " + pick({"x", "y"}) + " = " + expression(2) + " %}";
      case 3:
        return "{% set x %}" + inner + "{% endset %}";
      case 4:
        return "{% macro m(a, b=" + expression(1) + ") %}" + inner + "{{ a }}{{ b }}" +
               "{% endmacro %}{{ m(" + expression(2) + ") }}";
      case 5:
        return "{% filter " + filter() + " %}" + inner + "{% endfilter %}";
      case 6:
        return "{% set ns = namespace(v=" + expression(1) + ") %}{% set ns.v = [ns.v, " +
               expression(1) + "] %}{{ ns.v }}";
      default:
        return "{{ " + expression(3) + " }}";
    }
  }

  std::string expression(int depth) {
    if (depth <= 0) return random_.below(3) == 0 ? literal() : variable();
    const std::string a = expression(depth - 1);
    const std::string b = expression(depth - 1);
    switch (random_.below(14)) {
      case 0:
        return a + pick({" ~ ", " + ", " % ", " * ", " or ", " and ", " == ", " in "}) + b;
      case 1:
        return "(" + a + " ~ " + b + ")";
      case 2:
        return "[" + a + ", " + b + "]";
      case 3:
        return "{" + literal() + ": " + a + ", " + variable() + ": " + b + "}";
      case 4:
        return "(" + a + " if " + b + " else " + literal() + ")";
      case 5:
        return "(" + a + ")" + pick({"[0]", "[-1]", "[1:]", "[::-1]", "[:2]", ".a"});
      case 6:
        return "'" + pick({"%s", "%r%s", "%s%%"}) + "' % (" + a + ", " + b + ")";
      case 7:
        return "'" + pick({"{}", "{1}{0}", "{!r}{:>9}"}) + "'.format(" + a + ", " + b + ")";
      case 8:
        return "(" + a + ")." + method();
      case 9:
        return a + "|" + pick({"join(", "default(", "replace(", "indent("}) + literal() +
               pick({")", ", " + literal() + ")"});
      default:
        return "(" + a + ")|" + filter() + pick({"", "", "|" + filter()});
    }
  }

  std::string filter() {
    return pick({"upper",
                 "lower",
                 "title",
                 "capitalize",
                 "trim",
                 "string",
                 "list",
                 "list|join",
                 "tojson",
                 "tojson(indent=1)",
                 "tojson(ensure_ascii=true)",
                 "e",
                 "safe",
                 "first",
                 "last",
                 "reverse",
                 "sort",
                 "unique|list",
                 "map('upper')|list",
                 "map('tojson')|join",
                 "select|list",
                 "length",
                 "int",
                 "float",
                 "abs",
                 "round(1)",
                 "sum",
                 "min",
                 "max",
                 "dictsort",
                 "items|list",
                 "indent(2, true)",
                 "center(9)",
                 "batch(2)|list",
                 "d",
                 "map(attribute='a')|list",
                 "join",
                 "format(1)"});
  }

  std::string method() {
    switch (random_.below(8)) {
      case 0:
        return "split(" + literal() + ")";
      case 1:
        return "replace(" + literal() + ", " + variable() + ")";
      case 2:
        return "replace(" + variable() + ", " + literal() + ")";
      case 3:
        return "join([" + variable() + ", " + literal() + "])";
      default:
        return pick({"upper()", "lower()", "title()", "capitalize()", "strip()", "splitlines()",
                     "items()", "keys()", "values()", "get('a')", "center(9, '.')", "zfill(5)",
                     "rsplit()", "partition('a')", "format(1)", "copy()"});
    }
  }

  Random& random_;
  const Words words_;
};

}  // namespace cascade::testing
