// Requests by handle and by client, and the lists that they wait and run in.
#include "actors/scheduler/request_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace cascade {
namespace {

class RequestTableTest : public ::testing::Test {
 protected:
  using List = RequestTable::Handles;

  Request& add(uint8_t id) {
    auto request = std::make_unique<Request>();
    request->handle = table_.next_handle();
    request->client = client_;
    request->id = {id};
    return table_.add(std::move(request));
  }

  const Client client_ = {"alice", "1"};
  RequestTable table_;
};

TEST_F(RequestTableTest, finds_requests_by_handle_and_by_client) {
  Request& first = add(1);
  Request& second = add(2);
  EXPECT_NE(first.handle, second.handle);
  EXPECT_EQ(table_.find(first.handle), &first);
  EXPECT_EQ(table_.find(client_, {2}), &second);
  EXPECT_EQ(table_.find({"bob", "1"}, {2}), nullptr);
  EXPECT_EQ(table_.find(99), nullptr);
  EXPECT_EQ(&table_.at(second.handle), &second);
}

TEST_F(RequestTableTest, moves_a_request_from_list_to_list) {
  Request& request = add(1);
  table_.wait(request);
  EXPECT_EQ(request.state, RequestState::kWaiting);
  EXPECT_EQ(table_.running(), 0u);
  table_.start(request);
  EXPECT_EQ(request.state, RequestState::kPrefilling);
  EXPECT_TRUE(table_.waiting().empty());
  EXPECT_EQ(table_.prefilling(), List{request.handle});
  table_.decode(request);
  EXPECT_EQ(request.state, RequestState::kDecoding);
  EXPECT_TRUE(table_.prefilling().empty());
  EXPECT_EQ(table_.running(), 1u);
  table_.requeue(request);
  EXPECT_EQ(request.state, RequestState::kWaiting);
  EXPECT_EQ(table_.running(), 0u);
}

TEST_F(RequestTableTest, lets_a_preempted_request_wait_before_all_others) {
  Request& first = add(1);
  Request& second = add(2);
  table_.wait(first);
  table_.start(first);
  table_.wait(second);
  table_.requeue(first);
  EXPECT_EQ(table_.waiting(), (List{first.handle, second.handle}));
}

TEST_F(RequestTableTest, gives_decoding_requests_their_turns) {
  Request& first = add(1);
  Request& second = add(2);
  table_.decode(first);
  table_.decode(second);
  table_.take_decode_turn(first);
  EXPECT_EQ(table_.decoding(), (RequestTable::Handles{second.handle, first.handle}));
  table_.take_decode_turn(first);
  EXPECT_EQ(table_.decoding(), (RequestTable::Handles{second.handle, first.handle}));
  table_.take_decode_turn(second);
  EXPECT_EQ(table_.decoding(), (RequestTable::Handles{first.handle, second.handle}));
}

TEST_F(RequestTableTest, frees_the_clients_id_when_a_request_leaves) {
  Request& request = add(1);
  const uint64_t handle = request.handle;
  table_.wait(request);
  table_.leave(request);
  EXPECT_TRUE(table_.waiting().empty());
  EXPECT_EQ(table_.find(client_, {1}), nullptr);
  EXPECT_EQ(table_.find(handle), &request) << "until it is removed";
  add(1);
  table_.remove(handle);
  EXPECT_EQ(table_.find(handle), nullptr);
  EXPECT_FALSE(table_.empty());
}

}  // namespace
}  // namespace cascade
