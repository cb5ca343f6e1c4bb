// The progress of loading a model. The loading threads write it; the doors read it.
#pragma once

#include <atomic>
#include <cstdint>

namespace cascade {

// Counts the bytes that are read to load a model, from the model's files or from its packed
// weights. Any thread.
class LoadProgress {
 public:
  // Adds `bytes` to the bytes that have to be read. A negative number takes them back.
  void expect(int64_t bytes) { total_ += bytes; }
  // Adds `bytes` to the bytes that have been read and packed.
  void advance(int64_t bytes) { done_ += bytes; }

  int64_t done_bytes() const { return done_; }
  // 0: the total is not known yet.
  int64_t total_bytes() const { return total_; }

 private:
  std::atomic<int64_t> total_{0};
  std::atomic<int64_t> done_{0};
};

}  // namespace cascade
