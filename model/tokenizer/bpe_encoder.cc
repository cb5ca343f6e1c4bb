// One encoding job.
#include "model/tokenizer/bpe_encoder.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace cascade {
namespace {

// One slot for each 32 bytes of text, within these bounds: 4 KiB to 1 MiB, what a core's
// second-level cache holds.
constexpr size_t kBytesPerSlot = 32;
constexpr size_t kSlotsMin = 64;
constexpr size_t kSlotsMax = 16384;

}  // namespace

BpeEncoder::BpeEncoder(const BpeModel& model, size_t text_bytes_expected, std::vector<int32_t>& out)
    : model_(model),
      out_(out),
      cache_(std::bit_ceil(std::clamp(text_bytes_expected / kBytesPerSlot, kSlotsMin, kSlotsMax))) {
}

void BpeEncoder::encode(std::string_view piece) {
  if (piece.empty()) return;
  if (piece.size() <= kCachedBytesMax) {
    encode_cached(piece);
  } else if (!append_whole(piece)) {
    encode_long(piece);
  }
}

bool BpeEncoder::append_whole(std::string_view piece) {
  if (!model_.ignore_merges_) return false;
  const auto id = model_.whole_id(piece);
  if (!id) return false;
  out_.push_back(*id);
  return true;
}

void BpeEncoder::encode_long(std::string_view piece) {
  if (!model_.is_cuttable_) {
    merge_run(piece);
    return;
  }
  for (size_t begin = 0; begin < piece.size();) {
    const size_t end = model_.run_end(piece, begin);
    const std::string_view run = piece.substr(begin, end - begin);
    // With `ignore_merges` the cached words are whole pieces, so runs are not looked up in the
    // cache.
    if (run.size() <= kCachedBytesMax && !model_.ignore_merges_) {
      encode_cached(run);
    } else {
      merge_run(run);
    }
    begin = end;
  }
}

void BpeEncoder::encode_cached(std::string_view word) {
  Slot& slot = cache_[XXH3_64bits(word.data(), word.size()) & (cache_.size() - 1)];
  if (slot.size == word.size() && std::memcmp(slot.word.data(), word.data(), word.size()) == 0) {
    const size_t end = out_.size();
    out_.resize(end + slot.count);
    std::copy_n(out_.begin() + slot.begin, slot.count, out_.begin() + static_cast<ptrdiff_t>(end));
    return;
  }
  slot.begin = static_cast<uint32_t>(out_.size());
  if (!append_whole(word)) merge_run(word);
  slot.count = static_cast<uint32_t>(out_.size() - slot.begin);
  slot.size = static_cast<uint8_t>(word.size());
  std::copy(word.begin(), word.end(), slot.word.begin());
}

void BpeEncoder::merge_run(std::string_view run) {
  symbols_.clear();
  symbols_.reserve(run.size());
  model_.append_symbols(run, symbols_);
  model_.merges_.apply(symbols_, scratch_);
  out_.insert(out_.end(), symbols_.begin(), symbols_.end());
}

}  // namespace cascade
