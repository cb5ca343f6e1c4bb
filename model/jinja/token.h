// The tokens of a template.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cascade::jinja {

enum class TokenKind {
  kData,           // text outside of tags, after whitespace control
  kVariableBegin,  // {{
  kVariableEnd,    // }}
  kBlockBegin,     // {%
  kBlockEnd,       // %}
  kName,
  kString,   // text: the value, escapes resolved
  kInteger,  // integer: the value
  kFloat,    // number: the value
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  int line = 1;
  std::string text;
  int64_t integer = 0;
  double number = 0;

  bool is_operator(std::string_view op) const { return kind == TokenKind::kOperator && text == op; }
  bool is_name(std::string_view name) const { return kind == TokenKind::kName && text == name; }
};

}  // namespace cascade::jinja
