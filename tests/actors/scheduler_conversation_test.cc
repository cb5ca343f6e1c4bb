// How a request continues the conversation that ended with the output it names.
#include <gtest/gtest.h>

#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using testing::ask;
using testing::kGeographer;
using testing::output_ref;
using testing::query_text;
using testing::SchedulerWorld;
using testing::system_text;
using wire::ChunkRef;

constexpr char kFact[] = "The river Seine flows through Paris.";

class GoingOn : public ::testing::Test {
 protected:
  wire::Final answer(const wire::GenerateRequest& request) {
    return world_.one<wire::Final>(world_.send(request));
  }
  wire::ErrorReply error(const wire::GenerateRequest& request) {
    return world_.one<wire::ErrorReply>(world_.send(request));
  }
  static wire::GenerateRequest behind(const std::string& output,
                                      const std::vector<ChunkRef>& chunks) {
    wire::GenerateRequest request = ask(chunks);
    request.retain_output = true;
    request.previous_output = output;
    return request;
  }
  static wire::GenerateRequest said(const std::vector<ChatMessage>& messages) {
    wire::GenerateRequest request = ask({});
    request.messages = messages;
    request.retain_output = true;
    return request;
  }
  static ChatMessage message(const char* role, const std::string& content) {
    return {.role = role, .content = content, .reasoning = {}};
  }
  Chunk chunk(const std::string& id) {
    return world_.one<wire::ChunkReply>(world_.send(wire::ChunkGet{id})).chunk;
  }

  // Asks with a system prompt, a fact and a question, then asks another question after the answer.
  void SetUp() override {
    wire::GenerateRequest request = ask(
        {system_text(kGeographer), {ChunkType::kContext, "", kFact}, query_text("Which city?")});
    request.retain_output = true;
    first_ = answer(request).output_chunk_id;
    second_ = answer(behind(first_, {query_text("In which country?")})).output_chunk_id;
    ASSERT_FALSE(second_.empty());
  }

  SchedulerWorld world_;
  std::string first_, second_;
};

TEST_F(GoingOn, one_id_stands_for_all_that_came_before) {
  const wire::Final by_id = answer(behind(second_, {query_text("And its capital?")}));
  const wire::Final by_hand = answer(ask({system_text(kGeographer), output_ref(first_),
                                          output_ref(second_), query_text("And its capital?")}));
  EXPECT_EQ(by_id.usage.prompt_tokens, by_hand.usage.prompt_tokens);
  EXPECT_EQ(by_id.token_ids, by_hand.token_ids);
  EXPECT_EQ(by_id.logprobs, by_hand.logprobs);
  const std::vector<std::string> parents = chunk(by_id.output_chunk_id).parent_ids;
  ASSERT_EQ(parents.size(), 4u);  // the system prompt, the fact, both outputs
  EXPECT_EQ(parents[2], first_);
  EXPECT_EQ(parents[3], second_);
}

TEST_F(GoingOn, a_system_prompt_of_its_own_replaces_the_one_before) {
  const wire::Final by_id =
      answer(behind(first_, {system_text("You are a poet."), query_text("Sing of it.")}));
  const wire::Final by_hand =
      answer(ask({system_text("You are a poet."), output_ref(first_), query_text("Sing of it.")}));
  EXPECT_EQ(by_id.token_ids, by_hand.token_ids);
  EXPECT_EQ(by_id.usage.prompt_tokens, by_hand.usage.prompt_tokens);
}

TEST_F(GoingOn, messages_stand_behind_it) {
  wire::GenerateRequest more = said({message("user", "And its capital?")});
  more.previous_output = second_;
  const wire::Final with_messages = answer(more);
  const wire::Final with_chunks = answer(behind(second_, {query_text("And its capital?")}));
  EXPECT_EQ(with_messages.token_ids, with_chunks.token_ids);
  EXPECT_EQ(with_messages.usage.prompt_tokens, with_chunks.usage.prompt_tokens);
  EXPECT_EQ(chunk(with_messages.output_chunk_id).parent_ids,
            chunk(with_chunks.output_chunk_id).parent_ids);
  more.messages.insert(more.messages.begin(), message("system", "You are a poet."));
  const wire::Final poet = answer(more);
  const wire::Final poet_of_chunks =
      answer(behind(second_, {system_text("You are a poet."), query_text("And its capital?")}));
  EXPECT_EQ(poet.token_ids, poet_of_chunks.token_ids);
  EXPECT_EQ(poet.usage.prompt_tokens, poet_of_chunks.usage.prompt_tokens);
}

TEST_F(GoingOn, messages_may_say_whose_turns_they_have) {
  const std::string one = answer(said({message("user", "Hello.")})).output_chunk_id;
  wire::GenerateRequest request =
      said({message("user", "Hello."), message("assistant", chunk(one).text),
            message("user", "Who are you?")});
  request.parents = {one};
  const std::string two = answer(request).output_chunk_id;
  EXPECT_EQ(chunk(two).parent_ids, std::vector<std::string>{one});
  const wire::Final by_id = answer(behind(two, {query_text("Why?")}));
  const wire::Final by_hand = answer(ask({output_ref(one), output_ref(two), query_text("Why?")}));
  EXPECT_EQ(by_id.token_ids, by_hand.token_ids);
  EXPECT_EQ(by_id.usage.prompt_tokens, by_hand.usage.prompt_tokens);
}

TEST_F(GoingOn, the_same_output_again_may_know_more_of_what_it_was_made_of) {
  const std::string question = "And its capital?";
  const Chunk one = chunk(first_), two = chunk(second_);
  const auto sampled = said({message("system", kGeographer), message("user", one.query_text),
                             message("assistant", one.text), message("user", two.query_text),
                             message("assistant", two.text), message("user", question)});
  const std::string unknown = answer(sampled).output_chunk_id;
  EXPECT_TRUE(chunk(unknown).parent_ids.empty());
  const std::string known = answer(behind(second_, {query_text(question)})).output_chunk_id;
  EXPECT_EQ(known, unknown);
  EXPECT_EQ(chunk(known).parent_ids.size(), 4u);
  answer(sampled);
  EXPECT_EQ(chunk(known).parent_ids.size(), 4u) << "who knows less changes nothing";
}

TEST_F(GoingOn, what_is_gone_is_an_error_and_no_shorter_conversation) {
  EXPECT_EQ(error(behind("output_none", {query_text("?")})).error.field, "previous_output");
  world_.send(wire::ChunkDelete{first_});
  world_.pump();
  const wire::ErrorReply gone = error(behind(second_, {query_text("?")}));
  EXPECT_EQ(gone.error.code, ErrorCode::kNotFound);
  EXPECT_EQ(gone.error.field, "previous_output");
  EXPECT_NE(gone.error.message.find(first_), std::string::npos) << gone.error.message;
}

TEST_F(GoingOn, what_is_gone_is_left_out_if_the_request_says_so) {
  wire::GenerateRequest request = behind("output_none", {query_text("?")});
  request.on_missing = OnMissing::kSkip;
  const wire::Final alone = answer(request);
  ASSERT_EQ(alone.missing.size(), 1u);
  EXPECT_EQ(alone.missing[0].id, "output_none");
  world_.send(wire::ChunkDelete{first_});
  world_.pump();
  request.previous_output = second_;
  const wire::Final after = answer(request);
  ASSERT_EQ(after.missing.size(), 1u);
  EXPECT_EQ(after.missing[0].id, first_);
  EXPECT_GT(after.usage.prompt_tokens, alone.usage.prompt_tokens);
}

TEST_F(GoingOn, only_outputs_have_something_before_them) {
  const std::string fact = chunk(first_).parent_ids.at(1);
  const wire::ErrorReply wrong = error(behind(fact, {query_text("?")}));
  EXPECT_EQ(wrong.error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(wrong.error.field, "previous_output");
  wire::GenerateRequest request = said({message("user", "Hello.")});
  request.parents = {first_, fact};
  EXPECT_EQ(error(request).error.field, "parents[1]");
  request.parents = {first_, "output_none"};
  EXPECT_EQ(error(request).error.field, "parents[1]");
}

}  // namespace
}  // namespace cascade
