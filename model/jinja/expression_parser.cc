// Recursive descent over the ranks of operators.
#include "model/jinja/expression_parser.h"

#include <algorithm>
#include <array>
#include <optional>

namespace cascade::jinja {
namespace {

// Words that cannot be the name of a variable.
constexpr std::array<std::string_view, 13> kReserved = {
    "and",  "or",   "not",   "in",   "is",        "if",  "else",
    "elif", "true", "false", "none", "recursive", "self"};
// The names that Jinja defines inside a macro.
constexpr std::array<std::string_view, 3> kMacroNames = {"varargs", "kwargs", "caller"};

template <size_t kSize>
bool is_in(const std::array<std::string_view, kSize>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

template <class Node>
ExpressionPtr make_expression(int line, Node node) {
  return std::make_unique<Expression>(Expression{line, std::move(node)});
}

std::optional<Value> constant_named(std::string_view name) {
  if (name == "true" || name == "True") return Value(true);
  if (name == "false" || name == "False") return Value(false);
  if (name == "none" || name == "None") return Value(None());
  return std::nullopt;
}

}  // namespace

bool is_reserved_name(std::string_view name) {
  return is_in(kReserved, name) || constant_named(name).has_value();
}

int SymbolTable::symbol_of(std::string_view name) {
  const auto found = symbols_.find(name);
  if (found != symbols_.end()) return found->second;
  const int symbol = static_cast<int>(names_.size());
  names_.emplace_back(name);
  symbols_.emplace(name, symbol);
  return symbol;
}

Error ExpressionParser::too_deep() const {
  return at_line(template_error("nested deeper than " + std::to_string(depth_max_) + " levels"),
                 tokens_.line());
}

Result<ExpressionPtr> ExpressionParser::parse_expression(bool with_conditional) {
  const Nesting nesting = nest();
  if (!nesting.ok()) return too_deep();
  return with_conditional ? parse_conditional() : parse_or();
}

Result<ExpressionPtr> ExpressionParser::parse_tuple(bool with_conditional, bool may_be_empty) {
  const int line = tokens_.line();
  SequenceDisplay display{true, {}};
  bool has_comma = false;
  while (!at_tuple_end()) {
    ASSIGN_OR_RETURN(ExpressionPtr item, parse_expression(with_conditional));
    display.items.push_back(std::move(item));
    if (!tokens_.skip_operator(",")) break;
    has_comma = true;
  }
  if (!has_comma && display.items.size() == 1) return std::move(display.items[0]);
  if (display.items.empty() && !may_be_empty) return tokens_.unexpected("an expression");
  return make_expression(line, std::move(display));
}

Result<ExpressionPtr> ExpressionParser::parse_conditional() {
  ASSIGN_OR_RETURN(ExpressionPtr expression, parse_or());
  return parse_condition_behind(std::move(expression));
}

// Reads the "if" and "else" that follow `chosen`. Without "else", another "if" may follow.
Result<ExpressionPtr> ExpressionParser::parse_condition_behind(ExpressionPtr chosen) {
  if (!tokens_.skip_name("if")) return chosen;
  const Nesting nesting = nest();
  if (!nesting.ok()) return too_deep();
  const int line = chosen->line;
  Conditional conditional{nullptr, std::move(chosen), nullptr};
  ASSIGN_OR_RETURN(conditional.condition, parse_or());
  if (tokens_.skip_name("else")) {
    ASSIGN_OR_RETURN(conditional.otherwise, parse_expression());
  }
  return parse_condition_behind(make_expression(line, std::move(conditional)));
}

Result<ExpressionPtr> ExpressionParser::parse_logic(Rank operand, std::string_view word,
                                                    bool is_and) {
  const int line = tokens_.line();
  ASSIGN_OR_RETURN(ExpressionPtr first, (this->*operand)());
  if (!tokens_.current().is_name(word)) return first;
  Logic logic{is_and, {}};
  logic.operands.push_back(std::move(first));
  while (tokens_.skip_name(word)) {
    ASSIGN_OR_RETURN(ExpressionPtr next, (this->*operand)());
    logic.operands.push_back(std::move(next));
  }
  return make_expression(line, std::move(logic));
}

Result<ExpressionPtr> ExpressionParser::parse_or() {
  return parse_logic(&ExpressionParser::parse_and, "or", false);
}

Result<ExpressionPtr> ExpressionParser::parse_and() {
  return parse_logic(&ExpressionParser::parse_not, "and", true);
}

Result<ExpressionPtr> ExpressionParser::parse_not() {
  const int line = tokens_.line();
  if (!tokens_.skip_name("not")) return parse_comparison();
  const Nesting nesting = nest();
  if (!nesting.ok()) return too_deep();
  ASSIGN_OR_RETURN(ExpressionPtr operand, parse_not());
  return make_expression(line, Unary{UnaryOp::kNot, std::move(operand)});
}

std::optional<CompareOp> ExpressionParser::skip_compare_operator() {
  static constexpr std::pair<std::string_view, CompareOp> kOperators[] = {
      {"==", CompareOp::kEqual},  {"!=", CompareOp::kNotEqual},
      {"<", CompareOp::kLess},    {"<=", CompareOp::kLessEqual},
      {">", CompareOp::kGreater}, {">=", CompareOp::kGreaterEqual}};
  for (const auto& [text, op] : kOperators) {
    if (tokens_.skip_operator(text)) return op;
  }
  if (tokens_.skip_name("in")) return CompareOp::kIn;
  if (!tokens_.current().is_name("not") || !tokens_.ahead().is_name("in")) return std::nullopt;
  tokens_.next();
  tokens_.next();
  return CompareOp::kNotIn;
}

Result<ExpressionPtr> ExpressionParser::parse_comparison() {
  const int line = tokens_.line();
  Comparison comparison;
  ASSIGN_OR_RETURN(comparison.first, parse_sum());
  while (const auto op = skip_compare_operator()) {
    ASSIGN_OR_RETURN(ExpressionPtr operand, parse_sum());
    comparison.rest.push_back({*op, std::move(operand)});
  }
  if (comparison.rest.empty()) return std::move(comparison.first);
  return make_expression(line, std::move(comparison));
}

Result<ExpressionPtr> ExpressionParser::parse_arithmetic(
    Rank operand, std::initializer_list<ArithmeticOperator> operators) {
  const int line = tokens_.line();
  const auto skip_any = [&]() -> std::optional<ArithmeticOp> {
    for (const ArithmeticOperator& candidate : operators) {
      if (tokens_.skip_operator(candidate.text)) return candidate.op;
    }
    return std::nullopt;
  };
  Arithmetic arithmetic;
  ASSIGN_OR_RETURN(arithmetic.first, (this->*operand)());
  while (const auto op = skip_any()) {
    ASSIGN_OR_RETURN(ExpressionPtr next, (this->*operand)());
    arithmetic.rest.push_back({*op, std::move(next)});
  }
  if (arithmetic.rest.empty()) return std::move(arithmetic.first);
  return make_expression(line, std::move(arithmetic));
}

Result<ExpressionPtr> ExpressionParser::parse_sum() {
  return parse_arithmetic(&ExpressionParser::parse_concatenation,
                          {{"+", ArithmeticOp::kAdd}, {"-", ArithmeticOp::kSubtract}});
}

Result<ExpressionPtr> ExpressionParser::parse_concatenation() {
  const int line = tokens_.line();
  Concatenation concatenation;
  do {
    ASSIGN_OR_RETURN(ExpressionPtr part, parse_product());
    concatenation.parts.push_back(std::move(part));
  } while (tokens_.skip_operator("~"));
  if (concatenation.parts.size() == 1) return std::move(concatenation.parts[0]);
  return make_expression(line, std::move(concatenation));
}

Result<ExpressionPtr> ExpressionParser::parse_product() {
  return parse_arithmetic(&ExpressionParser::parse_power, {{"*", ArithmeticOp::kMultiply},
                                                           {"/", ArithmeticOp::kDivide},
                                                           {"//", ArithmeticOp::kFloorDivide},
                                                           {"%", ArithmeticOp::kModulo}});
}

// Powers group from the left, and bind looser than a sign: -2 ** 2 is 4.
Result<ExpressionPtr> ExpressionParser::parse_power() {
  return parse_arithmetic(&ExpressionParser::parse_signed, {{"**", ArithmeticOp::kPower}});
}

Result<ExpressionPtr> ExpressionParser::parse_signed() {
  return parse_unary(true);
}

// A sign binds tighter than filters: -1 | abs is 1.
Result<ExpressionPtr> ExpressionParser::parse_unary(bool with_filters) {
  const int line = tokens_.line();
  const bool is_negated = tokens_.skip_operator("-");
  ExpressionPtr expression;
  if (is_negated || tokens_.skip_operator("+")) {
    const Nesting nesting = nest();
    if (!nesting.ok()) return too_deep();
    ASSIGN_OR_RETURN(ExpressionPtr operand, parse_unary(false));
    expression = make_expression(
        line, Unary{is_negated ? UnaryOp::kNegate : UnaryOp::kPlus, std::move(operand)});
  } else {
    ASSIGN_OR_RETURN(expression, parse_primary());
  }
  return parse_steps(std::move(expression), with_filters);
}

Result<ExpressionPtr> ExpressionParser::parse_primary() {
  const int line = tokens_.line();
  switch (tokens_.current().kind) {
    case TokenKind::kName:
      return parse_name();
    case TokenKind::kString:
      return parse_string();
    case TokenKind::kInteger:
      return make_expression(line, Constant{Value(tokens_.next().integer)});
    case TokenKind::kFloat:
      return make_expression(line, Constant{Value(tokens_.next().number)});
    default:
      break;
  }
  if (tokens_.skip_operator("[")) return parse_list(line);
  if (tokens_.skip_operator("{")) return parse_dict(line);
  if (!tokens_.skip_operator("(")) return tokens_.unexpected("an expression");
  ASSIGN_OR_RETURN(ExpressionPtr inside, parse_tuple(true, /*may_be_empty=*/true));
  RETURN_IF_ERROR(tokens_.expect_operator(")"));
  return inside;
}

Result<ExpressionPtr> ExpressionParser::parse_name() {
  const int line = tokens_.line();
  const std::string& name = tokens_.current().text;
  if (auto constant = constant_named(name)) {
    tokens_.next();
    return make_expression(line, Constant{std::move(*constant)});
  }
  if (is_reserved_name(name)) return tokens_.unexpected("an expression");
  const bool is_parameter = std::ranges::any_of(
      macros_, [&](const std::set<std::string>& parameters) { return parameters.contains(name); });
  if (is_in(kMacroNames, name) && !macros_.empty() && !is_parameter) {
    return tokens_.fail(in_quotes(name) + " is not supported in a macro");
  }
  return make_expression(line, Name{symbols_.symbol_of(tokens_.next().text)});
}

// Adjacent string literals are one string.
Result<ExpressionPtr> ExpressionParser::parse_string() {
  const int line = tokens_.line();
  std::string text;
  while (tokens_.current().kind == TokenKind::kString) text += tokens_.next().text;
  return make_expression(line, Constant{make_string(MarkedText(std::move(text), true))});
}

Result<ExpressionPtr> ExpressionParser::parse_list(int line) {
  SequenceDisplay display{false, {}};
  while (!tokens_.skip_operator("]")) {
    if (!display.items.empty()) RETURN_IF_ERROR(tokens_.expect_operator(","));
    if (tokens_.skip_operator("]")) break;
    ASSIGN_OR_RETURN(ExpressionPtr item, parse_expression());
    display.items.push_back(std::move(item));
  }
  return make_expression(line, std::move(display));
}

Result<ExpressionPtr> ExpressionParser::parse_dict(int line) {
  DictDisplay display;
  while (!tokens_.skip_operator("}")) {
    if (!display.entries.empty()) RETURN_IF_ERROR(tokens_.expect_operator(","));
    if (tokens_.skip_operator("}")) break;
    ASSIGN_OR_RETURN(ExpressionPtr key, parse_expression());
    RETURN_IF_ERROR(tokens_.expect_operator(":"));
    ASSIGN_OR_RETURN(ExpressionPtr value, parse_expression());
    display.entries.emplace_back(std::move(key), std::move(value));
  }
  return make_expression(line, std::move(display));
}

bool ExpressionParser::at_tuple_end() const {
  const Token& token = tokens_.current();
  return token.kind == TokenKind::kVariableEnd || token.kind == TokenKind::kBlockEnd ||
         token.kind == TokenKind::kEnd || token.is_operator(")");
}

}  // namespace cascade::jinja
