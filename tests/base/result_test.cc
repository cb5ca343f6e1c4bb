// Tests of Result, Error and the two macros.
#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace cascade {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return invalid_argument("n", "must be even");
  return n / 2;
}

Result<int> quarter(int n) {
  ASSIGN_OR_RETURN(const int once, half(n));
  ASSIGN_OR_RETURN(const int twice, half(once));
  return twice;
}

Status check_even(int n, int& calls) {
  ++calls;
  RETURN_IF_ERROR(half(n));
  ++calls;
  return {};
}

TEST(Result, holds_a_value) {
  const Result<int> result = half(8);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(*result, 4);
  EXPECT_EQ(result.value(), 4);
}

TEST(Result, holds_an_error) {
  const Result<int> result = half(7);
  ASSERT_FALSE(result.ok());
  EXPECT_FALSE(static_cast<bool>(result));
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(result.error().field, "n");
  EXPECT_EQ(result.error().message, "must be even");
}

TEST(Result, carries_values_that_can_only_be_moved) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  ASSERT_TRUE(result.ok());
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 5);
}

TEST(Result, gives_access_to_members_and_lets_them_change) {
  Result<std::string> result = std::string("ab");
  result->push_back('c');
  EXPECT_EQ(result->size(), 3u);
  *result += "d";
  EXPECT_EQ(result.value(), "abcd");
}

TEST(Result, macro_hands_the_error_on_from_each_step) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_FALSE(quarter(3).ok());
  EXPECT_FALSE(quarter(6).ok());
}

TEST(Result, status_macro_stops_at_the_error_and_only_there) {
  int calls = 0;
  EXPECT_TRUE(check_even(2, calls).ok());
  EXPECT_EQ(calls, 2);
  const Status failed = check_even(1, calls);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().field, "n");
  EXPECT_EQ(calls, 3);
}

TEST(Result, status_is_ok_by_default) {
  EXPECT_TRUE(Status().ok());
  EXPECT_FALSE(Status(not_found("x", "is absent")).ok());
}

TEST(ResultDeathTest, taking_what_is_not_there_ends_the_process) {
  const Result<int> failed = half(1);
  EXPECT_DEATH((void)failed.value(), "check failed");
  const Result<int> fine = half(2);
  EXPECT_DEATH((void)fine.error(), "check failed");
}

TEST(Error, prints_code_field_and_message) {
  EXPECT_EQ(invalid_argument("max_tokens", "must be at least 1, got 0").to_string(),
            "invalid_argument: max_tokens: must be at least 1, got 0");
  EXPECT_EQ(unsupported("", "no").to_string(), "unsupported: no");
  EXPECT_EQ(data_corrupt("f", "m").code, ErrorCode::kDataCorrupt);
  EXPECT_EQ(resource_exhausted("f", "m").code, ErrorCode::kResourceExhausted);
}

TEST(Error, tells_a_missing_file_from_other_io_errors) {
  EXPECT_EQ(io_error("a/b", ENOENT).code, ErrorCode::kNotFound);
  EXPECT_EQ(io_error("a/b", EACCES).code, ErrorCode::kIo);
  EXPECT_EQ(io_error("a/b", EACCES).to_string(), "io: a/b: Permission denied");
  EXPECT_EQ(io_error("a/b", ENOMEM).to_string(),
            "io: a/b: Cannot allocate memory: see the limits of the process (ulimit -v, "
            "MemoryMax=)");
}

TEST(ErrorCode, names_are_stable_unique_and_invertible) {
  const std::pair<ErrorCode, const char*> names[] = {
      {ErrorCode::kInvalidArgument, "invalid_argument"},
      {ErrorCode::kNotFound, "not_found"},
      {ErrorCode::kConflict, "conflict"},
      {ErrorCode::kResourceExhausted, "resource_exhausted"},
      {ErrorCode::kUnsupported, "unsupported"},
      {ErrorCode::kDataCorrupt, "data_corrupt"},
      {ErrorCode::kIo, "io"},
      {ErrorCode::kCancelled, "cancelled"},
      {ErrorCode::kDeadlineExceeded, "deadline_exceeded"},
      {ErrorCode::kUnavailable, "unavailable"},
      {ErrorCode::kInternal, "internal"},
  };
  for (const auto& [code, name] : names) {
    EXPECT_EQ(to_string(code), name);
    EXPECT_EQ(error_code_from_string(name), code);
  }
  EXPECT_EQ(error_code_from_string("Internal"), std::nullopt);
  EXPECT_EQ(error_code_from_string(""), std::nullopt);
}

}  // namespace
}  // namespace cascade
