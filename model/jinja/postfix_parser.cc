// The part of the expression parser that reads what follows an operand: attributes, subscripts,
// calls, filters and tests.
#include <algorithm>
#include <array>

#include "model/jinja/expression_parser.h"
#include "model/jinja/filters.h"
#include "model/jinja/methods.h"
#include "model/jinja/tests.h"

namespace cascade::jinja {

Result<ExpressionPtr> ExpressionParser::parse_steps(ExpressionPtr subject, bool with_filters) {
  const int subject_line = subject->line;
  Postfix postfix;
  postfix.subject = std::move(subject);
  while (at_operation(with_filters)) {
    if (tokens_.current().is_operator("(")) RETURN_IF_ERROR(check_callable(postfix));
    const int line = tokens_.line();
    ASSIGN_OR_RETURN(Postfix::Operation operation, parse_operation());
    postfix.steps.push_back({line, std::move(operation)});
  }
  if (postfix.steps.empty()) return std::move(postfix.subject);
  return std::make_unique<Expression>(Expression{subject_line, std::move(postfix)});
}

bool ExpressionParser::at_operation(bool with_filters) const {
  const Token& token = tokens_.current();
  return token.is_operator(".") || token.is_operator("[") || token.is_operator("(") ||
         (with_filters && (token.is_operator("|") || token.is_name("is")));
}

// Precondition: at_operation().
Result<Postfix::Operation> ExpressionParser::parse_operation() {
  const Token& token = tokens_.next();
  if (token.is_operator(".")) return parse_attribute();
  if (token.is_operator("[")) return parse_subscript();
  if (token.is_operator("|")) {
    ASSIGN_OR_RETURN(FilterUse use, parse_filter());
    return Postfix::Operation(std::move(use));
  }
  if (token.is_name("is")) return parse_test();
  ASSIGN_OR_RETURN(CallArguments arguments, parse_arguments());
  return Postfix::Operation(Call{std::move(arguments)});
}

// Reads what follows ".": a name, or an index ("a.0").
Result<Postfix::Operation> ExpressionParser::parse_attribute() {
  const int line = tokens_.line();
  if (tokens_.current().kind == TokenKind::kInteger) {
    Constant index{Value(tokens_.next().integer)};
    auto key = std::make_unique<Expression>(Expression{line, std::move(index)});
    return Postfix::Operation(ItemAccess{std::move(key)});
  }
  ASSIGN_OR_RETURN(std::string name, tokens_.expect_name());
  return Postfix::Operation(AttributeAccess{std::move(name)});
}

// Reads what follows "[": a key, several keys (a tuple), or a slice.
Result<Postfix::Operation> ExpressionParser::parse_subscript() {
  const auto at = [&](std::string_view op) { return tokens_.current().is_operator(op); };
  ExpressionPtr parts[3];
  bool is_slice = false;
  if (!at(":")) {
    ASSIGN_OR_RETURN(parts[0], parse_expression());
  }
  for (int i = 1; i < 3 && tokens_.skip_operator(":"); ++i) {
    is_slice = true;
    if (!at(":") && !at("]")) {
      ASSIGN_OR_RETURN(parts[i], parse_expression());
    }
  }
  if (at(",")) return tokens_.fail("several keys in one subscript are not supported");
  RETURN_IF_ERROR(tokens_.expect_operator("]"));
  if (!is_slice) return Postfix::Operation(ItemAccess{std::move(parts[0])});
  return Postfix::Operation(
      SliceAccess{std::move(parts[0]), std::move(parts[1]), std::move(parts[2])});
}

// Reads what follows "|".
Result<FilterUse> ExpressionParser::parse_filter() {
  const Error unsupported =
      tokens_.fail("the filter " + in_quotes(tokens_.current().text) + " is not supported");
  ASSIGN_OR_RETURN(const std::string name, tokens_.expect_name());
  FilterUse use;
  use.filter = find_filter(name);
  if (use.filter == nullptr) return unsupported;
  if (tokens_.skip_operator("(")) {
    ASSIGN_OR_RETURN(use.arguments, parse_arguments());
  }
  return use;
}

Result<std::vector<FilterUse>> ExpressionParser::parse_filter_chain() {
  std::vector<FilterUse> filters;
  do {
    ASSIGN_OR_RETURN(FilterUse use, parse_filter());
    filters.push_back(std::move(use));
  } while (tokens_.skip_operator("|"));
  return filters;
}

// Reads what follows "is". A single argument needs no parentheses: "x is divisibleby 3".
Result<Postfix::Operation> ExpressionParser::parse_test() {
  TestUse use;
  use.is_negated = tokens_.skip_name("not");
  const Error unsupported =
      tokens_.fail("the test " + in_quotes(tokens_.current().text) + " is not supported");
  ASSIGN_OR_RETURN(const std::string name, tokens_.expect_name());
  use.test = find_test(name);
  if (use.test == nullptr) return unsupported;
  const Token& token = tokens_.current();
  if (tokens_.skip_operator("(")) {
    ASSIGN_OR_RETURN(use.arguments, parse_arguments());
    return Postfix::Operation(std::move(use));
  }
  static constexpr std::array<std::string_view, 3> kNoArgument = {"else", "or", "and"};
  const bool is_operand = token.kind == TokenKind::kString || token.kind == TokenKind::kInteger ||
                          token.kind == TokenKind::kFloat || token.is_operator("[") ||
                          token.is_operator("{");
  const bool is_variable = token.kind == TokenKind::kName &&
                           std::ranges::find(kNoArgument, token.text) == kNoArgument.end();
  if (!is_operand && !is_variable) return Postfix::Operation(std::move(use));
  ASSIGN_OR_RETURN(ExpressionPtr operand, parse_primary());
  ASSIGN_OR_RETURN(operand, parse_steps(std::move(operand), /*with_filters=*/false));
  use.arguments.push_back({CallArgument::Kind::kPositional, "", std::move(operand)});
  return Postfix::Operation(std::move(use));
}

// Reads what follows "(".
Result<CallArguments> ExpressionParser::parse_arguments() {
  CallArguments arguments;
  std::set<std::string> names;
  while (!tokens_.skip_operator(")")) {
    if (!arguments.empty()) RETURN_IF_ERROR(tokens_.expect_operator(","));
    if (tokens_.skip_operator(")")) break;
    ASSIGN_OR_RETURN(CallArgument argument, parse_argument());
    if (argument.kind == CallArgument::Kind::kNamed && !names.insert(argument.name).second) {
      return tokens_.fail("the argument " + in_quotes(argument.name) + " is given twice");
    }
    if (argument.kind == CallArgument::Kind::kPositional && !names.empty()) {
      return tokens_.fail("an argument without a name follows one with a name");
    }
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

Result<CallArgument> ExpressionParser::parse_argument() {
  CallArgument argument;
  if (tokens_.skip_operator("*")) {
    argument.kind = CallArgument::Kind::kUnpackedList;
  } else if (tokens_.skip_operator("**")) {
    argument.kind = CallArgument::Kind::kUnpackedDict;
  } else if (tokens_.current().kind == TokenKind::kName && tokens_.ahead().is_operator("=")) {
    argument.kind = CallArgument::Kind::kNamed;
    argument.name = tokens_.next().text;
    tokens_.next();
  }
  ASSIGN_OR_RETURN(argument.value, parse_expression());
  return argument;
}

// Refuses calls of functions and methods that are known not to exist here, so that templates fail
// when they are loaded.
Status ExpressionParser::check_callable(const Postfix& postfix) const {
  static constexpr std::array<std::string_view, 3> kUnsupported = {"cycler", "joiner", "lipsum"};
  if (postfix.steps.empty()) {
    const auto* name = std::get_if<Name>(&postfix.subject->node);
    if (name == nullptr) return {};
    const std::string& text = symbols_.name_of(name->symbol);
    if (text == "loop") return tokens_.fail("recursive loops are not supported");
    if (std::ranges::find(kUnsupported, text) == kUnsupported.end()) return {};
    return tokens_.fail("the function " + in_quotes(text) + " is not supported");
  }
  const auto* attribute = std::get_if<AttributeAccess>(&postfix.steps.back().operation);
  if (attribute == nullptr || is_method_name(attribute->name)) return {};
  return tokens_.fail("the method " + in_quotes(attribute->name) + " is not supported");
}

}  // namespace cascade::jinja
