// A value that one thread replaces while others use it.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

namespace cascade {

// Any thread. A caller that holds the result of get() keeps that version.
template <class T>
class Live {
 public:
  std::shared_ptr<const T> get() const { return value_.load(); }
  void set(T value) { value_.store(std::make_shared<const T>(std::move(value))); }

 private:
  std::atomic<std::shared_ptr<const T>> value_ = std::make_shared<const T>();
};

}  // namespace cascade
