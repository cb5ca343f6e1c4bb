// One anonymous mapping without reservation: the system hands out memory on first write.
#include "cache/page_arena.h"

#include <sys/mman.h>

#include <string>
#include <utility>

#include "base/check.h"
#include "base/checked.h"

namespace cascade {
namespace {

constexpr size_t kSystemPageBytes = 4096;
// From this page size on, the arena uses the system's huge pages: attention reads blocks of some
// KiB all over it, and small system pages cost address translations. With smaller arena pages, one
// huge page (2 MiB) would give memory to many arena pages that were never asked for.
constexpr size_t kHugeFromBytes = size_t{512} << 10;

}  // namespace

Result<PageArena> PageArena::create(size_t page_bytes, size_t page_count) {
  if (page_bytes == 0 || page_bytes > SIZE_MAX / 2 || page_count == 0 || page_count > kLeasedPage) {
    return invalid_argument("kv_memory", "room for at least one page of " +
                                             std::to_string(page_bytes) + " bytes is needed");
  }
  const size_t stride = round_up(page_bytes, kSystemPageBytes);
  const auto bytes = checked_mul(stride, page_count);
  if (!bytes) return invalid_argument("kv_memory", "is larger than the address space");
  void* base = ::mmap(nullptr, *bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return resource_exhausted(
        "kv_memory", "the system refuses " + std::to_string(*bytes) + " bytes of address space");
  }
  ::madvise(base, *bytes, MADV_DONTDUMP);  // prompts stay out of core files; best effort
  if (stride >= kHugeFromBytes) ::madvise(base, *bytes, MADV_HUGEPAGE);  // best effort
  return PageArena(static_cast<uint8_t*>(base), page_bytes, stride, page_count);
}

PageArena::PageArena(uint8_t* base, size_t page_bytes, size_t stride, size_t page_count)
    : base_(base),
      page_bytes_(page_bytes),
      stride_(stride),
      page_count_(page_count),
      indexed_(std::make_unique<std::atomic<bool>[]>(page_count)) {}

PageArena::PageArena(PageArena&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      page_bytes_(other.page_bytes_),
      stride_(other.stride_),
      page_count_(std::exchange(other.page_count_, 0)),
      indexed_(std::move(other.indexed_)) {}

PageArena& PageArena::operator=(PageArena&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(page_bytes_, other.page_bytes_);
  std::swap(stride_, other.stride_);
  std::swap(page_count_, other.page_count_);
  std::swap(indexed_, other.indexed_);
  return *this;
}

PageArena::~PageArena() {
  if (base_ != nullptr) ::munmap(base_, stride_ * page_count_);
}

uint8_t* PageArena::data(PageIndex page) const {
  CHECK(page < page_count_);
  return base_ + stride_ * page;
}

void PageArena::discard(PageIndex page) const {
  ::madvise(data(page), stride_, MADV_DONTNEED);  // fails only for addresses that are not ours
  set_indexed(page, false);
}

bool PageArena::is_indexed(PageIndex page) const {
  CHECK(page < page_count_);
  return indexed_[page].load(std::memory_order_relaxed);
}

void PageArena::set_indexed(PageIndex page, bool indexed) const {
  CHECK(page < page_count_);
  indexed_[page].store(indexed, std::memory_order_relaxed);
}

}  // namespace cascade
