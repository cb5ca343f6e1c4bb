// POSIX calls, and loops over those that may do a part only.
#include "base/file_calls.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>

namespace cascade {
namespace {

template <class Call>
auto uninterrupted(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace

int FileCalls::open(const std::string& path, int flags, mode_t mode) {
  return uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); });
}

int FileCalls::close(int fd) {
  return ::close(fd);  // Linux has freed the descriptor even if this was interrupted
}

int FileCalls::status(int fd, struct stat& info) {
  return ::fstat(fd, &info);
}

int FileCalls::path_status(const std::string& path, struct stat& info) {
  return ::stat(path.c_str(), &info);
}

ssize_t FileCalls::read(int fd, void* to, size_t bytes, uint64_t offset) {
  return uninterrupted([&] { return ::pread(fd, to, bytes, static_cast<off_t>(offset)); });
}

ssize_t FileCalls::write(int fd, const void* from, size_t bytes, uint64_t offset) {
  return uninterrupted([&] { return ::pwrite(fd, from, bytes, static_cast<off_t>(offset)); });
}

int FileCalls::lock(int fd) {
  return uninterrupted([&] { return ::flock(fd, LOCK_EX | LOCK_NB); });
}

int FileCalls::rename(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str());
}

int FileCalls::remove(const std::string& path) {
  return ::unlink(path.c_str());
}

int FileCalls::make_folder(const std::string& path) {
  return ::mkdir(path.c_str(), 0700);
}

int FileCalls::list(const std::string& path, std::vector<std::string>& names) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (folder == nullptr) return -1;
  errno = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return errno == 0 ? 0 : -1;
}

const uint8_t* FileCalls::map(int fd, uint64_t offset, size_t bytes) {
  void* data = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, static_cast<off_t>(offset));
  return data == MAP_FAILED ? nullptr : static_cast<const uint8_t*>(data);
}

int FileCalls::populate(const uint8_t* from, size_t bytes) {
  void* begin = const_cast<uint8_t*>(from);
  const int done = uninterrupted([&] { return ::madvise(begin, bytes, MADV_POPULATE_READ); });
  return done != 0 && errno == EINVAL ? 0 : done;  // kernels before 5.14
}

FileCalls& system_file_calls() {
  static FileCalls calls;
  return calls;
}

OwnedFd::~OwnedFd() {
  if (ok()) close();
}

int OwnedFd::close() {
  return calls_.close(std::exchange(fd_, -1));
}

Status write_fully(FileCalls& calls, int fd, std::span<const uint8_t> bytes, uint64_t offset,
                   const std::string& what) {
  while (!bytes.empty()) {
    const ssize_t done = calls.write(fd, bytes.data(), bytes.size(), offset);
    if (done < 0) return io_error(what, errno);
    if (done == 0) return io_error(what, ENOSPC);  // a file that takes nothing more
    bytes = bytes.subspan(static_cast<size_t>(done));
    offset += static_cast<uint64_t>(done);
  }
  return {};
}

Result<std::vector<uint8_t>> read_fully(FileCalls& calls, int fd, size_t bytes, uint64_t offset,
                                        const std::string& what) {
  std::vector<uint8_t> content(bytes);
  size_t filled = 0;
  while (filled < bytes) {
    const ssize_t done = calls.read(fd, content.data() + filled, bytes - filled, offset + filled);
    if (done < 0) return io_error(what, errno);
    if (done == 0) break;
    filled += static_cast<size_t>(done);
  }
  content.resize(filled);
  return content;
}

}  // namespace cascade
