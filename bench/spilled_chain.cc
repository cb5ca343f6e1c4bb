// A page in the file is its parts, each at a multiple of 4,096 bytes, so that the system's cache,
// which would hold the file in memory, can be left out.
#include "bench/spilled_chain.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "model/packed_file.h"

namespace cascade::bench {
namespace {

constexpr char kWhat[] = "the file in --spill-dir";

int open_file(const std::string& folder) {
  FileCalls& calls = system_file_calls();
  const int direct = calls.open(folder, O_TMPFILE | O_RDWR | O_DIRECT, 0600);
  return direct >= 0 ? direct : calls.open(folder, O_TMPFILE | O_RDWR, 0600);
}

}  // namespace

Result<std::unique_ptr<SpilledChain>> SpilledChain::create(const KvLayout& layout, int64_t pages,
                                                           uint64_t memory_bytes,
                                                           int64_t slice_tokens,
                                                           const std::string& folder) {
  // A slice may begin and end within a page.
  const int64_t working = slice_tokens / kPageTokens + 1;
  const auto slots = static_cast<int64_t>(memory_bytes / layout.page_bytes());
  if (slots < working) {
    return invalid_argument("--kv-memory",
                            "must be at least " + std::to_string(working * layout.page_bytes()) +
                                " bytes, the " + std::to_string(working) + " pages that " +
                                std::to_string(slice_tokens) + " tokens may be in, got " +
                                std::to_string(memory_bytes));
  }
  ASSIGN_OR_RETURN(PageArena arena,
                   PageArena::create(layout.page_bytes(), std::min(slots, pages + working)));
  ASSIGN_OR_RETURN(PageArena record, PageArena::create(layout.part_stride() * layout.layers, 1));
  const int fd = open_file(folder);
  if (fd < 0) {
    return Error{ErrorCode::kIo, "--spill-dir",
                 "no file can be made in \"" + folder + "\": " + std::strerror(errno) +
                     "; name a folder on a disk"};
  }
  return std::make_unique<SpilledChain>(layout, std::move(arena), std::move(record), pages, working,
                                        fd);
}

SpilledChain::SpilledChain(const KvLayout& layout, PageArena arena, PageArena record, int64_t pages,
                           int64_t working_slots, int fd)
    : layout_(layout),
      arena_(std::move(arena)),
      file_(system_file_calls(), fd),
      pages_(pages, nullptr),
      working_(working_slots, -1),
      checksums_(pages * layout.layers),
      spilled_(pages, false),
      record_(std::move(record)) {
  const auto lasting = static_cast<int64_t>(arena_.page_count()) - working_slots;
  for (int64_t page = 0; page < std::min(lasting, pages); ++page) {
    pages_[page] = arena_.data(static_cast<PageIndex>(working_slots + page));
  }
}

uint64_t SpilledChain::offset(int64_t page, int layer) const {
  return (static_cast<uint64_t>(page) * layout_.layers + layer) * layout_.part_stride();
}

Status SpilledChain::spill(int64_t page) {
  if (!spilled_[page]) {
    const size_t part = layout_.part_bytes(), stride = layout_.part_stride();
    for (int layer = 0; layer < layout_.layers; ++layer) {
      std::memcpy(record_.data(0) + layer * stride, pages_[page] + layer * part, part);
      checksums_[page * layout_.layers + layer] =
          packed_checksum({record_.data(0) + layer * stride, part});
    }
    RETURN_IF_ERROR(write_fully(system_file_calls(), file_.fd(),
                                {record_.data(0), stride * layout_.layers}, offset(page, 0),
                                kWhat));
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
      for (int layer = 0; layer < layout_.layers; ++layer) {
        RETURN_IF_ERROR(read(layer, {&number, 1}, record_.data(0)));
        std::memcpy(memory + layer * layout_.part_bytes(), record_.data(0), layout_.part_bytes());
      }
    }
    pages_[page] = memory;
    spilled_[page] = false;
  }
  return {};
}

Status SpilledChain::read(int layer, std::span<const int32_t> pages, uint8_t* to) {
  const size_t stride = layout_.part_stride();
  for (const int32_t page : pages) {
    CHECK(spilled_[page]);
    ASSIGN_OR_RETURN(const uint64_t bytes,
                     read_parts_fully(system_file_calls(), file_.fd(), {{to, stride}},
                                      offset(page, layer), kWhat));
    const bool good = bytes == stride && packed_checksum({to, layout_.part_bytes()}) ==
                                             checksums_[page * layout_.layers + layer];
    if (!good) return Error{ErrorCode::kDataCorrupt, kWhat, "has a damaged page"};
    bytes_read_ += stride;
    to += stride;
  }
  return {};
}

}  // namespace cascade::bench
