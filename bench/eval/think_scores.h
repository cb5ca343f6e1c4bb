// What the think policies keep of answers, by kind of task.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/chunk.h"
#include "bench/eval/divergence.h"

namespace cascade::eval {

// A question that was answered after a turn whose thoughts a policy dealt with.
struct ThinkResult {
  bool as_expected = false;                  // the answer is the task's
  bool equal = false;                        // it has the tokens of the exact one
  std::vector<Divergence> divergences = {};  // from the exact one's predictions
  double ready_seconds = 0;                  // until K and V of the history were in place
  int64_t kv_bytes = 0;                      // of the pages that hold them
};

class ThinkScores {
 public:
  void add(const std::string& kind, ThinkPolicy policy, ThinkResult result);
  // A line for each kind in the order of their first results, and one for all, with each policy in
  // the order of its first result. `ready ms` is a median, `KV KiB` a mean. Empty without a result.
  std::string table() const;

 private:
  std::vector<std::string> kinds_;
  std::vector<ThinkPolicy> policies_;
  std::map<std::string, std::map<ThinkPolicy, std::vector<ThinkResult>>> results_;  // by kind
};

}  // namespace cascade::eval
