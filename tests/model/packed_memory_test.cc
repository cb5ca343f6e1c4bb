// Memory of packed weights: aligned, and refused with the cause.
#include "model/packed_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace cascade {
namespace {

TEST(PackedMemory, begins_at_a_huge_page_and_is_zero) {
  for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{3} << 20}) {
    const auto memory = PackedMemory::allocate(bytes);
    ASSERT_TRUE(memory.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->data()) % (size_t{2} << 20), 0u);
    EXPECT_EQ(memory->bytes(), bytes);
    EXPECT_EQ(std::count(memory->data(), memory->data() + bytes, 0), long(bytes));
    memory->data()[bytes - 1] = 1;
  }
}

TEST(PackedMemory, keeps_its_address_when_it_is_moved) {
  auto memory = PackedMemory::allocate(100);
  ASSERT_TRUE(memory.ok());
  uint8_t* const data = memory->data();
  PackedMemory moved = std::move(*memory);
  EXPECT_EQ(moved.data(), data);
  moved.data()[99] = 1;
}

TEST(PackedMemory, that_there_is_not_is_an_error) {
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX / 2, size_t{1} << 60}) {
    const auto memory = PackedMemory::allocate(bytes);
    ASSERT_FALSE(memory.ok());
    EXPECT_EQ(memory.error().code, ErrorCode::kResourceExhausted);
    EXPECT_THAT(memory.error().message, ::testing::HasSubstr(std::to_string(bytes)));
    EXPECT_THROW(PackedMemory::require(bytes), std::bad_alloc);
  }
}

}  // namespace
}  // namespace cascade
