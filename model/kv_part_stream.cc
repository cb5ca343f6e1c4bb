// Piece i is read into buffer i % 2, as soon as the caller has let go of piece i - 2.
#include "model/kv_part_stream.h"

#include <algorithm>

#include "base/check.h"
#include "base/clock.h"

namespace cascade {
KvPartStream::KvPartStream(size_t buffer_bytes)
    : buffer_bytes_(buffer_bytes), buffers_(2 * buffer_bytes), thread_([this] { run(); }) {}

KvPartStream::~KvPartStream() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void KvPartStream::start(std::vector<Piece> pieces) {
  {
    const std::lock_guard lock(mutex_);
    CHECK(pieces_.empty() && !reading_);
    for (const Piece& piece : pieces) CHECK(piece.bytes <= buffer_bytes_);
    pieces_ = std::move(pieces);
  }
  changed_.notify_all();
}

Result<const uint8_t*> KvPartStream::next() {
  std::unique_lock lock(mutex_);
  const size_t piece = taken_;
  CHECK(piece < pieces_.size());
  ++taken_;  // lets go of the piece before it
  changed_.notify_all();
  const auto has_it = [&] { return read_ > piece || error_; };
  if (!has_it()) {
    const int64_t begin_us = system_clock().monotonic_us();
    changed_.wait(lock, has_it);
    pieces_[piece].reader->waited(system_clock().monotonic_us() - begin_us);
  }
  if (read_ <= piece) return *error_;
  return buffer(piece);
}

void KvPartStream::stop() {
  std::unique_lock lock(mutex_);
  // No read begins while there are no pieces.
  pieces_.resize(std::min(pieces_.size(), read_ + (reading_ ? 1 : 0)));
  changed_.wait(lock, [&] { return !reading_; });
  pieces_.clear();
  read_ = taken_ = 0;
  error_.reset();
}

void KvPartStream::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] {
      // Both buffers are free until the caller takes the first piece; then it holds one.
      const size_t begun_max = std::max(taken_ + 1, size_t{2});
      return ending_ || (read_ < std::min(pieces_.size(), begun_max) && !error_);
    });
    if (ending_) return;
    const Piece piece = pieces_[read_];
    uint8_t* const to = buffer(read_);
    reading_ = true;
    lock.unlock();
    Status status = piece.blocks ? piece.reader->read_blocks(piece.part, piece.numbers, to)
                                 : piece.reader->read(piece.part, piece.numbers, to);
    lock.lock();
    reading_ = false;
    if (status.ok()) {
      ++read_;
    } else {
      error_ = std::move(status).error();
    }
    changed_.notify_all();
  }
}

}  // namespace cascade
