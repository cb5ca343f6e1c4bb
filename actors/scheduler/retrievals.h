// Finds what may answer a request's question among the turns that its prompt lacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "actors/scheduler/jobs.h"
#include "actors/scheduler/outbox.h"
#include "actors/scheduler/request_table.h"
#include "cache/chunk_registry.h"
#include "wire/messages.h"

namespace cascade {

// The tokenizer chooses passages (model/passage_ranking.h) of at most kTurnsMax outputs, so that a
// request takes as long however many the conversation has. If it has more, the search index of the
// store says which ones; if there is no such index, or the store does not answer, they are the
// newest ones. Of turns that have no output, the newest are looked through. One thread.
class Retrievals {
 public:
  static constexpr size_t kTurnsMax = 256;
  // The most bytes that their texts have together, and those of turns that have no output.
  static constexpr size_t kBytesMax = size_t{1} << 20;
  static constexpr size_t kTextBytesMax = size_t{4} << 20;
  // With less room nothing is brought back.
  static constexpr int64_t kTokensMin = 32;

  // `ready` is called when a request is to be tokenized again, with its Request::retrieval; also
  // within begin(). The references outlive this.
  Retrievals(Jobs& jobs, Outbox& outbox, ChunkRegistry& registry, const RequestTable& requests,
             std::function<void(Request&)> ready);

  // The prompt of a request was tokenized. Returns whether something may be brought back. Then
  // `ready` follows, unless the request ends before that, and the prompt is tokenized once more:
  // for that one it returns false.
  bool begin(Request& request, wire::EncodeDone& done);
  // The store's answer.
  void on(wire::StoreRanked&& answer);

 private:
  struct Asked {
    uint64_t handle = 0;
    std::vector<std::string> outputs;
  };

  void found(const Asked& asked, const std::vector<std::string>& best);

  Jobs& jobs_;
  Outbox& outbox_;
  ChunkRegistry& registry_;
  const RequestTable& requests_;
  const std::function<void(Request&)> ready_;
  PendingJobs<Asked> asked_;
};

}  // namespace cascade
