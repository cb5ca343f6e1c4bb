// What one rendering may spend, and what it must take apart at its end.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "model/chat_template.h"
#include "model/jinja/error.h"
#include "model/jinja/nesting.h"
#include "model/jinja/paid.h"

namespace cascade::jinja {

struct Namespace;
struct Scope;

// One step pays for one evaluation, or for this many bytes copied, compared or allocated. This
// bounds memory too: a rendering allocates at most steps_max times this many bytes in all,
// including those that it has freed again.
inline constexpr uint64_t kBytesPerStep = 16;

// Real macros nest blocks and expressions about this deep per call.
inline constexpr int kLevelsPerRecursion = 10;

// How deep values may nest (lists in lists in lists). This is deeper than any JSON that base/json.h
// accepts, and shallow enough that printing, comparing and destroying a value may recurse.
inline constexpr int kValueDepthMax = 100;

// The state of one rendering that all operations share. Not thread-safe; one per render(). During
// its life, it pays for the memory that its thread allocates with the types of paid.h.
class Runtime {
 public:
  Runtime(const TemplateLimits& limits, int64_t now_unix_s);
  // Takes namespaces and captured scopes apart: they may refer to each other in cycles.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Each of these functions pays for work, or reports that the limit is reached
  // (kResourceExhausted). Call it before the work. Allocations during the work pay for themselves.
  Status charge(uint64_t steps);
  Status charge_bytes(uint64_t bytes);
  Status charge_items(uint64_t count);  // values put into or read from a container
  // Pays for decoding bytes to characters and looking up their classes.
  Status charge_characters(uint64_t bytes);
  // Pays for searching a name of `name_bytes` among `count` others.
  Status charge_lookup(uint64_t count, uint64_t name_bytes);

  // The result of work(), or a limit's error if an allocation has no steps left.
  template <class Work>
  auto within_steps(Work work) -> decltype(work()) {
    try {
      return work();
    } catch (const OutOfSteps&) {
      return out_of_steps();
    }
  }

  // One level of evaluation on the C++ stack. Check ok(), else answer too_deep().
  Nesting nest() { return Nesting(depth_, depth_max_); }
  Error too_deep() const;

  const TemplateLimits& limits() const { return limits_; }
  int64_t now_unix_s() const { return now_unix_s_; }

  void own(std::shared_ptr<Namespace> space) { namespaces_.push_back(std::move(space)); }
  void own(std::shared_ptr<Scope> scope) { scopes_.push_back(std::move(scope)); }

 private:
  friend void pay_for_allocation(size_t bytes);

  // Takes `steps` from those that are left; false if there were fewer.
  bool pay(uint64_t steps);
  Error out_of_steps() const;

  Runtime* const outer_;  // the Runtime that the thread had before
  const TemplateLimits limits_;
  const int64_t now_unix_s_;
  const int depth_max_;
  uint64_t steps_ = 0;
  int depth_ = 0;
  PaidVector<std::shared_ptr<Namespace>> namespaces_;
  PaidVector<std::shared_ptr<Scope>> scopes_;
};

}  // namespace cascade::jinja
