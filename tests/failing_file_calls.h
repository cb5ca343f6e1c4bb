// File operations whose n-th call fails, so that a test can make each of them fail in turn.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_calls.h"

namespace cascade::testing {

// How a call fails.
enum class Fault {
  kError,       // any call: the error
  kShortWrite,  // a write: half of the bytes are written, and no error is reported
  kTornWrite,   // a write: half of the bytes are written, and the error is reported
  kSync,        // fsync or fdatasync: the error
  kTruncate,    // ftruncate: the error
};

// The n-th call to which `fault` applies fails (from 1; 0: none), and so do all later ones if
// `all_later`; the other calls are passed to `to`. A failing close still closes, as in Linux.
class FailingFileCalls : public FileCalls {
 public:
  explicit FailingFileCalls(int n, bool all_later = false, int error = EIO,
                            FileCalls& to = system_file_calls(), Fault fault = Fault::kError)
      : n_(n), all_later_(all_later), error_(error), to_(to), fault_(fault) {}

  // The number of calls so far that could have failed.
  int calls() const { return calls_; }
  bool failed() const { return calls_ >= n_; }
  // Starts counting from 0 again; the n-th call from now on fails.
  void start_over(int n) {
    n_ = n;
    calls_ = 0;
  }
  // Called with the descriptor whose fsync or fdatasync fails.
  void on_failed_sync(std::function<void(int)> call) { on_failed_sync_ = std::move(call); }

  int open(const std::string& path, int flags, mode_t mode) override {
    return fails() ? -1 : to_.open(path, flags, mode);
  }
  int close(int fd) override {
    const int closed = to_.close(fd);
    return fails() ? -1 : closed;
  }
  int status(int fd, struct stat& info) override { return fails() ? -1 : to_.status(fd, info); }
  int path_status(const std::string& path, struct stat& info) override {
    return fails() ? -1 : to_.path_status(path, info);
  }
  ssize_t read(int fd, void* to, size_t bytes, uint64_t offset) override {
    return fails() ? -1 : to_.read(fd, to, bytes, offset);
  }
  ssize_t read_parts(int fd, std::span<const iovec> parts, uint64_t offset) override {
    return fails() ? -1 : to_.read_parts(fd, parts, offset);
  }
  ssize_t write(int fd, const void* from, size_t bytes, uint64_t offset) override {
    const iovec part = {const_cast<void*>(from), bytes};
    return write_parts(fd, std::span(&part, 1), offset);
  }
  ssize_t write_parts(int fd, std::span<const iovec> parts, uint64_t offset) override {
    if (fault_ != Fault::kShortWrite && fault_ != Fault::kTornWrite) {
      return fails() ? -1 : to_.write_parts(fd, parts, offset);
    }
    if (!fails_of(fault_)) return to_.write_parts(fd, parts, offset);
    const ssize_t written = write_half(fd, parts, offset);
    errno = error_;
    return fault_ == Fault::kShortWrite ? written : -1;
  }
  int sync(int fd) override { return sync_fails(fd) ? -1 : to_.sync(fd); }
  int sync_data(int fd) override { return sync_fails(fd) ? -1 : to_.sync_data(fd); }
  int truncate(int fd, uint64_t bytes) override {
    return fails() || fails_of(Fault::kTruncate) ? -1 : to_.truncate(fd, bytes);
  }
  int punch(int fd, uint64_t offset, uint64_t bytes) override {
    return fails() ? -1 : to_.punch(fd, offset, bytes);
  }
  int will_need(int fd, uint64_t offset, uint64_t bytes) override {
    return fails() ? -1 : to_.will_need(fd, offset, bytes);
  }
  int free_bytes(const std::string& path, uint64_t& bytes) override {
    return fails() ? -1 : to_.free_bytes(path, bytes);
  }
  int lock(int fd) override { return fails() ? -1 : to_.lock(fd); }
  int lock_range(int fd, uint64_t offset, uint64_t bytes) override {
    return fails() ? -1 : to_.lock_range(fd, offset, bytes);
  }
  int rename(const std::string& from, const std::string& to) override {
    return fails() ? -1 : to_.rename(from, to);
  }
  int remove(const std::string& path) override { return fails() ? -1 : to_.remove(path); }
  int make_folder(const std::string& path) override { return fails() ? -1 : to_.make_folder(path); }
  int list(const std::string& path, std::vector<std::string>& names) override {
    return fails() ? -1 : to_.list(path, names);
  }
  const uint8_t* map(int fd, uint64_t offset, size_t bytes) override {
    return fails() ? nullptr : to_.map(fd, offset, bytes);
  }
  int map_over(int fd, uint64_t offset, std::span<uint8_t> over) override {
    return fails() ? -1 : to_.map_over(fd, offset, over);
  }
  int populate(const uint8_t* from, size_t bytes) override {
    return fails() ? -1 : to_.populate(from, bytes);
  }

 private:
  bool fails() { return fails_of(Fault::kError); }
  // Counts a call of this kind.
  bool fails_of(Fault fault) {
    if (fault != fault_) return false;
    const int call = ++calls_;
    if (call != n_ && !(all_later_ && call > n_)) return false;
    errno = error_;
    return true;
  }
  bool sync_fails(int fd) {
    if (!fails() && !fails_of(Fault::kSync)) return false;
    if (on_failed_sync_) on_failed_sync_(fd);
    errno = error_;
    return true;
  }
  ssize_t write_half(int fd, std::span<const iovec> parts, uint64_t offset) {
    size_t bytes = 0;
    for (const iovec& part : parts) bytes += part.iov_len;
    bytes = std::max<size_t>(bytes / 2, 1);
    std::vector<iovec> half;
    for (iovec part : parts) {
      part.iov_len = std::min(part.iov_len, bytes);
      bytes -= part.iov_len;
      if (part.iov_len > 0) half.push_back(part);
    }
    return to_.write_parts(fd, half, offset);
  }

  int n_;
  bool all_later_;
  int error_;
  FileCalls& to_;
  Fault fault_;
  std::atomic<int> calls_ = 0;
  std::function<void(int)> on_failed_sync_;
};

}  // namespace cascade::testing
