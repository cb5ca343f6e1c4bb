// A map of the removals, and lists of the replies and sessions that wait for them.
#include "actors/scheduler/disk/erasures.h"

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

ErasureEnd Erasures::end(const StoredName& chunk) {
  erasures_.erase(chunk);
  ErasureEnd ended;
  std::erase_if(waiting_, [&](ErasureReply& reply) {
    const bool ready = reply.chunks.erase(chunk) > 0 && reply.chunks.empty();
    if (ready) ended.replies.push_back(std::move(reply));
    return ready;
  });
  std::erase_if(sessions_, [&](auto& session) {
    auto& [name, outputs] = session;
    const bool ready = outputs.erase(chunk) > 0 && outputs.empty();
    if (ready) ended.sessions.push_back(std::move(name));
    return ready;
  });
  return ended;
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

bool Erasures::remove_after(const StoredName& session, std::set<StoredName> outputs) {
  std::erase_if(outputs, [&](const StoredName& output) { return !erasures_.contains(output); });
  if (outputs.empty()) return false;
  sessions_.emplace_back(session, std::move(outputs));
  return true;
}

std::vector<StoredName> Erasures::names() const {
  std::vector<StoredName> names;
  for (const auto& [name, erasure] : erasures_) names.push_back(name);
  return names;
}

}  // namespace cascade
