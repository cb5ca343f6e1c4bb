// One read for each part, several at a time: the blocks of a part lie one after the other.
#include "persist/kv_part_files.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/checked.h"
#include "persist/kv_file.h"
#include "persist/kv_record.h"

namespace cascade {
namespace {

// Fewer parts are not worth a thread.
constexpr size_t kPartsOfThread = 4;

struct FreeMemory {
  void operator()(uint8_t* memory) const { std::free(memory); }
};
using AlignedMemory = std::unique_ptr<uint8_t, FreeMemory>;

uint64_t in_blocks(uint64_t bytes) {
  return round_up(bytes, uint64_t{kKvBlockBytes});
}

const RangeRead* range_of(const PartRead&) {
  return nullptr;
}
const RangeRead* range_of(const RangeRead& read) {
  return &read;
}

AlignedMemory allocate_blocks(uint64_t bytes) {
  AlignedMemory memory(static_cast<uint8_t*>(std::aligned_alloc(kKvBlockBytes, bytes)));
  CHECK(memory != nullptr);
  return memory;
}

}  // namespace

KvPartFiles::KvPartFiles(FileCalls& calls, std::string folder, const PageLeases& leases,
                         int reads_at_once)
    : calls_(calls), folder_(std::move(folder)), leases_(leases), reads_at_once_(reads_at_once) {}

Result<std::shared_ptr<const KvPartFiles::File>> KvPartFiles::open(int64_t number) {
  const std::string path = kv_file_path(folder_, number);
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  int fd = direct_ ? calls_.open(path, kFlags | O_DIRECT) : -1;
  // Some file systems, those in memory among them, cannot leave out the cache.
  if (direct_ && fd < 0 && errno == EINVAL) direct_ = false;
  if (!direct_ && fd < 0) fd = calls_.open(path, kFlags);
  if (fd < 0) return io_error(path, errno);
  return std::shared_ptr<const File>(new File{{calls_, fd}, path, direct_});
}

// The tasks that read the parts. On an error, `unread` says which part has it.
template <class Read>
Result<std::vector<KvPartFiles::Task>> KvPartFiles::plan(std::span<const Read> reads,
                                                         UnreadPart& unread) {
  std::vector<Task> tasks;
  std::map<int64_t, std::shared_ptr<const File>> files;  // a file has some hundred pages
  for (const Read& read : reads) {
    unread.index = tasks.size();
    auto page = leases_.find(read.lease);
    if (page == nullptr) return not_found("page", "is not leased");
    std::shared_ptr<const File>& file = files[page->file];
    if (file == nullptr) {
      ASSIGN_OR_RETURN(file, open(page->file));
    }
    tasks.push_back({std::move(page), file, read.to, range_of(read), {}});
  }
  return tasks;
}

void KvPartFiles::read_task(size_t part, Task& task) const {
  const LeasedPage& page = *task.page;
  CHECK(part < page.parts.size());
  uint64_t offset = page.offset;
  for (size_t i = 0; i < part; ++i) offset += in_blocks(page.parts[i].bytes);
  const KvPart& stored = page.parts[part];
  const bool compressed = stored.bytes < stored.full_bytes;
  Result<bool> good = true;
  if (task.range == nullptr) {
    good = read_part(stored, offset, task, task.to);
  } else if (!compressed) {
    good = read_range(stored, offset, task);
  } else {
    const RangeRead& range = *task.range;
    const AlignedMemory whole = allocate_blocks(in_blocks(stored.full_bytes));
    good = read_part(stored, offset, task, whole.get());
    if (good.ok() && *good) {
      CHECK(range.begin + range.bytes <= stored.full_bytes);
      std::memcpy(task.to + range.begin % kKvBlockBytes, whole.get() + range.begin, range.bytes);
    }
  }
  if (!good.ok()) {
    task.error = good.error();
  } else if (!*good) {
    task.error = damaged_page({page.file, page.offset - kKvBlockBytes, 0},
                              "has a damaged part " + std::to_string(part));
  }
}

// Reads a part, which is stored from `offset` on, into `to`; false if it is damaged.
Result<bool> KvPartFiles::read_part(const KvPart& stored, uint64_t offset, Task& task,
                                    uint8_t* to) const {
  const uint64_t bytes = in_blocks(stored.bytes);
  const bool compressed = stored.bytes < stored.full_bytes;
  const AlignedMemory frame = compressed ? allocate_blocks(bytes) : nullptr;
  uint8_t* const read_to = compressed ? frame.get() : to;
  ASSIGN_OR_RETURN(const bool all, read_bytes(task, read_to, bytes, offset));
  return all && kv_checksum({read_to, stored.bytes}) == stored.checksum &&
         (!compressed || unpack_part(stored, read_to, to));
}

// The same for the task's range of a part that is not compressed.
Result<bool> KvPartFiles::read_range(const KvPart& stored, uint64_t offset, Task& task) const {
  const RangeRead& range = *task.range;
  CHECK(range.bytes > 0 && range.begin + range.bytes <= stored.full_bytes);
  const uint64_t begin = range.begin / kKvBlockBytes * kKvBlockBytes;
  const uint64_t bytes = in_blocks(range.begin + range.bytes) - begin;
  ASSIGN_OR_RETURN(const bool all, read_bytes(task, task.to, bytes, offset + begin));
  const uint8_t* const wanted = task.to + range.begin % kKvBlockBytes;
  return all && kv_checksum({wanted, range.bytes}) == range.checksum;
}

// False if the file has fewer bytes. On an error, it notes whether the system's cache cannot be
// left out.
Result<bool> KvPartFiles::read_bytes(Task& task, uint8_t* to, uint64_t bytes,
                                     uint64_t offset) const {
  const File& file = *task.file;
  const auto read = read_parts_fully(calls_, file.fd.fd(), {{to, bytes}}, offset, file.path);
  if (read.ok()) return *read == bytes;
  task.refused_direct = file.direct && errno == EINVAL;
  return read.error();
}

void KvPartFiles::run(size_t part, std::span<Task> tasks) const {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < tasks.size(); i = next++) read_task(part, tasks[i]);
  };
  const size_t threads =
      std::min(static_cast<size_t>(reads_at_once_), tasks.size() / kPartsOfThread);
  std::vector<std::jthread> others;
  for (size_t i = 1; i < threads; ++i) others.emplace_back(work);
  work();
}

template <class Read>
std::optional<UnreadPart> KvPartFiles::read_all(size_t part, std::span<const Read> reads) {
  while (true) {
    UnreadPart unread;
    auto tasks = plan(reads, unread);
    if (!tasks.ok()) {
      unread.error = tasks.error();
      return unread;
    }
    run(part, *tasks);
    const auto failed =
        std::ranges::find_if(*tasks, [](const Task& task) { return task.error.has_value(); });
    if (failed == tasks->end()) return std::nullopt;
    if (!failed->refused_direct) {
      return UnreadPart{static_cast<size_t>(failed - tasks->begin()), *failed->error};
    }
    direct_ = false;
  }
}

std::optional<UnreadPart> KvPartFiles::read(size_t part, std::span<const PartRead> parts) {
  return read_all(part, parts);
}

std::optional<UnreadPart> KvPartFiles::read(size_t part, std::span<const RangeRead> ranges) {
  return read_all(part, ranges);
}

}  // namespace cascade
