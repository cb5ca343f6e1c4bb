// The test's operators new and delete, which count.
#include "tests/model/counted_memory.h"

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

thread_local bool is_counting = false;
thread_local int64_t live_bytes = 0;
thread_local int64_t most_live_bytes = 0;

// nullptr if there is no memory.
void* allocate_counted(size_t size) {
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (is_counting && memory != nullptr) {
    live_bytes += static_cast<int64_t>(malloc_usable_size(memory));
    most_live_bytes = std::max(most_live_bytes, live_bytes);
  }
  return memory;
}

void* allocate_or_throw(size_t size) {
  void* memory = allocate_counted(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void free_counted(void* memory) {
  if (is_counting && memory != nullptr) {
    live_bytes -= static_cast<int64_t>(malloc_usable_size(memory));
  }
  std::free(memory);
}

}  // namespace

void* operator new(size_t size) {
  return allocate_or_throw(size);
}
void* operator new[](size_t size) {
  return allocate_or_throw(size);
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return allocate_counted(size);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return allocate_counted(size);
}
void operator delete(void* memory) noexcept {
  free_counted(memory);
}
void operator delete[](void* memory) noexcept {
  free_counted(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  free_counted(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  free_counted(memory);
}
void operator delete(void* memory, size_t) noexcept {
  free_counted(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  free_counted(memory);
}

namespace cascade::testing {

CountedMemory::CountedMemory() {
  live_bytes = 0;
  most_live_bytes = 0;
  is_counting = true;
}

CountedMemory::~CountedMemory() {
  is_counting = false;
}

size_t CountedMemory::peak_bytes() const {
  return static_cast<size_t>(most_live_bytes);
}

}  // namespace cascade::testing
