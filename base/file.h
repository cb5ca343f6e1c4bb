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

// A regular file mapped read-only. Movable, not copyable; unmapped by the destructor.
// A file that is truncated while mapped raises SIGBUS on access: callers that outlive their input
// copy what they need (weights are packed at load, so they do).
class MappedFile {
 public:
  // Errors as read_file.
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  // Valid as long as this object (or the one it was moved to) lives.
  std::span<const uint8_t> bytes() const { return {data_, size_}; }

 private:
  MappedFile(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace cascade
