// Expressions.
#include <string>
#include <utility>

#include "model/jinja/access.h"
#include "model/jinja/compare.h"
#include "model/jinja/error.h"
#include "model/jinja/filters.h"
#include "model/jinja/functions.h"
#include "model/jinja/interpreter.h"
#include "model/jinja/methods.h"
#include "model/jinja/print.h"
#include "model/jinja/tests.h"

namespace cascade::jinja {
namespace {

// How many scopes are searched for a variable in the time of one step.
constexpr uint64_t kScopesPerStep = 4;

}  // namespace

Result<Value> Interpreter::evaluate(const Expression& expression) {
  const Nesting nesting = runtime_.nest();
  if (!nesting.ok()) return at_line(runtime_.too_deep(), expression.line);
  const Status paid = runtime_.charge(1);
  if (!paid.ok()) return at_line(paid.error(), expression.line);
  auto value = runtime_.within_steps([&] {
    return std::visit([this](const auto& node) { return evaluate(node); }, expression.node);
  });
  if (!value.ok()) return at_line(std::move(value).error(), expression.line);
  return value;
}

Result<Value> Interpreter::evaluate(const Name& name) {
  RETURN_IF_ERROR(runtime_.charge(static_cast<uint64_t>(scope_->depth) / kScopesPerStep));
  if (const Value* value = scope_->find(name.symbol)) return *value;
  return undefined(in_quotes(name_of(name.symbol)) + " is undefined");
}

Result<Value> Interpreter::evaluate(const SequenceDisplay& display) {
  PaidVector<Value> items;
  items.reserve(display.items.size());
  for (const ExpressionPtr& item : display.items) {
    ASSIGN_OR_RETURN(Value value, evaluate(*item));
    items.push_back(std::move(value));
  }
  return display.is_tuple ? make_tuple(std::move(items)) : make_list(std::move(items));
}

Result<Value> Interpreter::evaluate(const DictDisplay& display) {
  Dict::Entries entries;
  for (const auto& entry : display.entries) {
    ASSIGN_OR_RETURN(Value key, evaluate(*entry.first));
    ASSIGN_OR_RETURN(Value value, evaluate(*entry.second));
    RETURN_IF_ERROR(put(runtime_, entries, std::move(key), std::move(value)));
  }
  return make_dict(std::move(entries));
}

Result<Value> Interpreter::evaluate(const Unary& unary) {
  ASSIGN_OR_RETURN(const Value operand, evaluate(*unary.operand));
  switch (unary.op) {
    case UnaryOp::kNot: return Value(!operand.is_true());
    case UnaryOp::kNegate: return negate(operand);
    case UnaryOp::kPlus: break;
  }
  return plus(operand);
}

Result<Value> Interpreter::evaluate(const Arithmetic& arithmetic) {
  ASSIGN_OR_RETURN(Value value, evaluate(*arithmetic.first));
  for (const Arithmetic::Step& step : arithmetic.rest) {
    ASSIGN_OR_RETURN(const Value operand, evaluate(*step.operand));
    ASSIGN_OR_RETURN(value, apply(runtime_, step.op, value, operand));
  }
  return value;
}

Result<Value> Interpreter::evaluate(const Concatenation& concatenation) {
  MarkedText text;
  for (const ExpressionPtr& part : concatenation.parts) {
    ASSIGN_OR_RETURN(const Value value, evaluate(*part));
    RETURN_IF_ERROR(append_text(runtime_, text, value));
  }
  return make_string(std::move(text));
}

Result<Value> Interpreter::evaluate(const Comparison& comparison) {
  ASSIGN_OR_RETURN(Value left, evaluate(*comparison.first));
  for (const Comparison::Step& step : comparison.rest) {
    ASSIGN_OR_RETURN(Value right, evaluate(*step.operand));
    ASSIGN_OR_RETURN(const bool holds, compare(step.op, left, right));
    if (!holds) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Result<bool> Interpreter::compare(CompareOp op, const Value& a, const Value& b) {
  const auto negated = [](Result<bool> result) {
    if (result.ok()) result = !result.value();
    return result;
  };
  const auto less_or_equal = [this](const Value& low, const Value& high) -> Result<bool> {
    ASSIGN_OR_RETURN(const bool is_less, less(runtime_, low, high));
    return is_less ? Result<bool>(true) : equals(runtime_, low, high);
  };
  switch (op) {
    case CompareOp::kEqual: return equals(runtime_, a, b);
    case CompareOp::kNotEqual: return negated(equals(runtime_, a, b));
    case CompareOp::kLess: return less(runtime_, a, b);
    case CompareOp::kLessEqual: return less_or_equal(a, b);
    case CompareOp::kGreater: return less(runtime_, b, a);
    case CompareOp::kGreaterEqual: return less_or_equal(b, a);
    case CompareOp::kIn: return contains(runtime_, b, a);
    case CompareOp::kNotIn: break;
  }
  return negated(contains(runtime_, b, a));
}

// The value of the first operand that decides the result, or of the last operand.
Result<Value> Interpreter::evaluate(const Logic& logic) {
  Value value;
  for (const ExpressionPtr& operand : logic.operands) {
    ASSIGN_OR_RETURN(value, evaluate(*operand));
    if (value.is_true() != logic.is_and) break;
  }
  return value;
}

Result<Value> Interpreter::evaluate(const Conditional& conditional) {
  ASSIGN_OR_RETURN(const Value condition, evaluate(*conditional.condition));
  if (condition.is_true()) return evaluate(*conditional.chosen);
  if (conditional.otherwise != nullptr) return evaluate(*conditional.otherwise);
  return undefined("the condition of an 'if' without 'else' is false");
}

Result<Value> Interpreter::evaluate(const Postfix& postfix) {
  ASSIGN_OR_RETURN(Value value, evaluate(*postfix.subject));
  for (const Postfix::Step& step : postfix.steps) {
    const Status paid = runtime_.charge(1);
    if (!paid.ok()) return at_line(paid.error(), step.line);
    auto next =
        std::visit([&](const auto& operation) { return take(value, operation); }, step.operation);
    if (!next.ok()) return at_line(std::move(next).error(), step.line);
    value = std::move(next).value();
  }
  return value;
}

Result<Value> Interpreter::take(const Value& subject, const AttributeAccess& access) {
  return get_attribute(runtime_, subject, access.name);
}

Result<Value> Interpreter::take(const Value& subject, const ItemAccess& access) {
  ASSIGN_OR_RETURN(const Value key, evaluate(*access.key));
  return get_item(runtime_, subject, key);
}

Result<Value> Interpreter::take(const Value& subject, const SliceAccess& access) {
  const auto bound = [this](const ExpressionPtr& expression) -> Result<Value> {
    if (expression == nullptr) return Value(None());
    return evaluate(*expression);
  };
  ASSIGN_OR_RETURN(const Value start, bound(access.start));
  ASSIGN_OR_RETURN(const Value stop, bound(access.stop));
  ASSIGN_OR_RETURN(const Value step, bound(access.step));
  return get_slice(runtime_, subject, start, stop, step);
}

Result<Value> Interpreter::take(const Value& subject, const Call& call) {
  ASSIGN_OR_RETURN(const Arguments arguments, evaluate_arguments(call.arguments));
  if (const Function* function = subject.function()) return function->call(runtime_, arguments);
  if (const BoundMethod* method = subject.bound_method()) {
    return call_method(runtime_, *method, arguments);
  }
  if (const Macro* macro = subject.macro()) return call_macro(*macro, arguments);
  const auto* missing = std::get_if<Undefined>(&subject.storage());
  if (missing != nullptr && missing->reason) return template_error(std::string(*missing->reason));
  return template_error("a value of type " + std::string(subject.type_name()) +
                        " cannot be called");
}

Result<Value> Interpreter::take(const Value& subject, const FilterUse& use) {
  ASSIGN_OR_RETURN(const Arguments arguments, evaluate_arguments(use.arguments));
  return apply_filter(runtime_, *use.filter, subject, arguments);
}

Result<Value> Interpreter::take(const Value& subject, const TestUse& use) {
  ASSIGN_OR_RETURN(const Arguments arguments, evaluate_arguments(use.arguments));
  ASSIGN_OR_RETURN(const bool holds, apply_test(runtime_, *use.test, subject, arguments));
  return Value(holds != use.is_negated);
}

Result<Arguments> Interpreter::evaluate_arguments(const CallArguments& call) {
  Arguments arguments;
  for (const CallArgument& argument : call) {
    ASSIGN_OR_RETURN(const Value value, evaluate(*argument.value));
    if (argument.kind == CallArgument::Kind::kPositional) {
      arguments.positional.push_back(value);
    } else if (argument.kind == CallArgument::Kind::kNamed) {
      arguments.named.emplace_back(argument.name, value);
    } else if (argument.kind == CallArgument::Kind::kUnpackedList) {
      ASSIGN_OR_RETURN(const PaidVector<Value> items, items_of(value));
      arguments.positional.insert(arguments.positional.end(), items.begin(), items.end());
    } else {
      const Dict* dict = value.dict();
      if (dict == nullptr) return template_error("** needs a dict");
      for (const auto& [key, item] : dict->entries) {
        if (key.text() == nullptr) return template_error("** needs strings as keys");
        RETURN_IF_ERROR(runtime_.charge_lookup(arguments.named.size(), key.text()->size()));
        if (arguments.find(key.text()->view()) != nullptr) {
          return template_error("the argument " + in_quotes(key.text()->view()) +
                                " is given twice");
        }
        arguments.named.emplace_back(key.text()->view(), item);
      }
    }
  }
  return arguments;
}

}  // namespace cascade::jinja
