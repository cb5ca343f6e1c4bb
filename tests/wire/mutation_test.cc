// Damaged and random frames: one clear error that names a field, or a message; never a crash.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/long_tests.h"
#include "tests/wire/random_message.h"

namespace cascade::wire {
namespace {

// The number of mutations; $CASCADE_TEST_MUTATIONS sets it for long runs by hand.
int mutation_count() {
  const char* given = std::getenv("CASCADE_TEST_MUTATIONS");
  return given != nullptr ? std::atoi(given) : cascade::testing::long_or(60'000, 12'000);
}

void expect_clear(const Result<Envelope>& result, const Frames& frames) {
  if (result.ok()) {
    const Result<Envelope> again = decode(*encode(*result));
    ASSERT_TRUE(again.ok()) << again.error().to_string();
    ASSERT_EQ(testing::dump(again->message), testing::dump(result->message));
    return;
  }
  const Error& error = result.error();
  ASSERT_FALSE(error.field.empty()) << error.to_string();
  ASSERT_FALSE(error.message.empty()) << error.to_string();
  ASSERT_LT(error.to_string().size(), 500u);
  const bool by_design = error.code == ErrorCode::kInvalidArgument || error.field == "version" ||
                         error.field == "type";
  ASSERT_TRUE(by_design) << error.to_string();
  (void)peek_request_id(frames);
}

TEST(Frames, damaged_messages_never_crash_and_name_a_field) {
  Random random(testing::test_seed());
  int refused = 0;
  const int count = mutation_count();
  for (int i = 0; i < count; ++i) {
    Frames frames = *encode(testing::random_envelope(random));
    for (uint64_t n = 1 + random.below(3); n > 0 && !frames.empty(); --n) {
      testing::damage(random, frames);
    }
    const Result<Envelope> result = decode(frames);
    ASSERT_NO_FATAL_FAILURE(expect_clear(result, frames));
    if (!result.ok()) ++refused;
  }
  std::printf("%d mutations, %d refused\n", count, refused);
  EXPECT_GT(refused, count / 4);
}

TEST(Frames, every_truncation_of_a_body_is_refused) {
  Random random(testing::test_seed());
  for (size_t type = 0; type < std::variant_size_v<AnyMessage>; ++type) {
    const Frames whole = *encode(testing::random_envelope(random, type));
    for (size_t size = 0; size < std::min<size_t>(whole[2].size(), 3000); ++size) {
      Frames frames = whole;
      frames[2].resize(size);
      const Result<Envelope> result = decode(frames);
      ASSERT_FALSE(result.ok()) << "type " << type << " cut to " << size << " bytes";
      ASSERT_EQ(result.error().field, "body");
    }
  }
}

TEST(Frames, random_bodies_behind_a_valid_header_never_crash) {
  Random random(testing::test_seed());
  const int count = mutation_count() / 2;
  for (int i = 0; i < count; ++i) {
    Frames frames = *encode({{}, Ping{}});
    frames[0][5] = static_cast<char>(random.below(std::variant_size_v<AnyMessage>));
    // A map header first, so that the parser gets beyond the first byte.
    frames[2] = testing::random_bytes(random, 60);
    if (!frames[2].empty()) frames[2][0] = static_cast<char>(0x80 | random.below(16));
    ASSERT_NO_FATAL_FAILURE(expect_clear(decode(frames), frames));
  }
}

TEST(Frames, random_frames_never_crash) {
  Random random(testing::test_seed());
  const int count = mutation_count() / 4;
  for (int i = 0; i < count; ++i) {
    Frames frames(random.below(6));
    for (Frame& frame : frames) frame = testing::random_bytes(random, 30);
    const Result<Envelope> result = decode(frames);
    ASSERT_FALSE(result.ok());
    ASSERT_NO_FATAL_FAILURE(expect_clear(result, frames));
  }
}

}  // namespace
}  // namespace cascade::wire
