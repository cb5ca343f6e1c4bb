// A map and a list.
#include "actors/scheduler/erasures.h"

#include <algorithm>
#include <utility>

namespace cascade {

Erasure& Erasures::begin(const StoredName& chunk, Removal why) {
  Erasure& erasure = erasures_[chunk];
  erasure.why = why;
  return erasure;
}

Erasure* Erasures::find(const StoredName& chunk) {
  const auto found = erasures_.find(chunk);
  return found == erasures_.end() ? nullptr : &found->second;
}

std::vector<ErasureReply> Erasures::end(const StoredName& chunk) {
  erasures_.erase(chunk);
  std::vector<ErasureReply> ready;
  for (ErasureReply& reply : waiting_) {
    if (reply.chunks.erase(chunk) > 0 && reply.chunks.empty()) ready.push_back(std::move(reply));
  }
  std::erase_if(waiting_, [](const ErasureReply& reply) { return reply.chunks.empty(); });
  return ready;
}

std::vector<ErasureReply> Erasures::fail(const StoredName& chunk, const Error& error) {
  if (Erasure* erasure = find(chunk)) erasure->error = error;
  std::vector<ErasureReply> failed;
  for (ErasureReply& reply : waiting_) {
    if (!reply.chunks.contains(chunk)) continue;
    reply.chunks.clear();
    failed.push_back(std::move(reply));
  }
  std::erase_if(waiting_, [](const ErasureReply& reply) { return reply.chunks.empty(); });
  return failed;
}

bool Erasures::wait(ErasureReply& reply) {
  std::erase_if(reply.chunks, [&](const StoredName& chunk) { return !erasures_.contains(chunk); });
  if (reply.chunks.empty()) return false;
  waiting_.push_back(std::move(reply));
  return true;
}

std::vector<StoredName> Erasures::names() const {
  std::vector<StoredName> names;
  for (const auto& [name, erasure] : erasures_) names.push_back(name);
  return names;
}

}  // namespace cascade
