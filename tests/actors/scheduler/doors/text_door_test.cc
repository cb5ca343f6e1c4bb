// Texts and token ids that clients ask about.
#include "actors/scheduler/doors/text_door.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using testing::demo_model;

class TextDoorTest : public ::testing::Test {
 protected:
  TextDoorTest() { outbox_.connect(Actor::kPrefill, ""); }

  wire::EncodeJob job() {
    for (Outgoing& outgoing : outbox_.take()) {
      auto* found = std::get_if<wire::EncodeJob>(&outgoing.envelope.message);
      if (found != nullptr) return std::move(*found);
    }
    ADD_FAILURE() << "nothing is to be tokenized";
    return {};
  }
  template <class M>
  M answer() {
    for (Outgoing& outgoing : outbox_.take()) {
      if (auto* found = std::get_if<M>(&outgoing.envelope.message)) return std::move(*found);
    }
    ADD_FAILURE() << "no such answer";
    return {};
  }
  static wire::EncodeDone done(uint64_t job) {
    wire::EncodeDone done;
    done.job = job;
    done.token_ids = {1, 2};
    done.text = "rendered";
    return done;
  }

  const Client alice_ = {"alice", "1"}, bob_ = {"bob", "1"};
  FakeClock clock_;
  Outbox outbox_{clock_, 10, [] { return 1; }};
  Jobs jobs_;
  TextDoor door_{demo_model(), clock_, jobs_, outbox_, /*texts_max=*/2};
};

TEST_F(TextDoorTest, has_a_text_tokenized) {
  door_.on(alice_, {1}, wire::TokenizeRequest{.text = "Hello"});
  const wire::EncodeJob encode = job();
  EXPECT_EQ(encode.raw, "Hello");
  EXPECT_EQ(encode.mode, wire::EncodeJob::Mode::kText);
  wire::EncodeDone other = done(encode.job + 1);
  EXPECT_FALSE(door_.on(other)) << "somebody else's";
  EXPECT_EQ(other.token_ids.size(), 2u);
  wire::EncodeDone its_own = done(encode.job);
  EXPECT_TRUE(door_.on(its_own));
  EXPECT_EQ(answer<wire::TokenizeReply>().token_ids, (std::vector<int32_t>{1, 2}));
}

TEST_F(TextDoorTest, shows_what_a_conversation_is_rendered_to) {
  wire::ApplyTemplateRequest request;
  request.messages.push_back({.role = "user", .content = "Why?", .reasoning = {}});
  door_.on(alice_, {1}, std::move(request));
  wire::EncodeDone encoded = done(job().job);
  door_.on(encoded);
  EXPECT_EQ(answer<wire::ApplyTemplateReply>().prompt, "rendered");
}

TEST_F(TextDoorTest, gives_each_tenant_a_part_of_the_texts_at_a_time) {
  door_.on(alice_, {1}, wire::TokenizeRequest{.text = "one"});
  door_.on(alice_, {2}, wire::TokenizeRequest{.text = "two"});
  outbox_.take();
  door_.on(alice_, {3}, wire::TokenizeRequest{.text = "three"});
  EXPECT_EQ(answer<wire::ErrorReply>().error.code, ErrorCode::kResourceExhausted);
  door_.on(bob_, {1}, wire::TokenizeRequest{.text = "one"});
  EXPECT_EQ(job().raw, "one");
}

TEST_F(TextDoorTest, answers_whoever_waits_when_the_prefill_actor_is_restarted) {
  door_.on(alice_, {1}, wire::TokenizeRequest{.text = "one"});
  outbox_.take();
  jobs_.lose(Actor::kPrefill);
  EXPECT_EQ(answer<wire::ErrorReply>().error.code, ErrorCode::kInternal);
}

TEST_F(TextDoorTest, names_the_token_that_is_not_in_the_vocabulary) {
  door_.on(alice_, {1}, wire::DetokenizeRequest{.token_ids = {1, -1}});
  EXPECT_EQ(answer<wire::ErrorReply>().error.field, "token_ids[1]");
}

}  // namespace
}  // namespace cascade
