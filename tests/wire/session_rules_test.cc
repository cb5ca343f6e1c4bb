// How a session is named, and what a policy may say.
#include <gtest/gtest.h>

#include "wire/request_rules.h"

namespace cascade::wire {
namespace {

GenerateRequest turn(const std::string& session) {
  GenerateRequest request;
  request.chunks = {{ChunkType::kQuery, "", "And of Italy?"}};
  request.session = session;
  return request;
}

TEST(SessionRules, a_session_has_a_name_of_one_line) {
  EXPECT_TRUE(check_request(turn("trip")).ok());
  EXPECT_TRUE(check_request(turn(std::string(128, 'n'))).ok());
  for (const std::string& wrong :
       {std::string(129, 'n'), std::string("a\nb"), std::string("\xff")}) {
    EXPECT_EQ(check_request(turn(wrong)).error().field, "session") << wrong;
    EXPECT_EQ(check_request(SessionGet{wrong}).error().field, "id") << wrong;
    EXPECT_EQ(check_request(SessionDelete{wrong, true}).error().field, "id") << wrong;
  }
  EXPECT_EQ(check_request(SessionGet{""}).error().field, "id");
}

TEST(SessionRules, a_session_adds_to_chunks_only) {
  GenerateRequest request = turn("trip");
  request.chunks.clear();
  request.prompt = "And of Italy?";
  EXPECT_EQ(check_request(request).error().field, "session");
}

TEST(PreviousOutputRules, stands_before_chunks_or_messages_without_a_session) {
  GenerateRequest request = turn("");
  request.previous_output = "output_1";
  EXPECT_TRUE(check_request(request).ok());
  request.session = "trip";
  EXPECT_EQ(check_request(request).error().field, "previous_output");
  request.session.clear();
  request.chunks.clear();
  request.prompt = "And of Italy?";
  EXPECT_EQ(check_request(request).error().field, "previous_output");
  request.prompt.reset();
  request.messages = {{.role = "user", .content = "And of Italy?", .reasoning = {}}};
  EXPECT_TRUE(check_request(request).ok());
  request.previous_output = std::string(1000, 'o');
  EXPECT_EQ(check_request(request).error().field, "previous_output");
}

TEST(OverflowRules, a_raw_prompt_has_no_turns_to_leave_out) {
  GenerateRequest request = turn("");
  request.on_overflow = OnOverflow::kDropOldest;
  EXPECT_TRUE(check_request(request).ok());
  request.chunks.clear();
  request.prompt = "And of Italy?";
  EXPECT_EQ(check_request(request).error().field, "on_overflow");
  request.on_overflow.reset();
  EXPECT_TRUE(check_request(request).ok());
}

TEST(PreviousOutputRules, parents_belong_to_messages_whose_output_is_retained) {
  GenerateRequest request;
  request.messages = {{.role = "user", .content = "Hi", .reasoning = {}}};
  request.parents = {"output_1"};
  EXPECT_EQ(check_request(request).error().field, "parents");
  request.retain_output = true;
  EXPECT_TRUE(check_request(request).ok());
  request.parents.assign(kParentIdsMax, "output_1");
  EXPECT_TRUE(check_request(request).ok());
  request.parents.emplace_back("output_1");
  EXPECT_EQ(check_request(request).error().field, "parents");
  request.parents = {"output_1", ""};
  EXPECT_EQ(check_request(request).error().field, "parents[1]");
  request = turn("");
  request.retain_output = true;
  request.parents = {"output_1"};
  EXPECT_EQ(check_request(request).error().field, "parents");
}

TEST(SessionRules, a_session_retains_its_output) {
  GenerateRequest request = turn("trip");
  request.output_name = "Rome";
  EXPECT_TRUE(check_request(request).ok());
}

TEST(SessionRules, limits_of_lists_and_times_to_live) {
  EXPECT_TRUE(check_request(SessionListRequest{1}).ok());
  EXPECT_EQ(check_request(SessionListRequest{0}).error().field, "limit");
  EXPECT_EQ(check_request(SessionListRequest{1001}).error().field, "limit");
  EXPECT_TRUE(check_request(PolicySet{ChunkType::kOutput, 0}).ok());
  EXPECT_TRUE(check_request(PolicySet{ChunkType::kOutput, kDurationMsMax}).ok());
  EXPECT_EQ(check_request(PolicySet{ChunkType::kOutput, -1}).error().field, "ttl_ms");
  EXPECT_EQ(check_request(PolicySet{ChunkType::kOutput, kDurationMsMax + 1}).error().field,
            "ttl_ms");
}

}  // namespace
}  // namespace cascade::wire
