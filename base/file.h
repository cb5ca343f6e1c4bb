// Reading files that somebody else wrote: whole into memory, or mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"

namespace cascade {

// The bytes of a regular file. Errors: kNotFound, kIo, kInvalidArgument if it is not a regular
// file or is larger than bytes_max. `field` of an error is the path.
Result<std::string> read_file(const std::filesystem::path& path, size_t bytes_max);

// Distinguishes one state of a file from another, as far as file metadata can: a write changes the
// times, and a file that was moved to the path has another inode.
struct FileIdentity {
  uint64_t inode = 0;
  uint64_t bytes = 0;
  int64_t modified_ns = 0;  // Unix time of the last write
  int64_t changed_ns = 0;   // Unix time of the last write, or change of owner, mode or name
  bool operator==(const FileIdentity&) const = default;
};
// Errors: kNotFound, kIo; field = path.
Result<FileIdentity> file_identity(const std::filesystem::path& path);

// Drops from this process's memory those pages of a file mapping that lie wholly in `bytes`. A page
// that is touched afterwards is read again.
void release_pages(std::span<const uint8_t> bytes);

// A regular file mapped read-only. Movable, not copyable; unmapped by the destructor. If the file
// is truncated while it is mapped, access raises SIGBUS: callers that live longer than their input
// copy what they need (weights are packed at load, so they are copied).
class MappedFile {
 public:
  // Errors as read_file.
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  // Valid as long as this object (or the one it was moved to) lives.
  std::span<const uint8_t> bytes() const { return {data_, size_}; }
  // The identity of the mapped file at the time when it was opened.
  const FileIdentity& identity() const { return identity_; }

 private:
  MappedFile(const uint8_t* data, const FileIdentity& identity)
      : data_(data), size_(identity.bytes), identity_(identity) {}

  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
  FileIdentity identity_;
};

}  // namespace cascade
