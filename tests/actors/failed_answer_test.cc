// The sender of a job is answered, whatever becomes of the job.
#include "actors/failed_answer.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

const Error kTooLarge = invalid_argument("text", "is too large");

// The failed answer to `message`, which must be an A.
template <class A, class M>
A failed(M message) {
  message.job = 7;
  const auto answer = failed_answer(message, kTooLarge);
  const A* typed = answer ? std::get_if<A>(&*answer) : nullptr;
  EXPECT_NE(typed, nullptr);
  if (typed == nullptr) return {};
  EXPECT_EQ(typed->job, 7u);
  return *typed;
}

template <class A, class M>
void expect_told() {
  const A answer = failed<A>(M{});
  ASSERT_TRUE(answer.error.has_value());
  EXPECT_EQ(answer.error->to_string(), kTooLarge.to_string());
}

TEST(FailedAnswer, tells_of_a_job_that_could_not_be_sent) {
  expect_told<wire::EncodeDone, wire::EncodeJob>();
  expect_told<wire::PrefillDone, wire::PrefillJob>();
  expect_told<wire::DecodeDone, wire::DecodeJob>();
  expect_told<wire::StoreAck, wire::StorePut>();
  expect_told<wire::StoreAck, wire::StoreDelete>();
  expect_told<wire::StoreAck, wire::StoreTouch>();
  expect_told<wire::StoreAck, wire::StoreLoad>();
  expect_told<wire::StoreAck, wire::StoreSession>();
  expect_told<wire::StoreAck, wire::StoreSessionDelete>();
  expect_told<wire::StoreAck, wire::StorePolicy>();
  expect_told<wire::StoreAck, wire::StoreChain>();
  expect_told<wire::StoreAck, wire::RemovePages>();
  expect_told<wire::StorePagesDone, wire::StorePages>();
  expect_told<wire::LoadPagesDone, wire::LoadPages>();
  expect_told<wire::PagesLeased, wire::LeasePages>();
  expect_told<wire::StateStored, wire::StoreState>();
  expect_told<wire::StateLoaded, wire::LoadState>();
  expect_told<wire::StoreFound, wire::StoreSearch>();
  expect_told<wire::StoreRanked, wire::StoreRank>();
  expect_told<wire::StoreChecked, wire::StoreCheck>();
  expect_told<wire::StoreBackedUp, wire::StoreBackup>();
}

TEST(FailedAnswer, stands_for_an_answer_that_is_too_large) {
  wire::EncodeDone done;
  done.token_ids = {1, 2, 3};
  const auto told = failed<wire::EncodeDone>(done);
  EXPECT_TRUE(told.error.has_value());
  EXPECT_TRUE(told.token_ids.empty());
  expect_told<wire::DecodeDone, wire::DecodeDone>();
  expect_told<wire::StoreFound, wire::StoreFound>();
}

TEST(FailedAnswer, of_a_chain_is_that_there_is_none) {
  EXPECT_EQ(failed<wire::StoredChain>(wire::ReadChain{}).begin, -1);
  wire::StoredChain long_chain;
  long_chain.begin = 5;
  EXPECT_EQ(failed<wire::StoredChain>(long_chain).begin, -1);
}

TEST(FailedAnswer, is_none_where_nobody_waits) {
  EXPECT_FALSE(failed_answer(wire::StoreUses{}, kTooLarge));
  EXPECT_FALSE(failed_answer(wire::PrefetchPages{}, kTooLarge));
  EXPECT_FALSE(failed_answer(wire::ReleaseLeases{}, kTooLarge));
  EXPECT_FALSE(failed_answer(wire::PagesForgotten{}, kTooLarge));
  EXPECT_FALSE(failed_answer(wire::StatesForgotten{}, kTooLarge));
  EXPECT_FALSE(failed_answer(wire::PendingChain{}, kTooLarge));
  EXPECT_FALSE(failed_answer(wire::Pong{}, kTooLarge));
}

}  // namespace
}  // namespace cascade
