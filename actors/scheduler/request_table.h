// The requests that have been accepted and not answered yet, and in which of three lists each is.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <utility>

#include "actors/scheduler/request.h"

namespace cascade {

// One thread. References hold until remove(). A request's place follows its state: wait(), start(),
// decode() and requeue() change both.
class RequestTable {
 public:
  using Handles = std::list<uint64_t>;
  using All = std::map<uint64_t, std::unique_ptr<Request>>;

  // No handle is given twice.
  uint64_t next_handle() { return next_handle_++; }
  // Precondition: the request has a handle of its own, and its client has no other request with its
  // id.
  Request& add(std::unique_ptr<Request> request);
  // The request is over: its client's id is free, and it is in no list any more.
  void leave(const Request& request);
  // Precondition: it has left.
  void remove(uint64_t handle);

  // nullptr: it has ended.
  Request* find(uint64_t handle) const;
  Request* find(const Client& client, const wire::RequestId& id) const;
  // Precondition: the request exists.
  Request& at(uint64_t handle) const;
  const All& all() const { return requests_; }
  bool empty() const { return requests_.empty(); }

  // In the order of their arrival; those that were preempted first.
  const Handles& waiting() const { return waiting_; }
  // In the order in which they started.
  const Handles& prefilling() const { return prefilling_; }
  const Handles& decoding() const { return decoding_; }
  size_t running() const { return prefilling_.size() + decoding_.size(); }
  // The number of requests that are being tokenized or wait.
  size_t not_running() const { return requests_.size() - running(); }

  // The request waits for its turn, after all others.
  void wait(Request& request);
  // The request's prompt is computed from now on.
  void start(Request& request);
  // The request's tokens are sampled from now on.
  void decode(Request& request);
  // The request waits once more, before all others.
  void requeue(Request& request);
  // The decoding request has had its turn: it comes after the others.
  void take_decode_turn(const Request& request);

 private:
  // Moves the request from the list that it is in to the end of `list`.
  void move(Request& request, RequestState state, Handles& list);
  void take_out(uint64_t handle);

  uint64_t next_handle_ = 1;
  All requests_;
  std::map<std::pair<Client, wire::RequestId>, uint64_t> by_client_;
  Handles waiting_, prefilling_, decoding_;
};

}  // namespace cascade
