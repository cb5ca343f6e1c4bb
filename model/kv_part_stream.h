// Reads parts and blocks of pages ahead of their use, on a thread of its own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/result.h"
#include "model/read_buffer.h"
#include "model/slice.h"

namespace cascade {

// There are two buffers: while the caller computes with one, the other is filled. One thread calls
// the public functions.
class KvPartStream {
 public:
  // Parts, or blocks, that are read together.
  struct Piece {
    KvPartReader* reader;
    int part;
    std::span<const int32_t> numbers;  // of pages or blocks, as KvPartReader has them
    size_t bytes;                      // that these take, at most buffer_bytes
    bool blocks = false;
  };

  // There are two buffers of `buffer_bytes`, a multiple of 4,096. Starts the thread.
  explicit KvPartStream(size_t buffer_bytes);
  ~KvPartStream();
  KvPartStream(const KvPartStream&) = delete;
  KvPartStream& operator=(const KvPartStream&) = delete;

  // Begins to read the pieces, in order. Their readers and pages must stay until stop().
  // Precondition: nothing is being read (stop()).
  void start(std::vector<Piece> pieces);

  // Waits for the next piece, and returns what was read. It stays until the next call of next() or
  // stop(). Precondition: there is another piece, and no call since start() failed. Errors: the
  // reader's.
  Result<const uint8_t*> next();

  // Waits for the read in progress, and drops the pieces that are left. May be called at any time.
  void stop();

 private:
  void run();
  uint8_t* buffer(size_t piece) const { return buffers_.data() + piece % 2 * buffer_bytes_; }

  const size_t buffer_bytes_;
  ReadBuffer buffers_;  // two

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Piece> pieces_;
  size_t read_ = 0;             // pieces whose read has ended
  size_t taken_ = 0;            // pieces that next() has returned
  bool reading_ = false;        // the thread is inside a reader
  std::optional<Error> error_;  // of the piece pieces_[read_]; nothing is read after it
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace cascade
