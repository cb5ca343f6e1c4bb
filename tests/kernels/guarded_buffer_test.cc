// Guarded memory catches the errors that it is made for: accesses beside the operand.
#include "tests/kernels/guarded_buffer.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <utility>

namespace cascade::testing {
namespace {

uint8_t read(const uint8_t* byte) {
  return *static_cast<const volatile uint8_t*>(byte);
}

bool is_at_a_page(const uint8_t* byte) {
  return reinterpret_cast<uintptr_t>(byte) % GuardedBlocks::page_bytes() == 0;
}

TEST(GuardedBufferDeathTest, a_byte_behind_the_end_may_not_be_read_or_written) {
  for (const size_t size : {size_t{1}, size_t{100}, GuardedBlocks::page_bytes(), size_t{10'001}}) {
    GuardedBytes bytes(size);
    EXPECT_EQ(read(bytes.end() - 1), 0);
    EXPECT_DEATH(read(bytes.end()), "");
    EXPECT_DEATH(*bytes.end() = 1, "");
  }
}

TEST(GuardedBufferDeathTest, a_byte_before_whole_pages_may_not_be_read) {
  const GuardedBytes bytes(2 * GuardedBlocks::page_bytes());
  EXPECT_EQ(read(bytes.data()), 0);
  EXPECT_DEATH(read(bytes.data() - 1), "");
}

TEST(GuardedBufferDeathTest, each_of_several_blocks_ends_at_a_page_of_its_own) {
  const GuardedBlocks blocks({100, 5000}, 4);
  for (const size_t block : {0, 1}) {
    EXPECT_EQ(blocks.data(block), blocks.base() + blocks.offset(block));
    EXPECT_TRUE(is_at_a_page(blocks.data(block) + blocks.size(block)));
    EXPECT_DEATH(read(blocks.data(block) + blocks.size(block)), "");
  }
  const GuardedBlocks same({100, 5000}, 4);
  EXPECT_EQ(same.offset(1), blocks.offset(1));
}

TEST(GuardedBuffer, begins_where_it_is_aligned) {
  for (const size_t size : {size_t{1}, size_t{63}, size_t{64}, size_t{4097}}) {
    const GuardedBytes bytes(size, 0, 64);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % 64, 0u);
    EXPECT_EQ(is_at_a_page(bytes.end()), size % 64 == 0);
  }
}

TEST(GuardedBuffer, a_write_into_what_is_left_of_its_pages_fails_the_test) {
  const auto write_at = [](ptrdiff_t offset) {
    GuardedBytes bytes(100, 0, 64);
    bytes.data()[offset] = 1;
  };
  EXPECT_NONFATAL_FAILURE(write_at(100), "beside an operand");
  EXPECT_NONFATAL_FAILURE(write_at(-1), "beside an operand");
  write_at(99);
}

TEST(GuardedBuffer, is_copied_and_moved_like_a_vector) {
  GuardedFloats first(3, 1.5f);
  first[1] = 2;
  GuardedFloats second = first;
  EXPECT_EQ(second, first);
  second[2] = 7;
  EXPECT_EQ(first[2], 1.5f);
  const float* kept = second.data();
  const GuardedFloats third = std::move(second);
  EXPECT_EQ(third.data(), kept);
  first = third;
  EXPECT_EQ(first, third);
  EXPECT_NE(first.data(), third.data());
  EXPECT_EQ(GuardedFloats(0).size(), 0u);
}

}  // namespace
}  // namespace cascade::testing
