// Memory for packed matrices: a mapping, anonymous or of a file.
#include "model/packed_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <new>
#include <utility>

#include "base/checked.h"

namespace cascade {
namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;

// Maps `bytes` bytes that begin at a multiple of a huge page. Maps more at first, and unmaps the
// rest. nullptr: there is no memory.
uint8_t* map_aligned(size_t bytes) {
  if (bytes == 0 || bytes > SIZE_MAX / 2) return nullptr;
  const size_t whole = round_up(bytes, static_cast<size_t>(::getpagesize()));
  const size_t mapped = whole + kHugePageBytes;
  void* base = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  uint8_t* const begin = static_cast<uint8_t*>(base);
  const size_t before = -reinterpret_cast<uintptr_t>(begin) % kHugePageBytes;
  if (before > 0) ::munmap(begin, before);
  ::munmap(begin + before + whole, kHugePageBytes - before);
  return begin + before;
}

}  // namespace

Result<PackedMemory> PackedMemory::allocate(size_t bytes) {
  uint8_t* data = map_aligned(bytes);
  if (data == nullptr) {
    return resource_exhausted(
        "weights", "there is no memory for " + std::to_string(bytes) +
                       " bytes of packed weights: see the limits of the process (ulimit -v, "
                       "MemoryMax=)");
  }
  ::madvise(data, bytes, MADV_HUGEPAGE);  // best effort
  return PackedMemory(data, bytes);
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
