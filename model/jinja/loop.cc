// Drawing items, and the attributes of `loop`.
#include "model/jinja/loop.h"

#include <algorithm>
#include <string>
#include <utility>

#include "model/jinja/compare.h"
#include "model/jinja/error.h"

namespace cascade::jinja {

Loop::Loop(PaidVector<Value> items, Accepts accepts)
    : items_(std::move(items)), accepts_(std::move(accepts)) {
  for (const Value& item : items_) depth_ = std::max(depth_, item.depth() + 1);
}

Result<std::optional<Value>> Loop::draw() {
  while (next_ < items_.size()) {
    const Value& item = items_[next_++];
    if (!accepts_) return std::optional<Value>(item);
    ASSIGN_OR_RETURN(const bool accepted, accepts_(item));
    if (accepted) return std::optional<Value>(item);
  }
  return std::optional<Value>();
}

Result<bool> Loop::advance() {
  std::optional<Value> item = std::exchange(after_, std::nullopt);
  if (!item.has_value()) {
    ASSIGN_OR_RETURN(item, draw());
  }
  if (!item.has_value()) return false;
  ++index0_;
  before_ = std::exchange(current_, std::move(item));
  return true;
}

void Loop::finish() {
  is_finished_ = true;
  accepts_ = nullptr;
  last_changed_.reset();
}

Result<bool> Loop::is_last() {
  if (!after_.has_value()) {
    ASSIGN_OR_RETURN(after_, draw());
  }
  return !after_.has_value();
}

Result<Value> Loop::next_item() {
  ASSIGN_OR_RETURN(const bool last, is_last());
  return last ? undefined("there is no next item") : *after_;
}

Result<int64_t> Loop::length() {
  if (length_.has_value()) return *length_;
  PaidVector<Value> rest;
  while (next_ < items_.size()) {
    ASSIGN_OR_RETURN(std::optional<Value> item, draw());
    if (item.has_value()) rest.push_back(std::move(*item));
  }
  items_ = std::move(rest);
  next_ = 0;
  accepts_ = nullptr;
  length_ = static_cast<int64_t>(items_.size()) + index0_ + 1 + (after_.has_value() ? 1 : 0);
  return *length_;
}

Result<Value> Loop::attribute(std::string_view name) {
  if (name == "index") return Value(index0_ + 1);
  if (name == "index0") return Value(index0_);
  if (name == "first") return Value(index0_ == 0);
  if (name == "depth") return Value(int64_t{1});
  if (name == "depth0") return Value(int64_t{0});
  if (name == "previtem") return before_.value_or(undefined("there is no previous item"));
  if (name == "nextitem") return next_item();
  if (name == "last") {
    ASSIGN_OR_RETURN(const bool last, is_last());
    return Value(last);
  }
  if (name == "length" || name == "revindex" || name == "revindex0") {
    ASSIGN_OR_RETURN(const int64_t length, this->length());
    return Value(name == "length"     ? length
                 : name == "revindex" ? length - index0_
                                      : length - index0_ - 1);
  }
  return undefined("'loop' has no attribute " + in_quotes(name));
}

Result<bool> Loop::changed(Runtime& runtime, PaidVector<Value> values) {
  if (is_finished_) return template_error("loop.changed() is called after the end of the loop");
  bool same = last_changed_.has_value() && last_changed_->size() == values.size();
  for (size_t i = 0; same && i < values.size(); ++i) {
    ASSIGN_OR_RETURN(same, equals(runtime, (*last_changed_)[i], values[i]));
  }
  if (!same) last_changed_ = std::move(values);
  return !same;
}

}  // namespace cascade::jinja
