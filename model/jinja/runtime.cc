// Paying for steps, and taking circles of values apart.
#include "model/jinja/runtime.h"

#include <limits>
#include <string>

#include "model/jinja/error.h"
#include "model/jinja/scope.h"
#include "model/jinja/value.h"

namespace cascade::jinja {
namespace {

int levels(int recursion_max) {
  const int64_t levels = int64_t{recursion_max} * kLevelsPerRecursion;
  return static_cast<int>(std::min<int64_t>(levels, std::numeric_limits<int>::max()));
}

}  // namespace

Runtime::Runtime(const TemplateLimits& limits, int64_t now_unix_s)
    : limits_(limits), now_unix_s_(now_unix_s), depth_max_(levels(limits.recursion_max)) {}

Runtime::~Runtime() {
  // Each is emptied while all are still held, so that no destructor runs down a chain of them.
  for (const auto& space : namespaces_) space->attributes.clear();
  for (const auto& scope : scopes_) scope->variables.clear();
}

Status Runtime::charge(uint64_t steps) {
  const uint64_t left = limits_.steps_max - std::min(steps_, limits_.steps_max);
  if (steps > left) {
    steps_ = limits_.steps_max;
    return limit_error("the template takes more than " + std::to_string(limits_.steps_max) +
                       " steps");
  }
  steps_ += steps;
  return {};
}

Status Runtime::charge_bytes(uint64_t bytes) {
  return charge(1 + bytes / kBytesPerStep);
}

Status Runtime::charge_items(uint64_t count) {
  // A larger count exceeds every limit anyway.
  constexpr uint64_t kCountMax = std::numeric_limits<uint64_t>::max() / sizeof(Value);
  return charge_bytes(std::min(count, kCountMax) * sizeof(Value));
}

Error Runtime::too_deep() const {
  return limit_error("nested deeper than " + std::to_string(depth_max_) + " levels of evaluation");
}

}  // namespace cascade::jinja
