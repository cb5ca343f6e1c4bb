// Memory for the operands of kernels. It ends exactly before a page that nobody may touch, so a
// kernel that reads or writes too far crashes, whichever compiler built it.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace cascade::testing {

// Blocks of one mapping, each between two pages that nobody may touch. A block ends directly before
// the page after it, as far as the alignment allows. The rest of its own pages, on both sides, is
// filled with a pattern; the destructor fails the test if the pattern was changed. The blocks are
// zeroed. Their distances depend only on the sizes and the alignment.
class GuardedBlocks {
 public:
  // `alignment`: a power of two, at most a page.
  explicit GuardedBlocks(std::initializer_list<size_t> sizes, size_t alignment = 1) {
    const size_t page = page_bytes();
    size_t at = page;
    for (const size_t size : sizes) {
      const size_t own = std::max(page, (size + page - 1) / page * page);
      const size_t begin = (at + own - size) / alignment * alignment;
      blocks_.push_back({.first = at, .begin = begin, .size = size, .end = at + own});
      at += own + page;
    }
    mapped_bytes_ = at;
    void* mapped = ::mmap(nullptr, mapped_bytes_, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<uint8_t*>(mapped);
    for (const Block& block : blocks_) {
      if (::mprotect(base_ + block.first, block.end - block.first, PROT_READ | PROT_WRITE) != 0) {
        ::munmap(base_, mapped_bytes_);
        throw std::bad_alloc();
      }
      std::memset(base_ + block.first, kPattern, block.begin - block.first);
      std::memset(base_ + block.begin + block.size, kPattern, block.end - block.begin - block.size);
    }
  }
  ~GuardedBlocks() {
    if (base_ == nullptr) return;
    if (!is_intact()) ADD_FAILURE() << "something was written beside an operand of a kernel";
    ::munmap(base_, mapped_bytes_);
  }
  GuardedBlocks(GuardedBlocks&& other) noexcept { swap(other); }
  GuardedBlocks& operator=(GuardedBlocks&& other) noexcept {
    swap(other);
    return *this;
  }

  // Where the mapping begins; blocks lie at their offsets from it.
  uint8_t* base() const { return base_; }
  size_t offset(size_t block) const { return blocks_[block].begin; }
  uint8_t* data(size_t block) const { return base_ + offset(block); }
  size_t size(size_t block) const { return blocks_[block].size; }

  // Whether nothing was written beside the blocks.
  bool is_intact() const {
    return std::ranges::all_of(blocks_, [&](const Block& block) {
      const size_t end = block.begin + block.size;
      return is_pattern(block.first, block.begin) && is_pattern(end, block.end);
    });
  }

  static size_t page_bytes() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

 private:
  static constexpr uint8_t kPattern = 0xC7;

  // The offsets of the first byte that may be touched, of the block, and of the page after it.
  struct Block {
    size_t first;
    size_t begin;
    size_t size;
    size_t end;
  };

  // Whether the offsets [begin, end), at most a page, have the pattern.
  bool is_pattern(size_t begin, size_t end) const {
    static const std::vector<uint8_t> pattern(page_bytes(), kPattern);
    return std::memcmp(base_ + begin, pattern.data(), end - begin) == 0;
  }

  void swap(GuardedBlocks& other) {
    std::swap(base_, other.base_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    blocks_.swap(other.blocks_);
  }

  uint8_t* base_ = nullptr;
  size_t mapped_bytes_ = 0;
  std::vector<Block> blocks_;
};

// A fixed number of elements in memory of their own, used like a std::vector.
template <class T>
class GuardedArray {
 public:
  explicit GuardedArray(size_t size, T value = T(), size_t alignment = alignof(T))
      : alignment_(alignment), size_(size), memory_({size * sizeof(T)}, alignment) {
    std::fill_n(data(), size, value);
  }
  explicit GuardedArray(std::span<const T> values) : GuardedArray(values.size()) {
    std::ranges::copy(values, data());
  }
  GuardedArray(const GuardedArray& other) : GuardedArray(other.size(), T(), other.alignment_) {
    std::ranges::copy(other, data());
  }
  GuardedArray(GuardedArray&&) noexcept = default;
  GuardedArray& operator=(GuardedArray other) noexcept {
    std::swap(alignment_, other.alignment_);
    std::swap(size_, other.size_);
    memory_ = std::move(other.memory_);
    return *this;
  }

  T* data() { return reinterpret_cast<T*>(memory_.data(0)); }
  const T* data() const { return reinterpret_cast<const T*>(memory_.data(0)); }
  size_t size() const { return size_; }
  T& operator[](size_t index) { return data()[index]; }
  const T& operator[](size_t index) const { return data()[index]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  bool operator==(const GuardedArray& other) const { return std::ranges::equal(*this, other); }

 private:
  size_t alignment_;
  size_t size_;
  GuardedBlocks memory_;
};

using GuardedFloats = GuardedArray<float>;
using GuardedBytes = GuardedArray<uint8_t>;

}  // namespace cascade::testing
