// Memory for packed matrices: a mapping, anonymous or of a file.
#include "model/packed_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <new>
#include <utility>

namespace cascade {

Result<PackedMemory> PackedMemory::allocate(size_t bytes) {
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return resource_exhausted(
        "weights", "there is no memory for " + std::to_string(bytes) +
                       " bytes of packed weights: see the limits of the process (ulimit -v, "
                       "MemoryMax=)");
  }
  ::madvise(data, bytes, MADV_HUGEPAGE);  // best effort
  return PackedMemory(static_cast<uint8_t*>(data), bytes);
}

PackedMemory PackedMemory::require(size_t bytes) {
  Result<PackedMemory> memory = allocate(bytes);
  if (!memory.ok()) throw std::bad_alloc();
  return *std::move(memory);
}

Result<PackedMemory> PackedMemory::map(FileCalls& calls, int fd, uint64_t offset, size_t bytes,
                                       const std::string& path) {
  const uint8_t* data = calls.map(fd, offset, bytes);
  if (data == nullptr) return io_error(path, errno);
  return PackedMemory(const_cast<uint8_t*>(data), bytes);
}

PackedMemory::PackedMemory(PackedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

PackedMemory& PackedMemory::operator=(PackedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

PackedMemory::~PackedMemory() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

}  // namespace cascade
