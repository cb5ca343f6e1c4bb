// Memory of a rendering. Each allocation pays its steps before it is made, so code that makes a
// text or a list of these types cannot forget to pay.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cascade::jinja {

// Thrown instead of an allocation for which the rendering has no steps left. Containers have no
// other way to refuse an element. Runtime::within_steps() turns this exception into an Error.
class OutOfSteps : public std::exception {
 public:
  const char* what() const noexcept override { return "the steps of a template are spent"; }
};

// Pays for an allocation of `bytes` from the steps of this thread's Runtime. The allocation is free
// if the thread has no Runtime, which is so while a template is parsed. Throws OutOfSteps.
void pay_for_allocation(size_t bytes);

template <class T>
struct PaidAllocator {
  using value_type = T;

  PaidAllocator() = default;
  template <class Other>
  PaidAllocator(const PaidAllocator<Other>&) {}  // NOLINT: implicit

  T* allocate(size_t count) {
    pay_for_allocation(count * sizeof(T));
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* memory, size_t count) { std::allocator<T>().deallocate(memory, count); }

  template <class Other>
  bool operator==(const PaidAllocator<Other>&) const {
    return true;
  }
};

template <class T>
using PaidVector = std::vector<T, PaidAllocator<T>>;
using PaidString = std::basic_string<char, std::char_traits<char>, PaidAllocator<char>>;

template <class T, class... Arguments>
std::shared_ptr<T> make_paid(Arguments&&... arguments) {
  return std::allocate_shared<T>(PaidAllocator<std::remove_const_t<T>>(),
                                 std::forward<Arguments>(arguments)...);
}

}  // namespace cascade::jinja
