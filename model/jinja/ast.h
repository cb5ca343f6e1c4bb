// The syntax tree of a template. Immutable after parsing.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/jinja/operators.h"
#include "model/jinja/text.h"
#include "model/jinja/value.h"

namespace cascade::jinja {

struct Expression;
struct Filter;
struct Test;
using ExpressionPtr = std::unique_ptr<Expression>;

// Expressions. Chains of equal rank (a + b + c, a.b[c](d)) are one node, so that the tree is no
// deeper than the source is nested.

struct Constant {
  Value value;
};

struct Name {
  int symbol = 0;  // index into Template::names
};

struct SequenceDisplay {  // [a, b], (a, b)
  bool is_tuple = false;
  std::vector<ExpressionPtr> items;
};

struct DictDisplay {  // {a: b}
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
};

enum class UnaryOp { kNegate, kPlus, kNot };

struct Unary {
  UnaryOp op = UnaryOp::kNot;
  ExpressionPtr operand;
};

struct Arithmetic {  // a + b - c, from the left
  struct Step {
    ArithmeticOp op = ArithmeticOp::kAdd;
    ExpressionPtr operand;
  };
  ExpressionPtr first;
  std::vector<Step> rest;
};

struct Concatenation {  // a ~ b ~ c
  std::vector<ExpressionPtr> parts;
};

enum class CompareOp { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kIn, kNotIn };

struct Comparison {  // a < b < c: each neighbouring pair
  struct Step {
    CompareOp op = CompareOp::kEqual;
    ExpressionPtr operand;
  };
  ExpressionPtr first;
  std::vector<Step> rest;
};

struct Logic {  // a and b and c; a or b or c
  bool is_and = false;
  std::vector<ExpressionPtr> operands;
};

struct Conditional {  // a if condition else b
  ExpressionPtr condition;
  ExpressionPtr chosen;
  ExpressionPtr otherwise;  // null: undefined
};

struct CallArgument {
  enum class Kind { kPositional, kNamed, kUnpackedList, kUnpackedDict };
  Kind kind = Kind::kPositional;
  std::string name;
  ExpressionPtr value;
};
using CallArguments = std::vector<CallArgument>;

struct AttributeAccess {  // .name
  std::string name;
};

struct ItemAccess {  // [key]
  ExpressionPtr key;
};

struct SliceAccess {  // [start:stop:step], each may be null
  ExpressionPtr start;
  ExpressionPtr stop;
  ExpressionPtr step;
};

struct Call {  // (arguments)
  CallArguments arguments;
};

struct FilterUse {  // | filter(arguments)
  const Filter* filter = nullptr;
  CallArguments arguments;
};

struct TestUse {  // is test(arguments), is not test(arguments)
  const Test* test = nullptr;
  bool is_negated = false;
  CallArguments arguments;
};

struct Postfix {  // a.b[c](d) | e is f
  using Operation =
      std::variant<AttributeAccess, ItemAccess, SliceAccess, Call, FilterUse, TestUse>;
  struct Step {
    int line = 0;
    Operation operation;
  };
  ExpressionPtr subject;
  std::vector<Step> steps;
};

struct Expression {
  int line = 0;
  std::variant<Constant, Name, SequenceDisplay, DictDisplay, Unary, Arithmetic, Concatenation,
               Comparison, Logic, Conditional, Postfix>
      node;
};

// Statements.

struct Statement;
using Block = std::vector<Statement>;

// The target of an assignment: a variable, or a tuple of targets.
struct Target {
  int symbol = -1;  // -1: a tuple
  std::vector<Target> items;
};

struct Text {
  MarkedText text;  // trusted
};

struct Output {  // {{ value }}
  ExpressionPtr value;
};

struct If {
  struct Branch {
    ExpressionPtr condition;
    Block body;
  };
  std::vector<Branch> branches;
  Block otherwise;
};

struct For {
  Target target;
  ExpressionPtr iterable;
  ExpressionPtr filter;  // may be null
  Block body;
  Block otherwise;
};

struct Set {
  Target target;
  ExpressionPtr value;
};

struct SetAttribute {  // {% set space.name = value %}
  int symbol = 0;
  std::string name;
  ExpressionPtr value;
};

// A block whose output is caught and run through filters: {% set x | f %}, {% filter f %}.
struct Capture {
  std::vector<FilterUse> filters;
  Block body;
  int symbol = -1;             // the variable that gets the text; -1: it is printed
  std::string attribute_name;  // if not empty: the attribute of the variable that gets the text
};

struct With {  // {% with a = b %}, {% generation %}: a scope of its own
  std::vector<std::pair<Target, ExpressionPtr>> variables;
  Block body;
};

struct MacroStatement {
  struct Parameter {
    int symbol = 0;
    std::string name;
    ExpressionPtr fallback;  // null: undefined if not given
  };
  int symbol = 0;
  std::string name;
  std::vector<Parameter> parameters;
  Block body;
};

struct Break {};
struct Continue {};

struct Statement {
  int line = 0;
  std::variant<Text, Output, If, For, Set, SetAttribute, Capture, With, MacroStatement, Break,
               Continue>
      node;
};

struct Template {
  Block body;
  std::vector<std::string> names;  // of all variables; a symbol is an index into it
};

}  // namespace cascade::jinja
