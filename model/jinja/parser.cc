// Parsing of statements and blocks.
#include "model/jinja/parser.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "model/jinja/error.h"
#include "model/jinja/expression_parser.h"
#include "model/jinja/lexer.h"
#include "model/jinja/token_stream.h"

namespace cascade::jinja {
namespace {

class StatementParser {
 public:
  StatementParser(std::vector<Token> tokens, int depth_max)
      : tokens_(std::move(tokens)), expressions_(tokens_, symbols_, depth_max) {}

  Result<Template> run() {
    ASSIGN_OR_RETURN(Block body, parse_block({}));
    return Template{std::move(body), symbols_.take_names()};
  }

 private:
  using Names = std::initializer_list<std::string_view>;

  Result<Block> parse_block(Names ends);
  Result<Block> parse_body(Names ends);
  Status end_tag();
  Result<Statement> parse_output();
  Result<Statement> parse_tag();
  Result<Statement> parse_if(int line);
  Result<Statement> parse_for(int line);
  Result<Statement> parse_set(int line);
  Result<Statement> parse_set_block(int line, Capture capture);
  Result<Statement> parse_with(int line);
  Result<Statement> parse_generation(int line);
  Result<Statement> parse_filter(int line);
  Result<Statement> parse_macro(int line);
  Result<MacroStatement::Parameter> parse_parameter(bool needs_fallback);
  Result<Statement> parse_jump(int line, bool is_break);
  Result<Target> parse_target(bool may_be_tuple);
  Result<int> parse_variable();

  TokenStream tokens_;
  SymbolTable symbols_;
  ExpressionParser expressions_;
  std::string end_;     // the word that ended the last block: "endif", "else"
  int loop_depth_ = 0;  // how many loops break and continue can see
};

// Reads statements up to a tag that begins with one of `ends`, or up to the end of the template if
// `ends` is empty. Also reads the word of `ends` that was found and keeps it in end_; the rest of
// its tag is not read.
Result<Block> StatementParser::parse_block(Names ends) {
  const Nesting nesting = expressions_.nest();
  if (!nesting.ok()) return expressions_.too_deep();
  Block block;
  while (tokens_.current().kind != TokenKind::kEnd) {
    const int line = tokens_.line();
    if (tokens_.current().kind == TokenKind::kData) {
      block.push_back({line, Text{MarkedText(tokens_.next().text, true)}});
    } else if (tokens_.skip(TokenKind::kVariableBegin)) {
      ASSIGN_OR_RETURN(Statement output, parse_output());
      block.push_back(std::move(output));
    } else {
      tokens_.next();  // {%
      const Token& word = tokens_.current();
      if (word.kind == TokenKind::kName && std::ranges::find(ends, word.text) != ends.end()) {
        end_ = tokens_.next().text;
        return block;
      }
      ASSIGN_OR_RETURN(Statement statement, parse_tag());
      block.push_back(std::move(statement));
    }
  }
  if (ends.size() == 0) return block;
  return tokens_.unexpected("'{% " + std::string(*(ends.end() - 1)) + " %}'");
}

// Reads the rest of a tag and the block after it. Jinja allows the colon for users of Python.
Result<Block> StatementParser::parse_body(Names ends) {
  tokens_.skip_operator(":");
  RETURN_IF_ERROR(end_tag());
  return parse_block(ends);
}

Status StatementParser::end_tag() {
  if (tokens_.skip(TokenKind::kBlockEnd)) return {};
  return tokens_.unexpected("'%}'");
}

Result<Statement> StatementParser::parse_output() {
  const int line = tokens_.line();
  ASSIGN_OR_RETURN(ExpressionPtr value, expressions_.parse_tuple());
  if (!tokens_.skip(TokenKind::kVariableEnd)) return tokens_.unexpected("'}}'");
  return Statement{line, Output{std::move(value)}};
}

// Reads a statement whose "{%" was read already.
Result<Statement> StatementParser::parse_tag() {
  const int line = tokens_.line();
  const Error unsupported =
      tokens_.fail("the tag " + in_quotes(tokens_.current().text) + " is not supported here");
  ASSIGN_OR_RETURN(const std::string word, tokens_.expect_name());
  if (word == "if") return parse_if(line);
  if (word == "for") return parse_for(line);
  if (word == "set") return parse_set(line);
  if (word == "with") return parse_with(line);
  if (word == "generation") return parse_generation(line);
  if (word == "filter") return parse_filter(line);
  if (word == "macro") return parse_macro(line);
  if (word == "break" || word == "continue") return parse_jump(line, word == "break");
  return unsupported;
}

Result<Statement> StatementParser::parse_if(int line) {
  If statement;
  do {
    If::Branch branch;
    ASSIGN_OR_RETURN(branch.condition, expressions_.parse_tuple(/*with_conditional=*/false));
    ASSIGN_OR_RETURN(branch.body, parse_body({"elif", "else", "endif"}));
    statement.branches.push_back(std::move(branch));
  } while (end_ == "elif");
  if (end_ == "else") {
    ASSIGN_OR_RETURN(statement.otherwise, parse_body({"endif"}));
  }
  RETURN_IF_ERROR(end_tag());
  return Statement{line, std::move(statement)};
}

Result<Statement> StatementParser::parse_for(int line) {
  For statement;
  ASSIGN_OR_RETURN(statement.target, parse_target(/*may_be_tuple=*/true));
  if (!tokens_.skip_name("in")) return tokens_.unexpected("'in'");
  ASSIGN_OR_RETURN(statement.iterable, expressions_.parse_tuple(/*with_conditional=*/false));
  if (tokens_.skip_name("if")) {
    ASSIGN_OR_RETURN(statement.filter, expressions_.parse_expression());
  }
  if (tokens_.current().is_name("recursive")) {
    return tokens_.fail("recursive loops are not supported");
  }
  ++loop_depth_;
  ASSIGN_OR_RETURN(statement.body, parse_body({"else", "endfor"}));
  --loop_depth_;
  if (end_ == "else") {
    ASSIGN_OR_RETURN(statement.otherwise, parse_body({"endfor"}));
  }
  RETURN_IF_ERROR(end_tag());
  return Statement{line, std::move(statement)};
}

Result<Statement> StatementParser::parse_set(int line) {
  if (!tokens_.ahead().is_operator(".")) {
    ASSIGN_OR_RETURN(Target target, parse_target(/*may_be_tuple=*/true));
    if (!tokens_.current().is_operator("=") && target.symbol >= 0) {
      Capture capture;
      capture.symbol = target.symbol;
      return parse_set_block(line, std::move(capture));
    }
    RETURN_IF_ERROR(tokens_.expect_operator("="));
    ASSIGN_OR_RETURN(ExpressionPtr value, expressions_.parse_tuple());
    RETURN_IF_ERROR(end_tag());
    return Statement{line, Set{std::move(target), std::move(value)}};
  }
  SetAttribute statement;
  ASSIGN_OR_RETURN(statement.symbol, parse_variable());
  tokens_.next();  // .
  ASSIGN_OR_RETURN(statement.name, tokens_.expect_name());
  if (!tokens_.skip_operator("=")) {
    Capture capture;
    capture.symbol = statement.symbol;
    capture.attribute_name = statement.name;
    return parse_set_block(line, std::move(capture));
  }
  ASSIGN_OR_RETURN(statement.value, expressions_.parse_tuple());
  RETURN_IF_ERROR(end_tag());
  return Statement{line, std::move(statement)};
}

// {% set x | filters %} ... {% endset %}
Result<Statement> StatementParser::parse_set_block(int line, Capture capture) {
  if (tokens_.skip_operator("|")) {
    ASSIGN_OR_RETURN(capture.filters, expressions_.parse_filter_chain());
  }
  ASSIGN_OR_RETURN(capture.body, parse_body({"endset"}));
  RETURN_IF_ERROR(end_tag());
  return Statement{line, std::move(capture)};
}

Result<Statement> StatementParser::parse_filter(int line) {
  Capture capture;
  ASSIGN_OR_RETURN(capture.filters, expressions_.parse_filter_chain());
  ASSIGN_OR_RETURN(capture.body, parse_body({"endfilter"}));
  RETURN_IF_ERROR(end_tag());
  return Statement{line, std::move(capture)};
}

Result<Statement> StatementParser::parse_with(int line) {
  With statement;
  while (tokens_.current().kind != TokenKind::kBlockEnd) {
    if (!statement.variables.empty()) RETURN_IF_ERROR(tokens_.expect_operator(","));
    ASSIGN_OR_RETURN(Target target, parse_target(/*may_be_tuple=*/false));
    RETURN_IF_ERROR(tokens_.expect_operator("="));
    ASSIGN_OR_RETURN(ExpressionPtr value, expressions_.parse_expression());
    statement.variables.emplace_back(std::move(target), std::move(value));
  }
  ASSIGN_OR_RETURN(statement.body, parse_body({"endwith"}));
  RETURN_IF_ERROR(end_tag());
  return Statement{line, std::move(statement)};
}

// The tag marks, for training, what the assistant wrote. Here it is only a scope of its own, which
// break and continue cannot leave.
Result<Statement> StatementParser::parse_generation(int line) {
  const int outer_loops = std::exchange(loop_depth_, 0);
  ASSIGN_OR_RETURN(Block body, parse_body({"endgeneration"}));
  loop_depth_ = outer_loops;
  RETURN_IF_ERROR(end_tag());
  return Statement{line, With{{}, std::move(body)}};
}

Result<Statement> StatementParser::parse_macro(int line) {
  MacroStatement macro;
  macro.name = tokens_.current().text;
  ASSIGN_OR_RETURN(macro.symbol, parse_variable());
  RETURN_IF_ERROR(tokens_.expect_operator("("));
  std::set<std::string> names;
  while (!tokens_.skip_operator(")")) {
    if (!macro.parameters.empty()) RETURN_IF_ERROR(tokens_.expect_operator(","));
    const bool needs_fallback =
        !macro.parameters.empty() && macro.parameters.back().fallback != nullptr;
    ASSIGN_OR_RETURN(MacroStatement::Parameter parameter, parse_parameter(needs_fallback));
    if (!names.insert(parameter.name).second) {
      return tokens_.fail("the parameter " + in_quotes(parameter.name) + " is given twice");
    }
    macro.parameters.push_back(std::move(parameter));
  }
  const int outer_loops = std::exchange(loop_depth_, 0);
  expressions_.enter_macro(std::move(names));
  ASSIGN_OR_RETURN(macro.body, parse_body({"endmacro"}));
  expressions_.leave_macro();
  loop_depth_ = outer_loops;
  RETURN_IF_ERROR(end_tag());
  return Statement{line, std::move(macro)};
}

Result<MacroStatement::Parameter> StatementParser::parse_parameter(bool needs_fallback) {
  MacroStatement::Parameter parameter;
  parameter.name = tokens_.current().text;
  ASSIGN_OR_RETURN(parameter.symbol, parse_variable());
  if (tokens_.skip_operator("=")) {
    ASSIGN_OR_RETURN(parameter.fallback, expressions_.parse_expression());
  } else if (needs_fallback) {
    return tokens_.fail("a parameter without a default follows one with a default");
  }
  return parameter;
}

Result<Statement> StatementParser::parse_jump(int line, bool is_break) {
  if (loop_depth_ == 0) return tokens_.fail("break and continue are for loops");
  RETURN_IF_ERROR(end_tag());
  if (is_break) return Statement{line, Break()};
  return Statement{line, Continue()};
}

// Reads a variable, or several in a tuple, perhaps in parentheses: "a", "a, b", "(a, (b, c))".
Result<Target> StatementParser::parse_target(bool may_be_tuple) {
  const Nesting nesting = expressions_.nest();
  if (!nesting.ok()) return expressions_.too_deep();
  Target tuple;
  bool is_tuple = false;
  do {
    Target item;
    if (tokens_.skip_operator("(")) {
      ASSIGN_OR_RETURN(item, parse_target(true));
      RETURN_IF_ERROR(tokens_.expect_operator(")"));
    } else {
      ASSIGN_OR_RETURN(item.symbol, parse_variable());
    }
    tuple.items.push_back(std::move(item));
    if (!may_be_tuple || !tokens_.skip_operator(",")) break;
    is_tuple = true;
  } while (tokens_.current().kind == TokenKind::kName || tokens_.current().is_operator("("));
  if (is_tuple) return tuple;
  return std::move(tuple.items[0]);
}

// Reads the name of a variable that is assigned to.
Result<int> StatementParser::parse_variable() {
  const std::string& name = tokens_.current().text;
  if (is_reserved_name(name)) return tokens_.unexpected("the name of a variable");
  if (name == "loop") return tokens_.fail("'loop' cannot be assigned to");
  ASSIGN_OR_RETURN(const std::string variable, tokens_.expect_name());
  return symbols_.symbol_of(variable);
}

}  // namespace

Result<Template> parse_template(std::string_view source, const TemplateLimits& limits) {
  if (source.size() > limits.source_bytes_max) {
    return without_line(template_error("the template is larger than " +
                                       std::to_string(limits.source_bytes_max) + " bytes"));
  }
  if (!is_utf8(source)) return without_line(template_error("the template is not UTF-8"));
  ASSIGN_OR_RETURN(std::vector<Token> tokens, tokenize(source));
  return StatementParser(std::move(tokens), limits.recursion_max).run();
}

}  // namespace cascade::jinja
