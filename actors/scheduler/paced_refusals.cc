// A queue for each tenant, and whose turn it is.
#include "actors/scheduler/paced_refusals.h"

#include <utility>

#include "base/check.h"

namespace cascade {

bool PacedRefusals::may_answer(const std::string& tenant, int64_t now_us) {
  if (stored_ >= kWaitingMax) return true;
  return !held_.contains(tenant) && bucket_.take(now_us);
}

void PacedRefusals::hold(Refusal&& refusal) {
  names_.emplace(refusal.client, refusal.id);
  std::deque<Refusal>& of_tenant = held_[refusal.client.tenant];
  of_tenant.push_back(std::move(refusal));
  ++stored_;
}

void PacedRefusals::client_gone(const Client& client) {
  const auto begin = names_.lower_bound({client, {}});
  auto end = begin;
  while (end != names_.end() && end->first == client) ++end;
  names_.erase(begin, end);
}

std::vector<Refusal> PacedRefusals::take_due(int64_t now_us) {
  std::vector<Refusal> due;
  while (!names_.empty() && bucket_.take(now_us)) due.push_back(take_next());
  if (names_.empty()) drop_all();
  return due;
}

std::vector<Refusal> PacedRefusals::take_all() {
  std::vector<Refusal> all;
  while (!names_.empty()) all.push_back(take_next());
  drop_all();
  return all;
}

void PacedRefusals::drop_all() {
  held_.clear();
  stored_ = 0;
}

Refusal PacedRefusals::take_next() {
  while (true) {
    CHECK(!held_.empty());
    auto next = held_.upper_bound(last_);
    if (next == held_.end()) next = held_.begin();
    Refusal refusal = std::move(next->second.front());
    next->second.pop_front();
    --stored_;
    const std::string tenant = next->first;
    if (next->second.empty()) held_.erase(next);
    // A refusal whose client is gone does not cost its tenant a turn.
    if (names_.erase({refusal.client, refusal.id}) == 0) continue;
    last_ = tenant;
    return refusal;
  }
}

}  // namespace cascade
