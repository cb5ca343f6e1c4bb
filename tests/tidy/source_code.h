// C++ source as the tidy rules see it: comments and literals blanked, functions found.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cascade::tidy {

// `source` with every character of comments and of string and character literals (raw ones too)
// replaced by a space; line breaks stay, so that offsets and line numbers are those of `source`.
std::string blank_comments_and_literals(std::string_view source);

// `code` (blanked) with preprocessor directives, continuation lines included, blanked too.
std::string blank_directives(std::string_view code);

struct Include {
  int line = 0;  // from 1
  std::string path;
  bool quoted = false;  // "path", not <path>
};

// The #include directives of `source`, in order.
std::vector<Include> find_includes(std::string_view source);

struct Function {
  int line = 0;        // from 1: where its declaration begins
  int line_count = 0;  // to its closing brace, both lines included
};

// The function bodies at namespace and class scope, in order, and lambdas that are initialisers
// there. Everything inside a function belongs to it. This works on braces and the text before them,
// not on a grammar: enough for code that compiles and is formatted.
std::vector<Function> find_functions(std::string_view source);

struct Class {
  int line = 0;       // from 1: where its declaration begins
  std::string name;   // with the classes around it: Outer::Inner
  int functions = 0;  // declared here, including constructors and operators, without inherited ones
  int fields = 0;     // including static ones, without constants
  bool is_struct = false;
};

// The classes and structs at namespace and class scope with their own members, in the order in
// which they end. Works like find_functions(). Unions, and everything inside a function, are left
// out.
std::vector<Class> find_classes(std::string_view source);

// Whether `c` may be part of a name.
bool is_word(char c);

// Number of the line that holds `offset`, from 1.
int line_at(std::string_view source, size_t offset);

}  // namespace cascade::tidy
