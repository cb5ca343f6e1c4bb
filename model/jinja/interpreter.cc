// Statements.
#include "model/jinja/interpreter.h"

#include <string>
#include <utility>

#include "model/jinja/error.h"
#include "model/jinja/filters.h"
#include "model/jinja/functions.h"
#include "model/jinja/json.h"
#include "model/jinja/print.h"
#include "model/jinja/replaced.h"

namespace cascade::jinja {
namespace {

constexpr std::string_view kTrustedSuffix = "_token";

// Ends a loop however its block is left.
class LoopGuard {
 public:
  explicit LoopGuard(Loop& loop) : loop_(loop) {}
  ~LoopGuard() { loop_.finish(); }
  LoopGuard(const LoopGuard&) = delete;
  LoopGuard& operator=(const LoopGuard&) = delete;

 private:
  Loop& loop_;
};

}  // namespace

Result<MarkedText> Interpreter::run(const OrderedJson& variables) {
  const Status defined = runtime_.within_steps([&] { return define_variables(variables); });
  if (!defined.ok()) return without_line(defined.error());
  MarkedText output;
  out_ = &output;
  RETURN_IF_ERROR(execute(tree_.body));
  return output;
}

// Defines only the names that the template uses. Variables hide functions of the same name.
Status Interpreter::define_variables(const OrderedJson& variables) {
  if (!variables.is_object()) return template_error("the variables must be a JSON object");
  scope_ = make_paid<Scope>(nullptr);
  for (size_t i = 0; i < tree_.names.size(); ++i) {
    const std::string& name = tree_.names[i];
    const int symbol = static_cast<int>(i);
    if (name == "loop") loop_symbol_ = symbol;
    RETURN_IF_ERROR(runtime_.charge(1));
    if (const auto found = variables.find(name); found != variables.end()) {
      const bool is_trusted = name.ends_with(kTrustedSuffix) && found->is_string();
      ASSIGN_OR_RETURN(Value value, from_json(runtime_, *found, is_trusted));
      scope_->set(symbol, std::move(value));
    } else if (const Function* function = find_function(name)) {
      scope_->set(symbol, function);
    }
  }
  return {};
}

Result<Interpreter::Flow> Interpreter::execute(const Block& block) {
  const Nesting nesting = runtime_.nest();
  if (!nesting.ok()) return runtime_.too_deep();
  for (const Statement& statement : block) {
    ASSIGN_OR_RETURN(const Flow flow, execute(statement));
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute(const Statement& statement) {
  const Status paid = runtime_.charge(1);
  if (!paid.ok()) return at_line(paid.error(), statement.line);
  auto flow = runtime_.within_steps([&] {
    return std::visit([this](const auto& node) { return execute(node); }, statement.node);
  });
  if (!flow.ok()) return at_line(std::move(flow).error(), statement.line);
  return flow;
}

Result<Interpreter::Flow> Interpreter::execute(const Text& text) {
  out_->append(text.text);
  RETURN_IF_ERROR(check_output());
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute(const Output& output) {
  ASSIGN_OR_RETURN(const Value value, evaluate(*output.value));
  RETURN_IF_ERROR(append_text(runtime_, *out_, value));
  RETURN_IF_ERROR(check_output());
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute(const If& statement) {
  for (const If::Branch& branch : statement.branches) {
    ASSIGN_OR_RETURN(const Value condition, evaluate(*branch.condition));
    if (condition.is_true()) return execute(branch.body);
  }
  return execute(statement.otherwise);
}

Result<Interpreter::Flow> Interpreter::execute(const For& statement) {
  ASSIGN_OR_RETURN(const Value iterable, evaluate(*statement.iterable));
  ASSIGN_OR_RETURN(PaidVector<Value> items, items_of(iterable));
  Loop::Accepts filter;
  if (statement.filter != nullptr) {
    filter = [this, &statement](const Value& item) { return accepts(statement, item); };
  }
  const auto loop = make_paid<Loop>(std::move(items), std::move(filter));
  const LoopGuard guard(*loop);
  ASSIGN_OR_RETURN(const bool runs_else, run_loop(statement, loop));
  if (!runs_else) return Flow::kNext;
  const Replaced<std::shared_ptr<Scope>> inner(scope_, make_paid<Scope>(scope_));
  return execute(statement.otherwise);
}

// Runs the loop. Returns true if its `else` is due, that is, if no pass ran to the end of the body.
// So `else` also runs where break or continue cut every pass short, as in Jinja.
Result<bool> Interpreter::run_loop(const For& statement, const std::shared_ptr<Loop>& loop) {
  bool runs_else = true;
  while (true) {
    ASSIGN_OR_RETURN(const bool has_item, loop->advance());
    if (!has_item) return runs_else;
    const Replaced<std::shared_ptr<Scope>> inner(scope_, make_paid<Scope>(scope_));
    RETURN_IF_ERROR(assign(statement.target, loop->current()));
    if (loop_symbol_ >= 0) scope_->set(loop_symbol_, loop);
    ASSIGN_OR_RETURN(const Flow flow, execute(statement.body));
    if (flow == Flow::kNext) runs_else = false;
    if (flow == Flow::kBreak) return runs_else;
  }
}

// Whether the `if` of a for block holds for `item`. This may be called while the block runs.
Result<bool> Interpreter::accepts(const For& statement, const Value& item) {
  const Replaced<std::shared_ptr<Scope>> inner(scope_, make_paid<Scope>(scope_));
  RETURN_IF_ERROR(assign(statement.target, item));
  ASSIGN_OR_RETURN(const Value accepted, evaluate(*statement.filter));
  return accepted.is_true();
}

Result<Interpreter::Flow> Interpreter::execute(const Set& statement) {
  ASSIGN_OR_RETURN(const Value value, evaluate(*statement.value));
  RETURN_IF_ERROR(assign(statement.target, value));
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute(const SetAttribute& statement) {
  ASSIGN_OR_RETURN(const Value value, evaluate(*statement.value));
  RETURN_IF_ERROR(assign_attribute(statement.symbol, statement.name, value));
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::execute(const Capture& capture) {
  Value value;
  {
    const Replaced<std::shared_ptr<Scope>> inner(scope_, make_paid<Scope>(scope_));
    Flow flow = Flow::kNext;
    ASSIGN_OR_RETURN(MarkedText text, this->capture(capture.body, flow));
    if (flow != Flow::kNext) return flow;
    value = make_string(std::move(text));
    for (const FilterUse& use : capture.filters) {
      ASSIGN_OR_RETURN(value, take(value, use));
    }
  }
  if (!capture.attribute_name.empty()) {
    RETURN_IF_ERROR(assign_attribute(capture.symbol, capture.attribute_name, value));
  } else if (capture.symbol >= 0) {
    scope_->set(capture.symbol, std::move(value));
  } else {
    RETURN_IF_ERROR(append_text(runtime_, *out_, value));
    RETURN_IF_ERROR(check_output());
  }
  return Flow::kNext;
}

// The text that `body` prints. `flow` tells how the body ended.
Result<MarkedText> Interpreter::capture(const Block& body, Flow& flow) {
  MarkedText text;
  const Replaced<MarkedText*> inner(out_, &text);
  ASSIGN_OR_RETURN(flow, execute(body));
  return text;
}

// All values are evaluated before any of the variables is defined.
Result<Interpreter::Flow> Interpreter::execute(const With& with) {
  PaidVector<Value> values;
  values.reserve(with.variables.size());
  for (const auto& variable : with.variables) {
    ASSIGN_OR_RETURN(Value value, evaluate(*variable.second));
    values.push_back(std::move(value));
  }
  const Replaced<std::shared_ptr<Scope>> inner(scope_, make_paid<Scope>(scope_));
  for (size_t i = 0; i < values.size(); ++i) {
    RETURN_IF_ERROR(assign(with.variables[i].first, values[i]));
  }
  return execute(with.body);
}

Result<Interpreter::Flow> Interpreter::execute(const MacroStatement& macro) {
  runtime_.own(scope_);
  scope_->set(macro.symbol, make_paid<const Macro>(Macro{&macro, scope_}));
  return Flow::kNext;
}

Status Interpreter::assign(const Target& target, const Value& value) {
  if (target.symbol >= 0) {
    scope_->set(target.symbol, value);
    return {};
  }
  ASSIGN_OR_RETURN(const PaidVector<Value> items, items_of(value));
  if (items.size() != target.items.size()) {
    return template_error("cannot unpack " + std::to_string(items.size()) + " values into " +
                          std::to_string(target.items.size()) + " variables");
  }
  for (size_t i = 0; i < items.size(); ++i) {
    RETURN_IF_ERROR(assign(target.items[i], items[i]));
  }
  return {};
}

Status Interpreter::assign_attribute(int symbol, std::string_view name, const Value& value) {
  const Value* object = scope_->find(symbol);
  Namespace* space = object == nullptr ? nullptr : object->name_space();
  if (space == nullptr) {
    return template_error("cannot assign to an attribute of " + in_quotes(name_of(symbol)) +
                          ": it is not a namespace");
  }
  RETURN_IF_ERROR(runtime_.charge_lookup(space->attributes.size(), name.size()));
  space->set(name, value);
  return {};
}

Status Interpreter::check_output() const {
  const size_t bytes_max = runtime_.limits().output_bytes_max;
  if (out_->size() <= bytes_max) return {};
  return limit_error("the output is larger than " + std::to_string(bytes_max) + " bytes");
}

}  // namespace cascade::jinja
