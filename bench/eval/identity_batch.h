// The batch of a case's variant: the sequence and its mates, call by call.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "bench/eval/identity_case.h"
#include "bench/eval/identity_run.h"
#include "model/transformer.h"

namespace cascade::eval {

// How many tokens each call takes of one sequence.
class SliceSizes {
 public:
  // `size` is the number of tokens per call; 0: a different one of kSliceSizes each time.
  explicit SliceSizes(int size) : size_(size) {}
  // Returns at most `left`. Small slices come only at the end of a long sequence, so that no case
  // takes thousands of calls.
  size_t next(size_t left, Random& random) const;

 private:
  int size_;
};

class IdentityBatch {
 public:
  // `run` has the pages of the sequence, in which the prefix is already computed, and receives its
  // results.
  IdentityBatch(const IdentityCase& drawn, IdentityRun& run, Transformer& transformer,
                const AttentionMode& attention, Random& random);

  // Computes the tokens that mates have before the first call.
  void start_mates();
  // Makes calls until the sequence is done.
  void finish();

  // The index of the sequence's slice in the current call. The reference is valid as long as the
  // batch exists.
  const int& main_index() const { return main_index_; }
  int sharing_mates() const { return sharing_mates_; }
  // The recurrent state of the sequence after the tokens so far.
  const std::vector<float>& main_state() const { return sequences_.front().state; }

 private:
  struct Sequence {
    const MatePlan* plan = nullptr;  // nullptr: the case's sequence
    std::vector<int32_t> ids;
    std::vector<uint8_t*> pages;
    size_t done = 0;
    bool active = true;
    int64_t indexed_pages = 0;
    std::vector<float> state = {};  // of recurrent layers
    size_t left() const { return ids.size() - done; }
  };

  void share_pages(Sequence& mate);
  Slice slice_of(Sequence& sequence, size_t take, int outputs) const;
  size_t take_of(const Sequence& sequence);
  void call();
  int outputs_of(const Sequence& sequence, size_t take);
  void keep(const std::vector<float>& hidden, int rows, int rows_before, int outputs);

  const IdentityCase& drawn_;
  IdentityRun& run_;
  Transformer& transformer_;
  const AttentionMode attention_;
  Random& random_;
  const SliceSizes sizes_;
  std::vector<Sequence> sequences_;  // the first one is the case's
  int main_index_ = 0;
  int sharing_mates_ = 0;
  int outputs_done_ = 0;
};

}  // namespace cascade::eval
