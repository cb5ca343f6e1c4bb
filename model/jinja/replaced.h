// A member that has another value for a while.
#pragma once

#include <utility>

namespace cascade::jinja {

// Gives a member another value for as long as this object lives.
template <class T>
class Replaced {
 public:
  Replaced(T& member, T value) : member_(member), old_(std::exchange(member, std::move(value))) {}
  ~Replaced() { member_ = std::move(old_); }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;

 private:
  T& member_;
  T old_;
};

}  // namespace cascade::jinja
