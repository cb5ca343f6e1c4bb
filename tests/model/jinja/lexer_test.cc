// Tokens: where text ends, on which lines the tokens are, what literals mean.
#include "model/jinja/lexer.h"

#include <gtest/gtest.h>

#include <string>

namespace cascade::jinja {
namespace {

// The tokens as text, one per line of the template: "1:data(a) 1:{{ 1:x ...".
std::string tokens_of(std::string_view source) {
  const auto tokens = tokenize(source);
  if (!tokens.ok()) return tokens.error().message;
  std::string shown;
  for (const Token& token : *tokens) {
    static constexpr const char* kNames[] = {"data", "{{",  "}}",    "{%", "%}", "name",
                                             "str",  "int", "float", "op", "end"};
    shown += (shown.empty() ? "" : " ") + std::to_string(token.line) + ":" +
             kNames[static_cast<size_t>(token.kind)];
    if (!token.text.empty()) shown += "(" + token.text + ")";
  }
  return shown;
}

TEST(JinjaLexer, separates_text_and_tags) {
  EXPECT_EQ(tokens_of("a{{ b.c }}d"),
            "1:data(a) 1:{{ 1:name(b) 1:op(.) 1:name(c) 1:}} 1:data(d) 1:end");
  EXPECT_EQ(tokens_of("{ % } {"), "1:data({ % } {) 1:end");
  EXPECT_EQ(tokens_of(""), "1:end");
}

TEST(JinjaLexer, counts_lines) {
  EXPECT_EQ(tokens_of("a\r\nb\n{{ x\n }}\n{# \n\n #}{% y %}\n\nz\n"),
            "1:data(a\nb\n) 3:{{ 3:name(x) 4:}} 4:data(\n) 7:{% 7:name(y) 7:%} 8:data(\nz) 9:end");
}

TEST(JinjaLexer, brackets_keep_a_tag_open) {
  EXPECT_EQ(tokens_of("{{ {1:{}} }}"),
            "1:{{ 1:op({) 1:int(1) 1:op(:) 1:op({) 1:op(}) 1:op(}) 1:}} 1:end");
}

TEST(JinjaLexer, reads_numbers_as_long_as_possible) {
  EXPECT_EQ(tokens_of("{{ 1.5e3 1.a a.1.2 1e 0x1g 007 1_0_ }}"),
            "1:{{ 1:float(1.5e3) 1:int(1) 1:op(.) 1:name(a) 1:name(a) 1:op(.) 1:int(1) 1:op(.) "
            "1:int(2) 1:int(1) 1:name(e) 1:int(0x1) 1:name(g) 1:int(00) 1:int(7) 1:int(1_0) "
            "1:name(_) 1:}} 1:end");
}

TEST(JinjaLexer, resolves_escapes) {
  EXPECT_EQ(tokens_of(R"({{ '\x41\u00e9\101\q\\' "\"'" }})"),
            "1:{{ 1:str(A\u00e9A\\q\\) 1:str(\"') 1:}} 1:end");
}

TEST(JinjaLexer, raw_blocks_are_text) {
  EXPECT_EQ(tokens_of("{% raw %}{{ x }}{% if %}{% endraw %}\ny"),
            "1:data({{ x }}{% if %}) 2:data(y) 2:end");
}

}  // namespace
}  // namespace cascade::jinja
