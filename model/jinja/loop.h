// The variable `loop` inside a for block.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "model/jinja/value.h"

namespace cascade::jinja {

// Walks the items of a for block. An `if` filter is applied as items are drawn: only `loop.last`,
// `loop.length` and the like look ahead, as in Jinja.
class Loop {
 public:
  using Accepts = std::function<Result<bool>(const Value&)>;

  // `accepts` (may be empty) is the filter; it must stay valid until finish().
  Loop(PaidVector<Value> items, Accepts accepts);

  // Moves to the next item; false after the last one. Errors: those of the filter.
  Result<bool> advance();
  // The current item. Precondition: advance() gave true.
  const Value& current() const { return *current_; }
  // Tells the loop that it has ended, though a template may still hold it. The loop drops the
  // values that changed() keeps, because loops could hold each other through them.
  void finish();

  // loop.index, loop.last, ...; undefined for a name that loops do not have.
  // Errors: those of the filter.
  Result<Value> attribute(std::string_view name);
  Result<int64_t> length();
  int64_t index0() const { return index0_; }
  // loop.changed(*values): whether they differ from those of the last call.
  // Errors: template_error after finish(); steps.
  Result<bool> changed(Runtime& runtime, PaidVector<Value> values);

  int depth() const { return depth_; }

 private:
  Result<std::optional<Value>> draw();
  Result<bool> is_last();
  Result<Value> next_item();

  PaidVector<Value> items_;
  size_t next_ = 0;  // the first of items_ that is not drawn yet
  Accepts accepts_;
  int64_t index0_ = -1;
  std::optional<Value> before_;
  std::optional<Value> current_;
  std::optional<Value> after_;  // the next item, if it was drawn by looking ahead
  std::optional<int64_t> length_;
  std::optional<PaidVector<Value>> last_changed_;
  bool is_finished_ = false;
  int depth_ = 1;
};

}  // namespace cascade::jinja
