// Decoding takes memory in proportion to the bytes that came, not to the sizes that these bytes
// claim.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "wire/field_writer.h"
#include "wire/frames.h"

namespace {

std::atomic<size_t> largest_allocation{0};

void* allocate(size_t size) {
  size_t seen = largest_allocation.load();
  while (size > seen && !largest_allocation.compare_exchange_weak(seen, size)) {
  }
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t size) {
  return allocate(size);
}
void* operator new[](size_t size) {
  return allocate(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  std::free(memory);
}

namespace cascade::wire {
namespace {

// Returns the size of the largest single allocation while `body` is refused.
size_t allocation_for(const std::string& body) {
  Frames frames = *encode({{}, GenerateRequest{}});
  frames[2] = body;
  largest_allocation = 0;
  EXPECT_FALSE(decode(frames).ok());
  return largest_allocation;
}

TEST(Memory, follows_the_bytes_and_not_the_claims) {
  const std::string one_key = std::string("\x81\xA6") + "chunks";
  const std::vector<std::string> claims = {
      {"\xDD\xFF\xFF\xFF\xFF", 5},      // array of 2^32 - 1
      {"\xDD\x00\x10\x00\x00", 5},      // array of 2^20, allowed, with nothing in it
      {"\xDF\xFF\xFF\xFF\xFF", 5},      // map
      {"\xDB\xFF\xFF\xFF\xFF", 5},      // string of 4 GiB
      {"\xC6\x7F\xFF\xFF\xFF", 5},      // bytes
      {"\xC9\xFF\xFF\xFF\xFF\x01", 6},  // extension
  };
  for (const std::string& claim : claims) EXPECT_LT(allocation_for(one_key + claim), 4096u);
  EXPECT_LT(allocation_for({"\xDF\xFF\xFF\xFF\xFF", 5}), 4096u);
}

// An array of a million empty maps: the first map lacks its fields, so no second struct is made.
TEST(Memory, is_not_multiplied_by_empty_elements) {
  std::string body = std::string("\x81\xA8") + "messages";
  pack_array_size(body, 1'000'000);
  body += std::string(1'000'000, '\x80');
  EXPECT_LT(allocation_for(body), size_t{64} << 20);
}

}  // namespace
}  // namespace cascade::wire
