// How far the load of a model is. The threads that load write it; the doors read it.
#pragma once

#include <atomic>
#include <cstdint>

namespace cascade {

// Bytes that are read to load it: of the model's files, or of its packed weights. Any thread.
class LoadProgress {
 public:
  // Adds `bytes` to what is to be read. A negative number takes them back.
  void expect(int64_t bytes) { total_ += bytes; }
  // Adds `bytes` to what has been read and packed.
  void advance(int64_t bytes) { done_ += bytes; }

  int64_t done_bytes() const { return done_; }
  // 0: it is not known yet.
  int64_t total_bytes() const { return total_; }

 private:
  std::atomic<int64_t> total_{0};
  std::atomic<int64_t> done_{0};
};

}  // namespace cascade
