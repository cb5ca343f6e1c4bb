// One read for each part, several at a time: the blocks of a part lie one after the other.
#include "persist/kv_part_files.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
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
Result<std::vector<KvPartFiles::Task>> KvPartFiles::plan(std::span<const PartRead> parts,
                                                         UnreadPart& unread) {
  std::vector<Task> tasks;
  std::map<int64_t, std::shared_ptr<const File>> files;  // a file has some hundred pages
  for (const PartRead& part : parts) {
    unread.index = tasks.size();
    auto page = leases_.find(part.lease);
    if (page == nullptr) return not_found("page", "is not leased");
    std::shared_ptr<const File>& file = files[page->file];
    if (file == nullptr) {
      ASSIGN_OR_RETURN(file, open(page->file));
    }
    tasks.push_back({std::move(page), file, part.to, {}});
  }
  return tasks;
}

void KvPartFiles::read_part(size_t part, Task& task) const {
  const LeasedPage& page = *task.page;
  CHECK(part < page.parts.size());
  uint64_t offset = page.offset;
  for (size_t i = 0; i < part; ++i) {
    offset += round_up(uint64_t{page.parts[i].bytes}, uint64_t{kKvBlockBytes});
  }
  const KvPart& stored = page.parts[part];
  const uint64_t bytes = round_up(uint64_t{stored.bytes}, uint64_t{kKvBlockBytes});
  const bool compressed = stored.bytes < page.part_bytes;
  const AlignedMemory frame = compressed ? allocate_blocks(bytes) : nullptr;
  uint8_t* const to = compressed ? frame.get() : task.to;
  const auto read =
      read_parts_fully(calls_, task.file->fd.fd(), {{to, bytes}}, offset, task.file->path);
  if (!read.ok()) {
    task.refused_direct = task.file->direct && errno == EINVAL;
    task.error = read.error();
    return;
  }
  const bool good = *read == bytes && kv_checksum({to, stored.bytes}) == stored.checksum &&
                    (!compressed || unpack_part(stored, page.part_bytes, to, task.to));
  if (good) return;
  task.error = damaged_page({page.file, page.offset - kKvBlockBytes, 0},
                            "has a damaged part " + std::to_string(part));
}

void KvPartFiles::run(size_t part, std::span<Task> tasks) const {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < tasks.size(); i = next++) read_part(part, tasks[i]);
  };
  const size_t threads =
      std::min(static_cast<size_t>(reads_at_once_), tasks.size() / kPartsOfThread);
  std::vector<std::jthread> others;
  for (size_t i = 1; i < threads; ++i) others.emplace_back(work);
  work();
}

std::optional<UnreadPart> KvPartFiles::read(size_t part, std::span<const PartRead> parts) {
  while (true) {
    UnreadPart unread;
    auto tasks = plan(parts, unread);
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

}  // namespace cascade
