// Paying for steps, and taking cycles of values apart.
#include "model/jinja/runtime.h"

#include <algorithm>
#include <limits>
#include <string>

#include "model/jinja/error.h"
#include "model/jinja/scope.h"
#include "model/jinja/value.h"

namespace cascade::jinja {
namespace {

// Pays for what the allocator keeps beside each piece of memory, and for the time of an allocation.
constexpr uint64_t kAllocationSteps = 1;

thread_local Runtime* paying_runtime = nullptr;

int levels(int recursion_max) {
  const int64_t levels = int64_t{recursion_max} * kLevelsPerRecursion;
  return static_cast<int>(std::min<int64_t>(levels, std::numeric_limits<int>::max()));
}

}  // namespace

Runtime::Runtime(const TemplateLimits& limits, int64_t now_unix_s)
    : outer_(std::exchange(paying_runtime, this)),
      limits_(limits),
      now_unix_s_(now_unix_s),
      depth_max_(levels(limits.recursion_max)) {}

Runtime::~Runtime() {
  // Empties every namespace and scope while all of them are still held, so that no destructor runs
  // down a chain of them.
  for (const auto& space : namespaces_) space->attributes.clear();
  for (const auto& scope : scopes_) scope->variables.clear();
  paying_runtime = outer_;
}

bool Runtime::pay(uint64_t steps) {
  const bool is_enough = steps <= limits_.steps_max - steps_;
  steps_ = is_enough ? steps_ + steps : limits_.steps_max;
  return is_enough;
}

Error Runtime::out_of_steps() const {
  return limit_error("the template takes more than " + std::to_string(limits_.steps_max) +
                     " steps");
}

void pay_for_allocation(size_t bytes) {
  if (paying_runtime == nullptr) return;
  if (!paying_runtime->pay(kAllocationSteps + bytes / kBytesPerStep)) throw OutOfSteps();
}

Status Runtime::charge(uint64_t steps) {
  if (!pay(steps)) return out_of_steps();
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

Status Runtime::charge_characters(uint64_t bytes) {
  constexpr uint64_t kBytesOfCharactersPerStep = 2;
  return charge(1 + bytes / kBytesOfCharactersPerStep);
}

Status Runtime::charge_lookup(uint64_t count, uint64_t name_bytes) {
  // Names of equal length are compared up to the first byte in which they differ.
  constexpr uint64_t kComparedBytesPerStep = 64;
  constexpr uint64_t kNamesPerStep = 2;
  constexpr uint64_t kLongNamesPerStep = 8;
  const uint64_t compared = name_bytes / kComparedBytesPerStep;
  return charge(1 + count / kNamesPerStep + count * compared / kLongNamesPerStep);
}

Error Runtime::too_deep() const {
  return limit_error("nested deeper than " + std::to_string(depth_max_) + " levels of evaluation");
}

}  // namespace cascade::jinja
