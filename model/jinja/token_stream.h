// The tokens as the parser reads them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/jinja/error.h"
#include "model/jinja/token.h"

namespace cascade::jinja {

// Precondition of all: the last token is kEnd. The stream never moves past it.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[position_]; }
  const Token& ahead() const {
    return tokens_[position_ + 1 < tokens_.size() ? position_ + 1 : position_];
  }
  int line() const { return current().line; }

  // Gives the current token and moves on.
  const Token& next() {
    const Token& token = current();
    if (position_ + 1 < tokens_.size()) ++position_;
    return token;
  }

  // If the current token is the one asked for, each of these moves on and returns true.
  bool skip_operator(std::string_view op) { return skip_if(current().is_operator(op)); }
  bool skip_name(std::string_view name) { return skip_if(current().is_name(name)); }
  bool skip(TokenKind kind) { return skip_if(current().kind == kind); }

  Status expect_operator(std::string_view op) {
    return skip_operator(op) ? Status() : unexpected("'" + std::string(op) + "'");
  }
  Result<std::string> expect_name() {
    if (current().kind != TokenKind::kName) return unexpected("a name");
    return next().text;
  }

  // "line 3: expected <wanted>, got 'x'"
  Error unexpected(std::string_view wanted) const {
    return fail("expected " + std::string(wanted) + ", got " + describe(current()));
  }
  // An error at the line of the current token.
  Error fail(std::string message) const {
    return at_line(template_error(std::move(message)), current().line);
  }

 private:
  bool skip_if(bool matches) {
    if (matches) next();
    return matches;
  }

  static std::string describe(const Token& token) {
    switch (token.kind) {
      case TokenKind::kData: return "text";
      case TokenKind::kVariableBegin: return "'{{'";
      case TokenKind::kVariableEnd: return "'}}'";
      case TokenKind::kBlockBegin: return "'{%'";
      case TokenKind::kBlockEnd: return "'%}'";
      case TokenKind::kEnd: return "the end of the template";
      case TokenKind::kString: return "the string " + in_quotes(token.text);
      default: return in_quotes(token.text);
    }
  }

  std::vector<Token> tokens_;
  size_t position_ = 0;
};

}  // namespace cascade::jinja
