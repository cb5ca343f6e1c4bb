// Policies that the model, or the request's attention, rules out.
#include "actors/scheduler/think_policy.h"

#include <string>

#include "model/harmony.h"

namespace cascade {
namespace {

// What the policy does not work with; empty if it works.
std::string obstacle(const Model& model, bool has_states, const Request& request) {
  if (request.think_policy == ThinkPolicy::kKeep) {
    const bool keeps = request.params.retain_output && HarmonyTokens::of(model.tokenizer);
    return keeps ? "models that write harmony" : "";
  }
  if (approximation_of(request.think_policy) == Approximation::kNone) return "";
  if (has_states) return "models that have recurrent layers, whose state has read the thoughts";
  return request.attention.is_dense() ? "" : "attention \"" + to_string(request.attention) + '"';
}

}  // namespace

Status take_think_policy(ThinkPolicy of_daemon, const Model& model, bool has_states,
                         Request& request) {
  request.think_policy = request.params.think_policy.value_or(of_daemon);
  const std::string with = obstacle(model, has_states, request);
  if (with.empty()) return {};
  const std::string name(to_string(request.think_policy));
  request.think_policy = ThinkPolicy::kReprefill;
  if (!request.params.think_policy) return {};
  return unsupported("think_policy",
                     '"' + name + "\" does not work with " + with + ": use reprefill");
}

}  // namespace cascade
