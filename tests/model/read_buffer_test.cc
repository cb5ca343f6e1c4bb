// Memory for reads without the system's cache.
#include "model/read_buffer.h"

#include <gtest/gtest.h>

#include <cstring>

namespace cascade {
namespace {

TEST(ReadBuffer, begins_at_a_multiple_of_4096_and_has_all_its_bytes) {
  for (const size_t bytes : {1, 4095, 4096, 100'000}) {
    const ReadBuffer buffer(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 4096, 0u);
    std::memset(buffer.data(), 1, bytes);  // the sanitizer knows where memory ends
    EXPECT_EQ(buffer.data()[bytes - 1], 1);
  }
}

}  // namespace
}  // namespace cascade
