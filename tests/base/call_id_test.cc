// Ids of calls are short and plain, and depend on everything that distinguishes calls.
#include "base/call_id.h"

#include <gtest/gtest.h>

#include <set>

namespace cascade {
namespace {

TEST(CallId, is_of_nine_letters_and_digits) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = call_id_of("call " + std::to_string(i));
    EXPECT_TRUE(is_call_id(id)) << id;
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 1000u);
  EXPECT_EQ(call_id_of("x"), call_id_of("x"));
}

TEST(CallId, is_no_other_text) {
  EXPECT_TRUE(is_call_id("aB0cD1eF2"));
  for (const char* other : {"", "aB0cD1eF", "aB0cD1eF23", "call_1234", "aB0cD1e\xC3\xA9"}) {
    EXPECT_FALSE(is_call_id(other)) << other;
  }
}

}  // namespace
}  // namespace cascade
