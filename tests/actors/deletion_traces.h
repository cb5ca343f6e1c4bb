// The traces of a text on a disk: a word of it, its token ids, and the K and V of its tokens.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cache/chain_index.h"
#include "model/kv_page.h"
#include "persist/kv_file.h"
#include "persist/store.h"
#include "tests/actors/scheduler_world.h"
#include "tests/persist/memory_disk.h"
#include "tests/persist/store_testing.h"

namespace cascade::testing {

using Ids = std::vector<int32_t>;

class Traces {
 public:
  static constexpr size_t kIds = 6;  // how many consecutive ids make a trace
  static constexpr size_t kPieceBytes = 64;
  // Whether others have these token ids, too.
  using IsOfOthers = std::function<bool(std::span<const int32_t>)>;

  // `word` has at least 8 bytes.
  void add_word(const std::string& word) { add({Kind::kWord, word}); }
  // Leaves out the last two ids, since they depend on what follows the text.
  void add_ids(std::span<const int32_t> ids) {
    for (size_t i = 0; i + kIds + 2 <= ids.size(); ++i) {
      const auto* bytes = reinterpret_cast<const char*>(ids.data() + i);
      add({Kind::kIds, std::string(bytes, kIds * sizeof(int32_t))});
    }
  }
  // Adds parts of every stored page that has tokens of the text or of what goes on from it. Others
  // may by chance begin with the same tokens as the text, but not with kIds of them.
  void add_kv(Store& store, MemoryDisk& disk, std::span<const int32_t> ids) {
    const std::span<const int32_t> begins = ids.first(std::min<size_t>(ids.size() - 2, 12));
    const auto models = store.kv().models();
    ASSERT_TRUE(models.ok());
    for (const ModelRecord& model : *models) {
      const auto pages = store.kv().pages(model.digest);
      ASSERT_TRUE(pages.ok());
      std::map<Digest, Ids> chains;  // up to the end of each page
      for (const StoredPage& page : *pages) {
        const auto before = chains.find(page.header.parent);
        Ids chain = before != chains.end() ? before->second : Ids();
        chain.insert(chain.end(), page.header.token_ids.begin(), page.header.token_ids.end());
        const auto found = std::ranges::search(chain, begins);
        const auto begin = static_cast<int64_t>(found.begin() - chain.begin() + kIds);
        if (!found.empty())
          add_page(page, disk, std::max<int64_t>(begin - page.header.position, 0));
        chains[page.header.key] = std::move(chain);
      }
    }
  }
  size_t kv_pieces() const { return kv_pieces_; }

  // Returns the first trace on the disk that others do not have, and where it is.
  std::optional<std::string> found_on(MemoryDisk& disk, const IsOfOthers& is_of_others) const {
    for (const std::string& path : disk.paths()) {
      const std::vector<uint8_t>& bytes = disk.bytes(path);
      const bool is_kv = path.ends_with(".kv");
      for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size(); at += is_kv ? step(at) : 1) {
        const Trace* trace = find(std::span(bytes).subspan(at));
        if (trace == nullptr) continue;
        if (trace->kind == Kind::kIds) {
          Ids ids(kIds);
          std::memcpy(ids.data(), trace->bytes.data(), trace->bytes.size());
          if (is_of_others(ids)) continue;
        }
        constexpr std::string_view kNames[] = {"the word", "token ids", "K or V"};
        return std::string(kNames[static_cast<size_t>(trace->kind)]) + " in " + path + " at " +
               std::to_string(at);
      }
    }
    return std::nullopt;
  }

 private:
  enum class Kind { kWord, kIds, kKv };
  struct Trace {
    Kind kind;
    std::string bytes;
  };

  // The number of bytes to the next place where a trace can begin. Token ids are at the beginning
  // of a block; K and V, which are not compressed, are anywhere.
  static size_t step(size_t at) {
    return at % kKvBlockBytes < 1024 ? sizeof(int32_t) : kPieceBytes - at % kPieceBytes;
  }
  static uint64_t first_of(const void* bytes) {
    uint64_t first = 0;
    std::memcpy(&first, bytes, sizeof first);
    return first;
  }
  static size_t place_of(uint64_t first) { return (first * 0x9e3779b97f4a7c15) >> 48; }

  void add(Trace&& trace) {
    const uint64_t first = first_of(trace.bytes.data());
    std::vector<Trace>& same = traces_[first];
    const auto is_it = [&](const Trace& other) { return other.bytes == trace.bytes; };
    if (std::ranges::any_of(same, is_it)) return;
    if (trace.kind == Kind::kKv) ++kv_pieces_;
    may_be_.set(place_of(first));
    same.push_back(std::move(trace));
  }
  const Trace* find(std::span<const uint8_t> bytes) const {
    const uint64_t first = first_of(bytes.data());
    if (!may_be_.test(place_of(first))) return nullptr;
    const auto same = traces_.find(first);
    if (same == traces_.end()) return nullptr;
    for (const Trace& trace : same->second) {
      if (trace.bytes.size() > bytes.size()) continue;
      if (std::memcmp(trace.bytes.data(), bytes.data(), trace.bytes.size()) == 0) return &trace;
    }
    return nullptr;
  }
  // Leaves out the first layer: its K and V depend only on a token and its place, so others have
  // them, too.
  void add_page(const StoredPage& page, MemoryDisk& disk, int64_t from) {
    if (from >= std::ssize(page.header.token_ids)) return;
    const KvLayout& layout = demo_model().kv_layout;
    ASSERT_FALSE(page.header.compressed);
    const std::vector<uint8_t>& file =
        disk.bytes(kv_file_path(std::string(kStateDir) + "/kv", page.place.file));
    const uint8_t* begin = file.data() + page.place.offset + kKvBlockBytes;
    std::vector<uint8_t> others(begin, begin + layout.page_bytes());
    clear_slots(layout, static_cast<int>(from), others.data());
    const std::vector<uint8_t> nothing(kPieceBytes);
    for (size_t at = layout.key_offset(1, 0); at < layout.page_bytes(); at += 37 * kPieceBytes) {
      if (std::memcmp(&others[at], nothing.data(), kPieceBytes) != 0) continue;
      if (std::count(begin + at, begin + at + kPieceBytes, 0) > 8) continue;
      add({Kind::kKv, std::string(begin + at, begin + at + kPieceBytes)});
    }
  }

  std::unordered_map<uint64_t, std::vector<Trace>> traces_;  // by their first 8 bytes
  std::bitset<1 << 16> may_be_;
  size_t kv_pieces_ = 0;
};

}  // namespace cascade::testing
