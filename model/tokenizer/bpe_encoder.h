// One encoding job: pieces in, token ids out, with a cache of the words it has seen.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/tokenizer/bpe_model.h"

namespace cascade {

// One thread. The model and `out` must outlive it; nobody else changes `out` meanwhile.
class BpeEncoder {
 public:
  // `text_bytes_expected` sizes the cache.
  BpeEncoder(const BpeModel& model, size_t text_bytes_expected, std::vector<int32_t>& out);

  // Appends the ids of one pre-tokenised piece. Precondition: well-formed UTF-8 unless the model
  // is byte-level.
  void encode(std::string_view piece);

 private:
  // Longer words are rare and not worth comparing.
  static constexpr size_t kCachedBytesMax = 51;

  // A word and where its ids are in `out_`. 64 bytes: one cache line.
  struct Slot {
    uint32_t begin = 0;
    uint32_t count = 0;
    uint8_t size = 0;  // 0: empty
    std::array<char, kCachedBytesMax> word{};
  };

  // Appends the id of the whole piece if the model has `ignore_merges` and knows the piece.
  bool append_whole(std::string_view piece);
  void encode_long(std::string_view piece);
  void encode_cached(std::string_view word);
  void merge_run(std::string_view run);

  const BpeModel& model_;
  std::vector<int32_t>& out_;
  // Direct-mapped: a collision costs one merge, whatever words a client sends.
  std::vector<Slot> cache_;
  std::vector<int32_t> symbols_;
  BpeMergeScratch scratch_;
};

}  // namespace cascade
