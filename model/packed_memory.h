// The memory that a model's packed matrices lie in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace cascade {

// Movable, not copyable; unmapped by the destructor. Addresses survive a move.
class PackedMemory {
 public:
  PackedMemory() = default;
  // Zeroed anonymous memory, in huge pages where the system has them: a decode step reads all of
  // it, and small pages cost address translations. Errors: kResourceExhausted, field "weights".
  static Result<PackedMemory> allocate(size_t bytes);

  PackedMemory(PackedMemory&& other) noexcept;
  PackedMemory& operator=(PackedMemory&& other) noexcept;
  ~PackedMemory();

  uint8_t* data() const { return data_; }  // page-aligned
  size_t bytes() const { return bytes_; }

 private:
  PackedMemory(uint8_t* data, size_t bytes) : data_(data), bytes_(bytes) {}

  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace cascade
