// A map and three lists of its keys.
#include "actors/scheduler/request_table.h"

#include <algorithm>

#include "base/check.h"

namespace cascade {

Request& RequestTable::add(std::unique_ptr<Request> request) {
  const uint64_t handle = request->handle;
  CHECK(by_client_.emplace(std::pair(request->client, request->id), handle).second);
  const auto [added, is_new] = requests_.emplace(handle, std::move(request));
  CHECK(is_new);
  return *added->second;
}

void RequestTable::leave(const Request& request) {
  take_out(request.handle);
  by_client_.erase({request.client, request.id});
}

void RequestTable::remove(uint64_t handle) {
  CHECK(requests_.erase(handle) == 1);
}

Request* RequestTable::find(uint64_t handle) const {
  const auto found = requests_.find(handle);
  return found == requests_.end() ? nullptr : found->second.get();
}

Request* RequestTable::find(const Client& client, const wire::RequestId& id) const {
  const auto found = by_client_.find({client, id});
  return found == by_client_.end() ? nullptr : &at(found->second);
}

Request& RequestTable::at(uint64_t handle) const {
  return *requests_.at(handle);
}

void RequestTable::wait(Request& request) {
  move(request, RequestState::kWaiting, waiting_);
}

void RequestTable::start(Request& request) {
  move(request, RequestState::kPrefilling, prefilling_);
}

void RequestTable::decode(Request& request) {
  move(request, RequestState::kDecoding, decoding_);
}

void RequestTable::requeue(Request& request) {
  take_out(request.handle);
  request.state = RequestState::kWaiting;
  waiting_.push_front(request.handle);
}

void RequestTable::take_decode_turn(const Request& request) {
  const auto turn = std::ranges::find(decoding_, request.handle);
  CHECK(turn != decoding_.end());
  decoding_.splice(decoding_.end(), decoding_, turn);
}

void RequestTable::move(Request& request, RequestState state, Handles& list) {
  take_out(request.handle);
  request.state = state;
  list.push_back(request.handle);
}

void RequestTable::take_out(uint64_t handle) {
  waiting_.remove(handle);
  prefilling_.remove(handle);
  decoding_.remove(handle);
}

}  // namespace cascade
