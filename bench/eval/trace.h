// Statistics of the results of a run of `cascade-eval identity`, layer by layer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "bench/eval/identity_run.h"

namespace cascade::eval {

// Statistics of the numbers of one tensor, in the order in which they were added.
class TensorStatistics {
 public:
  void add(const Element& element);
  // {"values", "not_finite", "min", "max", "mean", "rms", "hash"}. The figures are those of the
  // finite numbers, except the hash, which covers the bits of all numbers (16 hexadecimal digits).
  Json to_json() const;

 private:
  std::vector<int32_t> bits_;
  double min_ = 0, max_ = 0, sum_ = 0, squares_ = 0;
  int64_t finite_ = 0;
};

// One object for each layer and each of K, V and, if the run recorded them, hidden states. Each has
// `run_name` as the name of its run. K and V are those of the first `tokens` tokens.
std::vector<Json> trace_of(const std::string& run_name, const KvLayout& layout,
                           const IdentityRun& run, int64_t tokens);

}  // namespace cascade::eval
