// The operating system's file operations behind a seam, so that tests can make any of them fail.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace cascade {

// Each function does what the POSIX call in its comment does, and reports errors in the same way:
// -1 and errno. An interrupted call is made again. Any thread.
class FileCalls {
 public:
  virtual ~FileCalls() = default;

  virtual int open(const std::string& path, int flags, mode_t mode = 0);  // with O_CLOEXEC
  virtual int close(int fd);
  virtual int status(int fd, struct stat& info);                                       // fstat
  virtual int path_status(const std::string& path, struct stat& info);                 // stat
  virtual ssize_t read(int fd, void* to, size_t bytes, uint64_t offset);               // pread
  virtual ssize_t write(int fd, const void* from, size_t bytes, uint64_t offset);      // pwrite
  virtual ssize_t read_parts(int fd, std::span<const iovec> parts, uint64_t offset);   // preadv
  virtual ssize_t write_parts(int fd, std::span<const iovec> parts, uint64_t offset);  // pwritev
  virtual int sync(int fd);                      // fsync; for a folder: the names in it
  virtual int sync_data(int fd);                 // fdatasync
  virtual int truncate(int fd, uint64_t bytes);  // ftruncate
  // fallocate: the range reads 0 from now on and takes no space; the file keeps its length.
  virtual int punch(int fd, uint64_t offset, uint64_t bytes);
  virtual int will_need(int fd, uint64_t offset, uint64_t bytes);    // posix_fadvise
  virtual int free_bytes(const std::string& path, uint64_t& bytes);  // statvfs: for this user
  virtual int lock(int fd);  // flock: exclusive, without waiting
  // fcntl: an exclusive lock of a range for this descriptor, without waiting, until the descriptor
  // is closed.
  virtual int lock_range(int fd, uint64_t offset, uint64_t bytes);
  virtual int rename(const std::string& from, const std::string& to);
  virtual int remove(const std::string& path);       // unlink
  virtual int make_folder(const std::string& path);  // mkdir, mode 0700
  // readdir: the names in a folder, without "." and "..".
  virtual int list(const std::string& path, std::vector<std::string>& names);
  // mmap: private, read-only; nullptr instead of MAP_FAILED.
  virtual const uint8_t* map(int fd, uint64_t offset, size_t bytes);
  // mmap: as map(), but at `over`, which begins at a page, in the place of what is mapped there.
  // Other threads may read there meanwhile: they see the old bytes or the new ones. If a limit of
  // the process does not allow it, the old mapping stays; a file system that refuses to map may
  // leave nothing there, so map the same part elsewhere first.
  virtual int map_over(int fd, uint64_t offset, std::span<uint8_t> over);
  // madvise: reads a page-aligned part of a mapping into memory, so that data that cannot be read
  // gives an error here and not a signal later. Returns success on systems that cannot do that.
  virtual int populate(const uint8_t* from, size_t bytes);
};

// The real calls of the operating system.
FileCalls& system_file_calls();

// A descriptor that the destructor closes.
class OwnedFd {
 public:
  // `fd` from calls.open(); negative if that failed.
  OwnedFd(FileCalls& calls, int fd) : calls_(calls), fd_(fd) {}
  OwnedFd(const OwnedFd&) = delete;
  OwnedFd& operator=(const OwnedFd&) = delete;
  ~OwnedFd();

  bool ok() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  // Some file systems report only here that written data was not stored.
  int close();

 private:
  FileCalls& calls_;
  int fd_;
};

// Writes all of `bytes`. Errors: kIo, field = what.
Status write_fully(FileCalls& calls, int fd, std::span<const uint8_t> bytes, uint64_t offset,
                   const std::string& what);
// Reads up to `bytes` bytes, fewer only where the file ends. Errors as write_fully.
Result<std::vector<uint8_t>> read_fully(FileCalls& calls, int fd, size_t bytes, uint64_t offset,
                                        const std::string& what);
// Like write_fully and read_fully, for bytes in any number of places: one call for each 1,024
// parts, as long as the system does all that a call asks for. read_parts_fully returns the number
// of bytes read.
Status write_parts_fully(FileCalls& calls, int fd, std::vector<iovec> parts, uint64_t offset,
                         const std::string& what);
Result<uint64_t> read_parts_fully(FileCalls& calls, int fd, std::vector<iovec> parts,
                                  uint64_t offset, const std::string& what);
// Makes the names in a folder durable. Errors: kIo, kNotFound; field = path.
Status sync_folder(FileCalls& calls, const std::string& path);

}  // namespace cascade
