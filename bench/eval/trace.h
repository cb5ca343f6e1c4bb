// Statistics of what a run of `cascade-eval identity` left, layer by layer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "bench/eval/identity_run.h"

namespace cascade::eval {

// Of the numbers of one tensor, in the order that they were added.
class TensorStatistics {
 public:
  void add(const Element& element);
  // {"values", "not_finite", "min", "max", "mean", "rms", "hash"}: of the finite ones, but for the
  // hash, which is of the bits of all (16 hexadecimal digits).
  Json to_json() const;

 private:
  std::vector<int32_t> bits_;
  double min_ = 0, max_ = 0, sum_ = 0, squares_ = 0;
  int64_t finite_ = 0;
};

// One object for each layer and each of K, V and, if the run recorded them, hidden states. `run`
// names the run in them. K and V are those of the first `tokens` tokens.
std::vector<Json> trace_of(const std::string& run_name, const KvLayout& layout,
                           const IdentityRun& run, int64_t tokens);

}  // namespace cascade::eval
