// POSIX calls, and loops over calls that may do only a part of the work.
#include "base/file_calls.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
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

// Removes the first `bytes` bytes from `parts`, counted from part `first`, since they are done.
// Returns the index of the first part that is left.
size_t advance(std::vector<iovec>& parts, size_t first, size_t bytes) {
  while (first < parts.size() && bytes >= parts[first].iov_len) bytes -= parts[first++].iov_len;
  if (first < parts.size()) {
    parts[first].iov_base = static_cast<uint8_t*>(parts[first].iov_base) + bytes;
    parts[first].iov_len -= bytes;
  }
  return first;
}

std::span<const iovec> next_parts(const std::vector<iovec>& parts, size_t first) {
  return std::span(parts).subspan(first, std::min<size_t>(parts.size() - first, IOV_MAX));
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

ssize_t FileCalls::read_parts(int fd, std::span<const iovec> parts, uint64_t offset) {
  return uninterrupted([&] {
    return ::preadv(fd, parts.data(), static_cast<int>(parts.size()), static_cast<off_t>(offset));
  });
}

ssize_t FileCalls::write_parts(int fd, std::span<const iovec> parts, uint64_t offset) {
  return uninterrupted([&] {
    return ::pwritev(fd, parts.data(), static_cast<int>(parts.size()), static_cast<off_t>(offset));
  });
}

int FileCalls::sync(int fd) {
  return uninterrupted([&] { return ::fsync(fd); });
}

int FileCalls::sync_data(int fd) {
  return uninterrupted([&] { return ::fdatasync(fd); });
}

int FileCalls::truncate(int fd, uint64_t bytes) {
  return uninterrupted([&] { return ::ftruncate(fd, static_cast<off_t>(bytes)); });
}

int FileCalls::punch(int fd, uint64_t offset, uint64_t bytes) {
  return uninterrupted([&] {
    return ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                       static_cast<off_t>(bytes));
  });
}

int FileCalls::will_need(int fd, uint64_t offset, uint64_t bytes) {
  errno = ::posix_fadvise(fd, static_cast<off_t>(offset), static_cast<off_t>(bytes),
                          POSIX_FADV_WILLNEED);
  return errno == 0 ? 0 : -1;
}

int FileCalls::free_bytes(const std::string& path, uint64_t& bytes) {
  struct statvfs info = {};
  if (uninterrupted([&] { return ::statvfs(path.c_str(), &info); }) != 0) return -1;
  bytes = uint64_t{info.f_bavail} * info.f_frsize;
  return 0;
}

int FileCalls::lock_range(int fd, uint64_t offset, uint64_t bytes) {
  struct flock range = {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(offset);
  range.l_len = static_cast<off_t>(bytes);
  return uninterrupted([&] { return ::fcntl(fd, F_OFD_SETLK, &range); });
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

int FileCalls::map_over(int fd, uint64_t offset, std::span<uint8_t> over) {
  const void* data = ::mmap(over.data(), over.size(), PROT_READ, MAP_PRIVATE | MAP_FIXED, fd,
                            static_cast<off_t>(offset));
  return data == MAP_FAILED ? -1 : 0;
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

Status write_parts_fully(FileCalls& calls, int fd, std::vector<iovec> parts, uint64_t offset,
                         const std::string& what) {
  size_t first = advance(parts, 0, 0);
  while (first < parts.size()) {
    const ssize_t done = calls.write_parts(fd, next_parts(parts, first), offset);
    if (done < 0) return io_error(what, errno);
    if (done == 0) return io_error(what, ENOSPC);
    first = advance(parts, first, static_cast<size_t>(done));
    offset += static_cast<uint64_t>(done);
  }
  return {};
}

Result<uint64_t> read_parts_fully(FileCalls& calls, int fd, std::vector<iovec> parts,
                                  uint64_t offset, const std::string& what) {
  uint64_t filled = 0;
  size_t first = advance(parts, 0, 0);
  while (first < parts.size()) {
    const ssize_t done = calls.read_parts(fd, next_parts(parts, first), offset + filled);
    if (done < 0) return io_error(what, errno);
    if (done == 0) break;
    first = advance(parts, first, static_cast<size_t>(done));
    filled += static_cast<uint64_t>(done);
  }
  return filled;
}

Status sync_folder(FileCalls& calls, const std::string& path) {
  OwnedFd folder(calls, calls.open(path, O_RDONLY | O_DIRECTORY));
  if (!folder.ok() || calls.sync(folder.fd()) != 0) return io_error(path, errno);
  return {};
}

}  // namespace cascade
