// Runs a syntax tree: variables in, marked text out.
#pragma once

#include <memory>
#include <string_view>

#include "base/json.h"
#include "model/jinja/arguments.h"
#include "model/jinja/ast.h"
#include "model/jinja/loop.h"
#include "model/jinja/scope.h"

namespace cascade::jinja {

// One rendering. Statements are in interpreter.cc, expressions in evaluator.cc.
class Interpreter {
 public:
  // `tree` and `runtime` must outlive the interpreter; `runtime` must be destroyed after it.
  Interpreter(const Template& tree, Runtime& runtime) : tree_(tree), runtime_(runtime) {}

  // Renders with the members of `variables` as variables. Strings in them are untrusted, except a
  // string whose key ends in "_token". Errors: those of ChatTemplate::render.
  Result<MarkedText> run(const OrderedJson& variables);

 private:
  // Where execution goes on after a statement.
  enum class Flow { kNext, kBreak, kContinue };

  Status define_variables(const OrderedJson& variables);

  Result<Flow> execute(const Block& block);
  Result<Flow> execute(const Statement& statement);
  Result<Flow> execute(const Text& text);
  Result<Flow> execute(const Output& output);
  Result<Flow> execute(const If& statement);
  Result<Flow> execute(const For& statement);
  Result<Flow> execute(const Set& statement);
  Result<Flow> execute(const SetAttribute& statement);
  Result<Flow> execute(const Capture& capture);
  Result<Flow> execute(const With& with);
  Result<Flow> execute(const MacroStatement& macro);
  Result<Flow> execute(const Break&) { return Flow::kBreak; }
  Result<Flow> execute(const Continue&) { return Flow::kContinue; }

  Result<bool> run_loop(const For& statement, const std::shared_ptr<Loop>& loop);
  Result<bool> accepts(const For& statement, const Value& item);
  Result<MarkedText> capture(const Block& body, Flow& flow);
  Status assign(const Target& target, const Value& value);
  Status assign_attribute(int symbol, std::string_view name, const Value& value);
  Status check_output() const;

  Result<Value> evaluate(const Expression& expression);
  Result<Value> evaluate(const Constant& constant) { return constant.value; }
  Result<Value> evaluate(const Name& name);
  Result<Value> evaluate(const SequenceDisplay& display);
  Result<Value> evaluate(const DictDisplay& display);
  Result<Value> evaluate(const Unary& unary);
  Result<Value> evaluate(const Arithmetic& arithmetic);
  Result<Value> evaluate(const Concatenation& concatenation);
  Result<Value> evaluate(const Comparison& comparison);
  Result<Value> evaluate(const Logic& logic);
  Result<Value> evaluate(const Conditional& conditional);
  Result<Value> evaluate(const Postfix& postfix);

  Result<bool> compare(CompareOp op, const Value& a, const Value& b);
  Result<Value> take(const Value& subject, const AttributeAccess& access);
  Result<Value> take(const Value& subject, const ItemAccess& access);
  Result<Value> take(const Value& subject, const SliceAccess& access);
  Result<Value> take(const Value& subject, const Call& call);
  Result<Value> take(const Value& subject, const FilterUse& use);
  Result<Value> take(const Value& subject, const TestUse& use);
  Result<Arguments> evaluate_arguments(const CallArguments& arguments);
  Result<Value> call_macro(const Macro& macro, const Arguments& arguments);
  Status bind_parameters(const MacroStatement& macro, const Arguments& arguments);

  const std::string& name_of(int symbol) const { return tree_.names[static_cast<size_t>(symbol)]; }

  const Template& tree_;
  Runtime& runtime_;
  std::shared_ptr<Scope> scope_;
  MarkedText* out_ = nullptr;
  int loop_symbol_ = -1;  // the symbol of "loop"; -1 if the template does not use it
  int macro_depth_ = 0;
};

}  // namespace cascade::jinja
