// The memory that a model's packed matrices lie in: its own, or that of a file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/file_calls.h"
#include "base/result.h"

namespace cascade {

// Movable, not copyable; unmapped by the destructor. Addresses survive a move.
class PackedMemory {
 public:
  PackedMemory() = default;
  // Zeroed anonymous memory, in huge pages where the system has them: a decode step reads all of
  // it, and small pages cost address translations. It begins at a multiple of a huge page, so that
  // a file can be mapped over it in huge pages, too. Errors: kResourceExhausted, field "weights".
  static Result<PackedMemory> allocate(size_t bytes);
  // The same for buffers without which nothing can be computed: throws std::bad_alloc.
  static PackedMemory require(size_t bytes);

  // Maps `bytes` bytes of the file `fd` from `offset` on, a multiple of the page size, read-only.
  // The file must not be cut off during the life of this object: reading a part that was cut off
  // ends the process. Files that are only ever replaced as a whole are safe. Errors: kIo, field =
  // path.
  static Result<PackedMemory> map(FileCalls& calls, int fd, uint64_t offset, size_t bytes,
                                  const std::string& path);

  PackedMemory(PackedMemory&& other) noexcept;
  PackedMemory& operator=(PackedMemory&& other) noexcept;
  ~PackedMemory();

  uint8_t* data() const { return data_; }  // page-aligned; memory of a file may not be written to
  size_t bytes() const { return bytes_; }

 private:
  PackedMemory(uint8_t* data, size_t bytes) : data_(data), bytes_(bytes) {}

  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace cascade
