// Tokens -> expressions.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/jinja/ast.h"
#include "model/jinja/nesting.h"
#include "model/jinja/token_stream.h"

namespace cascade::jinja {

// Whether `name` is a word of the language ("if", "true"), so that no variable can have it.
bool is_reserved_name(std::string_view name);

// Numbers the names of variables in the order of their appearance.
class SymbolTable {
 public:
  int symbol_of(std::string_view name);
  const std::string& name_of(int symbol) const { return names_[static_cast<size_t>(symbol)]; }
  std::vector<std::string> take_names() { return std::move(names_); }

 private:
  std::map<std::string, int, std::less<>> symbols_;
  std::vector<std::string> names_;
};

// Recursive descent, one function per rank of operators, from the loosest to the tightest. Every
// function answers an error with its line if the source is not in the supported language, or nests
// beyond `depth_max`.
class ExpressionParser {
 public:
  ExpressionParser(TokenStream& tokens, SymbolTable& symbols, int depth_max)
      : tokens_(tokens), symbols_(symbols), depth_max_(depth_max) {}

  // An expression. Unless `with_conditional`, an "if" ends it ("for x in xs if x").
  Result<ExpressionPtr> parse_expression(bool with_conditional = true);

  // One or more expressions; a comma makes them a tuple. Ends at the end of the tag or ')'.
  // `may_be_empty`: no expression at all is the empty tuple.
  Result<ExpressionPtr> parse_tuple(bool with_conditional = true, bool may_be_empty = false);

  // The chain "f(a) | g" that follows "set x |" or "filter".
  Result<std::vector<FilterUse>> parse_filter_chain();

  // One more level of nesting for as long as the result lives. Check ok(), else answer too_deep().
  Nesting nest() { return Nesting(depth_, depth_max_); }
  Error too_deep() const;

  // Called where the body of a macro with these parameters begins, and where it ends. Inside, Jinja
  // gives the names varargs, kwargs and caller a meaning that is not supported.
  void enter_macro(std::set<std::string> parameters) { macros_.push_back(std::move(parameters)); }
  void leave_macro() { macros_.pop_back(); }

 private:
  Result<ExpressionPtr> parse_conditional();
  Result<ExpressionPtr> parse_condition_behind(ExpressionPtr chosen);
  Result<ExpressionPtr> parse_or();
  Result<ExpressionPtr> parse_and();
  Result<ExpressionPtr> parse_not();
  Result<ExpressionPtr> parse_comparison();
  Result<ExpressionPtr> parse_sum();
  Result<ExpressionPtr> parse_concatenation();
  Result<ExpressionPtr> parse_product();
  Result<ExpressionPtr> parse_power();
  Result<ExpressionPtr> parse_signed();
  Result<ExpressionPtr> parse_unary(bool with_filters);
  Result<ExpressionPtr> parse_primary();
  Result<ExpressionPtr> parse_name();
  Result<ExpressionPtr> parse_string();
  Result<ExpressionPtr> parse_list(int line);
  Result<ExpressionPtr> parse_dict(int line);

  Result<ExpressionPtr> parse_steps(ExpressionPtr subject, bool with_filters);
  bool at_operation(bool with_filters) const;
  Result<Postfix::Operation> parse_operation();
  Result<Postfix::Operation> parse_attribute();
  Result<Postfix::Operation> parse_subscript();
  Result<Postfix::Operation> parse_test();
  Result<FilterUse> parse_filter();
  Result<CallArguments> parse_arguments();
  Result<CallArgument> parse_argument();
  Status check_callable(const Postfix& postfix) const;

  using Rank = Result<ExpressionPtr> (ExpressionParser::*)();
  Result<ExpressionPtr> parse_logic(Rank operand, std::string_view word, bool is_and);
  struct ArithmeticOperator {
    std::string_view text;
    ArithmeticOp op;
  };
  Result<ExpressionPtr> parse_arithmetic(Rank operand,
                                         std::initializer_list<ArithmeticOperator> operators);
  std::optional<CompareOp> skip_compare_operator();
  bool at_tuple_end() const;

  TokenStream& tokens_;
  SymbolTable& symbols_;
  const int depth_max_;
  int depth_ = 0;
  std::vector<std::set<std::string>> macros_;  // the parameters of each open macro
};

}  // namespace cascade::jinja
