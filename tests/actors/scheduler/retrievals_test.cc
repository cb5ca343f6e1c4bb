// What a request may have again of its earlier turns: when it is looked for, and how the store
// helps.
#include "actors/scheduler/retrievals.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"

namespace cascade {
namespace {

class RetrievalsTest : public ::testing::Test {
 protected:
  RetrievalsTest() {
    outbox_.connect(Actor::kStore, "");
    auto request = std::make_unique<Request>();
    request->handle = requests_.next_handle();
    request->client = {"alice", "1"};
    request->on_overflow = OnOverflow::kRetrieve;
    request->left_out = {3, 0};
    request->prompt_room = 800;
    request->retrieved_max = 100;
    request->messages = {{.role = "user", .content = "Where?", .reasoning = {}}};
    request_ = &requests_.add(std::move(request));
  }

  void add_outputs(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      Chunk chunk;
      chunk.id = "o" + std::to_string(i);
      chunk.type = ChunkType::kOutput;
      chunk.tenant = "alice";
      chunk.text = "Here.";
      chunk.content_hash = chunk.id;
      ASSERT_TRUE(registry_.add(chunk).ok());
      request_->earlier.outputs.push_back(chunk.id);
    }
  }
  // Whether the request, whose prompt has so many tokens, is to be tokenized again.
  bool begin(size_t tokens = 400) {
    wire::EncodeDone done;
    done.token_ids.resize(tokens);
    return retrievals_.begin(*request_, done);
  }
  std::vector<wire::StoreRank> asked() {
    std::vector<wire::StoreRank> jobs;
    for (const Outgoing& outgoing : outbox_.take()) {
      const auto* job = std::get_if<wire::StoreRank>(&outgoing.envelope.message);
      if (job != nullptr) jobs.push_back(*job);
    }
    return jobs;
  }

  FakeClock clock_;
  Outbox outbox_{clock_, 10, [] { return 1; }};
  Jobs jobs_;
  ChunkRegistry registry_;
  RequestTable requests_;
  int ready_ = 0;
  Retrievals retrievals_{jobs_, outbox_, registry_, requests_, [this](Request&) { ++ready_; }};
  Request* request_ = nullptr;
};

TEST_F(RetrievalsTest, few_turns_are_given_to_the_tokenizer_at_once) {
  add_outputs(3);
  request_->earlier.texts = {{"", "said", "heard"}};
  ASSERT_TRUE(begin());
  EXPECT_EQ(ready_, 1);
  EXPECT_TRUE(asked().empty());
  ASSERT_EQ(request_->retrieval->turns.size(), 4u);
  EXPECT_EQ(request_->retrieval->turns[0].chunk_id, "o0");
  EXPECT_EQ(request_->retrieval->turns[3].question, "said");
  EXPECT_EQ(request_->retrieval->tokens_max, 100);
  EXPECT_EQ(request_->prompt.size(), 400u);
  EXPECT_TRUE(request_->earlier.texts.empty()) << "they are held once";
  EXPECT_FALSE(begin()) << "the prompt with it is the last one";
}

TEST_F(RetrievalsTest, of_many_turns_the_search_index_says_which) {
  add_outputs(Retrievals::kTurnsMax + 10);
  ASSERT_TRUE(begin());
  EXPECT_EQ(ready_, 0);
  const auto jobs = asked();
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].tenant, "alice");
  EXPECT_EQ(jobs[0].question, "Where?");
  EXPECT_EQ(jobs[0].ids.size(), Retrievals::kTurnsMax + 10);
  retrievals_.on(wire::StoreRanked{jobs[0].job, std::nullopt, {"o7", "o3"}});
  EXPECT_EQ(ready_, 1);
  const auto& turns = request_->retrieval->turns;
  ASSERT_EQ(turns.size(), Retrievals::kTurnsMax);
  EXPECT_EQ(turns[0].chunk_id, "o3");
  EXPECT_EQ(turns[1].chunk_id, "o7");
  EXPECT_EQ(turns[2].chunk_id, "o12") << "the newest ones fill up the number";
}

TEST_F(RetrievalsTest, without_an_answer_of_the_store_they_are_the_newest_turns) {
  add_outputs(Retrievals::kTurnsMax + 1);
  for (const bool restarted : {false, true}) {
    request_->retrieval.reset();
    ASSERT_TRUE(begin());
    if (restarted) {
      jobs_.lose(Actor::kStore);
    } else {
      retrievals_.on(
          wire::StoreRanked{asked().front().job, unsupported("question", "no index"), {}});
    }
    EXPECT_EQ(request_->retrieval->turns.front().chunk_id, "o1");
  }
  EXPECT_EQ(ready_, 2);
}

TEST_F(RetrievalsTest, an_answer_for_a_request_that_has_ended_is_ignored) {
  add_outputs(Retrievals::kTurnsMax + 1);
  ASSERT_TRUE(begin());
  requests_.leave(*request_);
  requests_.remove(request_->handle);
  retrievals_.on(wire::StoreRanked{asked().front().job, std::nullopt, {}});
  EXPECT_EQ(ready_, 0);
}

TEST_F(RetrievalsTest, nothing_is_looked_for_unless_something_is_left_out_and_there_is_room) {
  EXPECT_FALSE(begin()) << "no turn is known";
  add_outputs(1);
  EXPECT_FALSE(begin(900 - Retrievals::kTokensMin)) << "the newest turn takes all the room";
  wire::EncodeDone too_long;
  too_long.tokens_left_out = 1'000'000;
  EXPECT_FALSE(retrievals_.begin(*request_, too_long));
  EXPECT_TRUE(begin(800));
  EXPECT_LT(request_->retrieval->tokens_max, 100);
  request_->retrieval.reset();
  request_->left_out = {};
  EXPECT_FALSE(begin());
  request_->left_out = {3, 0};
  request_->on_overflow = OnOverflow::kDropOldest;
  EXPECT_FALSE(begin());
  request_->on_overflow = OnOverflow::kRetrieve;
  request_->prefix = true;
  EXPECT_FALSE(begin());
  request_->prefix = false;
  request_->messages.front().role = "system";
  EXPECT_FALSE(begin()) << "nobody asks";
  EXPECT_EQ(ready_, 1);
}

}  // namespace
}  // namespace cascade
