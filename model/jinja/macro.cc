// Calls of macros.
#include <string>
#include <utility>

#include "model/jinja/error.h"
#include "model/jinja/interpreter.h"
#include "model/jinja/replaced.h"

namespace cascade::jinja {

// The text that the body of the macro prints. The body has its own variables. It sees the variables
// around the macro's definition, not those around the call.
Result<Value> Interpreter::call_macro(const Macro& macro, const Arguments& arguments) {
  const int calls_max = runtime_.limits().recursion_max;
  const Nesting nesting(macro_depth_, calls_max);
  if (!nesting.ok()) {
    return limit_error("more than " + std::to_string(calls_max) + " calls of macros in each other");
  }
  const Replaced<std::shared_ptr<Scope>> inner(scope_, make_paid<Scope>(macro.scope));
  RETURN_IF_ERROR(bind_parameters(*macro.statement, arguments));
  Flow flow = Flow::kNext;
  ASSIGN_OR_RETURN(MarkedText printed, capture(macro.statement->body, flow));
  return make_string(std::move(printed));
}

// Defines the parameters in the scope of the call. A default may use the parameters before it.
Status Interpreter::bind_parameters(const MacroStatement& macro, const Arguments& arguments) {
  const auto fail = [&](const std::string& problem) {
    return template_error("macro " + in_quotes(macro.name) + ": " + problem);
  };
  if (arguments.positional.size() > macro.parameters.size()) {
    return fail("takes at most " + std::to_string(macro.parameters.size()) + " arguments");
  }
  size_t named_used = 0;
  for (size_t i = 0; i < macro.parameters.size(); ++i) {
    const MacroStatement::Parameter& parameter = macro.parameters[i];
    RETURN_IF_ERROR(runtime_.charge_lookup(arguments.named.size(), parameter.name.size()));
    const Value* named = arguments.find(parameter.name);
    if (named != nullptr) ++named_used;
    if (i < arguments.positional.size()) {
      if (named != nullptr) {
        return fail("the argument " + in_quotes(parameter.name) + " is given twice");
      }
      scope_->set(parameter.symbol, arguments.positional[i]);
    } else if (named != nullptr) {
      scope_->set(parameter.symbol, *named);
    } else if (parameter.fallback != nullptr) {
      ASSIGN_OR_RETURN(Value fallback, evaluate(*parameter.fallback));
      scope_->set(parameter.symbol, std::move(fallback));
    } else {
      scope_->set(parameter.symbol,
                  undefined("the parameter " + in_quotes(parameter.name) + " was not provided"));
    }
  }
  if (named_used == arguments.named.size()) return {};
  return fail("has no parameter for one of the arguments with a name");
}

}  // namespace cascade::jinja
