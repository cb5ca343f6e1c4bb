// File operations of which the n-th fails, so that a test can let each of them fail in turn.
#pragma once

#include <atomic>
#include <cerrno>
#include <string>
#include <vector>

#include "base/file_calls.h"

namespace cascade::testing {

// The n-th call (from 1) fails, and all later ones if `all_later`; the rest goes to the system.
// A close that fails closes, as Linux does.
class FailingFileCalls : public FileCalls {
 public:
  explicit FailingFileCalls(int n, bool all_later = false, int error = EIO)
      : n_(n), all_later_(all_later), error_(error) {}

  // How many calls there were.
  int calls() const { return calls_; }
  bool failed() const { return calls_ >= n_; }

  int open(const std::string& path, int flags, mode_t mode) override {
    return fails() ? -1 : FileCalls::open(path, flags, mode);
  }
  int close(int fd) override {
    const int closed = FileCalls::close(fd);
    return fails() ? -1 : closed;
  }
  int status(int fd, struct stat& info) override {
    return fails() ? -1 : FileCalls::status(fd, info);
  }
  int path_status(const std::string& path, struct stat& info) override {
    return fails() ? -1 : FileCalls::path_status(path, info);
  }
  ssize_t read(int fd, void* to, size_t bytes, uint64_t offset) override {
    return fails() ? -1 : FileCalls::read(fd, to, bytes, offset);
  }
  ssize_t write(int fd, const void* from, size_t bytes, uint64_t offset) override {
    return fails() ? -1 : FileCalls::write(fd, from, bytes, offset);
  }
  int lock(int fd) override { return fails() ? -1 : FileCalls::lock(fd); }
  int rename(const std::string& from, const std::string& to) override {
    return fails() ? -1 : FileCalls::rename(from, to);
  }
  int remove(const std::string& path) override { return fails() ? -1 : FileCalls::remove(path); }
  int make_folder(const std::string& path) override {
    return fails() ? -1 : FileCalls::make_folder(path);
  }
  int list(const std::string& path, std::vector<std::string>& names) override {
    return fails() ? -1 : FileCalls::list(path, names);
  }
  const uint8_t* map(int fd, uint64_t offset, size_t bytes) override {
    return fails() ? nullptr : FileCalls::map(fd, offset, bytes);
  }
  int populate(const uint8_t* from, size_t bytes) override {
    return fails() ? -1 : FileCalls::populate(from, bytes);
  }

 private:
  bool fails() {
    const int call = ++calls_;
    if (call != n_ && !(all_later_ && call > n_)) return false;
    errno = error_;
    return true;
  }

  int n_;
  bool all_later_;
  int error_;
  std::atomic<int> calls_ = 0;
};

}  // namespace cascade::testing
