// A page in the file is its parts, each at a multiple of 4,096 bytes, so that the system's cache,
// which would hold the file in memory, can be left out.
#include "bench/spilled_chain.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "base/checked.h"
#include "model/packed_file.h"

namespace cascade::bench {
namespace {

constexpr char kWhat[] = "the file in --spill-dir";
constexpr size_t kReadsAtOnce = 8;    // as the daemon's KvPartFiles
constexpr size_t kReadsOfThread = 4;  // fewer are not worth a thread

// The bytes of a page in the file.
size_t record_bytes(const KvLayout& layout) {
  size_t bytes = 0;
  for (const KvPartLayout& part : layout.parts) bytes += part.stride();
  return bytes;
}

int open_file(const std::string& folder) {
  FileCalls& calls = system_file_calls();
  const int direct = calls.open(folder, O_TMPFILE | O_RDWR | O_DIRECT, 0600);
  return direct >= 0 ? direct : calls.open(folder, O_TMPFILE | O_RDWR, 0600);
}

}  // namespace

Result<std::unique_ptr<SpilledChain>> SpilledChain::create(const KvLayout& layout, int64_t pages,
                                                           uint64_t memory_bytes,
                                                           int64_t slice_tokens,
                                                           const std::string& folder,
                                                           bool selects) {
  // A slice may begin and end within a page.
  const int64_t working = slice_tokens / kPageTokens + 1;
  const uint64_t index_bytes = selects ? pages * layout.indexes_bytes() : 0;
  const uint64_t needed = index_bytes + working * layout.page_bytes();
  if (memory_bytes < needed) {
    return invalid_argument("--kv-memory", "must be at least " + std::to_string(needed) +
                                               " bytes, the " + std::to_string(working) +
                                               " pages that " + std::to_string(slice_tokens) +
                                               " tokens may be in" +
                                               (selects ? " and the indexes of the context" : "") +
                                               ", got " + std::to_string(memory_bytes));
  }
  const auto slots = static_cast<int64_t>((memory_bytes - index_bytes) / layout.page_bytes());
  ASSIGN_OR_RETURN(PageArena arena,
                   PageArena::create(layout.page_bytes(), std::min(slots, pages + working)));
  ASSIGN_OR_RETURN(PageArena record, PageArena::create(record_bytes(layout), 1));
  const int fd = open_file(folder);
  if (fd < 0) {
    return Error{ErrorCode::kIo, "--spill-dir",
                 "no file can be made in \"" + folder + "\": " + std::strerror(errno) +
                     "; name a folder on a disk"};
  }
  return std::make_unique<SpilledChain>(layout, std::move(arena), std::move(record), pages, working,
                                        fd, selects);
}

SpilledChain::SpilledChain(const KvLayout& layout, PageArena arena, PageArena record, int64_t pages,
                           int64_t working_slots, int fd, bool selects)
    : layout_(layout),
      arena_(std::move(arena)),
      file_(system_file_calls(), fd),
      pages_(pages, nullptr),
      working_(working_slots, -1),
      checksums_(pages * layout.part_count()),
      spilled_(pages, false),
      record_(std::move(record)) {
  const auto lasting = static_cast<int64_t>(arena_.page_count()) - working_slots;
  for (int64_t page = 0; page < std::min(lasting, pages); ++page) {
    pages_[page] = arena_.data(static_cast<PageIndex>(working_slots + page));
  }
  if (!selects) return;
  index_memory_ = allocate_aligned(pages * layout_.indexes_bytes());
  for (int64_t page = 0; page < pages; ++page) {
    indexes_.push_back(index_memory_.get() + page * layout_.indexes_bytes() - layout_.page_bytes());
  }
}

uint64_t SpilledChain::offset(int64_t page, int part) const {
  uint64_t offset = static_cast<uint64_t>(page) * record_bytes(layout_);
  for (int earlier = 0; earlier < part; ++earlier) offset += layout_.parts[earlier].stride();
  return offset;
}

Status SpilledChain::spill(int64_t page) {
  if (!spilled_[page]) {
    uint8_t* to = record_.data(0);
    for (int part = 0; part < layout_.part_count(); ++part) {
      const KvPartLayout& of = layout_.parts[part];
      std::memcpy(to, pages_[page] + of.begin, of.bytes());
      checksums_[page * layout_.part_count() + part] = packed_checksum({to, of.bytes()});
      to += of.stride();
    }
    RETURN_IF_ERROR(write_fully(system_file_calls(), file_.fd(),
                                {record_.data(0), record_bytes(layout_)}, offset(page, 0), kWhat));
    spilled_[page] = true;
  }
  pages_[page] = nullptr;
  return {};
}

Status SpilledChain::bring(int64_t begin, int64_t end) {
  for (int64_t page = begin / kPageTokens; page * kPageTokens < end; ++page) {
    if (pages_[page] != nullptr) {
      spilled_[page] = false;  // it is about to be written to
      continue;
    }
    int64_t& slot = working_[next_slot_];
    if (slot >= 0) RETURN_IF_ERROR(spill(slot));
    slot = page;
    uint8_t* const memory = arena_.data(static_cast<PageIndex>(next_slot_));
    next_slot_ = (next_slot_ + 1) % std::ssize(working_);
    if (spilled_[page] && begin > page * kPageTokens) {
      const auto number = static_cast<int32_t>(page);
      for (int part = 0; part < layout_.part_count(); ++part) {
        RETURN_IF_ERROR(read(part, {&number, 1}, record_.data(0)));
        const KvPartLayout& of = layout_.parts[part];
        std::memcpy(memory + of.begin, record_.data(0), of.bytes());
      }
    }
    pages_[page] = memory;
    spilled_[page] = false;
  }
  return {};
}

// Reads several pieces at once, as the daemon does: one at a time, small reads take as long as the
// disk's latency.
Status SpilledChain::read_all(std::span<const int32_t> numbers, size_t stride, uint8_t* to,
                              const std::function<Status(int32_t number, uint8_t* to)>& read_one) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  Status status;
  const auto work = [&] {
    for (size_t i = next++; i < numbers.size(); i = next++) {
      Status read = read_one(numbers[i], to + i * stride);
      if (read.ok()) continue;
      const std::lock_guard lock(mutex);
      status = std::move(read);
    }
  };
  {
    std::vector<std::jthread> others;
    const size_t threads = std::min(kReadsAtOnce, numbers.size() / kReadsOfThread);
    for (size_t i = 1; i < threads; ++i) others.emplace_back(work);
    work();
  }
  bytes_read_ += numbers.size() * stride;
  return status;
}

Status SpilledChain::read(int part, std::span<const int32_t> pages, uint8_t* to) {
  const auto read_one = [&](int32_t page, uint8_t* bytes) { return read_part(part, page, bytes); };
  return read_all(pages, layout_.parts[part].stride(), to, read_one);
}

Status SpilledChain::read_blocks(int part, std::span<const int32_t> blocks, uint8_t* to) {
  const auto read_one = [&](int32_t number, uint8_t* block) {
    return read_block(part, number, block);
  };
  return read_all(blocks, layout_.parts[part].block_stride(), to, read_one);
}

Status SpilledChain::read_part(int part, int32_t page, uint8_t* to) const {
  CHECK(spilled_[page]);
  const KvPartLayout& of = layout_.parts[part];
  const size_t stride = of.stride();
  ASSIGN_OR_RETURN(
      const uint64_t read,
      read_parts_fully(system_file_calls(), file_.fd(), {{to, stride}}, offset(page, part), kWhat));
  const bool good = read == stride && packed_checksum({to, of.bytes()}) ==
                                          checksums_[page * layout_.part_count() + part];
  if (good) return {};
  return Error{ErrorCode::kDataCorrupt, kWhat, "has a damaged page"};
}

Status SpilledChain::read_block(int part, int32_t block, uint8_t* to) const {
  const KvPartLayout& of = layout_.parts[part];
  const int32_t page = block / of.kv_heads;
  const int head = block % of.kv_heads;
  CHECK(spilled_[page]);
  const size_t shift = of.block_shift(head), bytes = of.block_bytes();
  const size_t units = round_up(shift + bytes, size_t{4096});
  ASSIGN_OR_RETURN(const uint64_t read,
                   read_parts_fully(system_file_calls(), file_.fd(), {{to, units}},
                                    offset(page, part) + head * bytes - shift, kWhat));
  uint64_t checksum;
  std::memcpy(&checksum, indexes_[page] + layout_.block_checksum_offset(part, head),
              sizeof checksum);
  if (read == units && packed_checksum({to + shift, bytes}) == checksum) return {};
  return Error{ErrorCode::kDataCorrupt, kWhat, "has a damaged page"};
}

}  // namespace cascade::bench
