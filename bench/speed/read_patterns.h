// The orders in which a core reads memory, for any way to read 256 bytes of it.
#pragma once

#include "bench/speed/peak_loops.h"

namespace cascade::speed {

// A core reads 256 bytes of each of `kStreams` streams in turn. The streams lie `stride` bytes
// apart. It also prefetches the bytes that are `ahead` bytes further. Which pattern is fastest
// differs between machines, and from minute to minute on a shared one, so the best of several
// patterns is the peak.
template <size_t kStreams, class Add>
[[gnu::always_inline]] inline void read_streams(const uint8_t* data, size_t bytes, size_t stride,
                                                size_t ahead, const Add& add) {
  for (const uint8_t* end = data + bytes; data < end; data += kStreams * stride) {
    for (size_t i = 0; i < stride; i += 256) {
      for (size_t s = 0; s < kStreams; ++s) {
        const uint8_t* from = data + s * stride + i;
        for (size_t line = 0; line < 256; line += 64) __builtin_prefetch(from + ahead + line);
        add(from);
      }
    }
  }
}
template <class Add>
[[gnu::always_inline]] inline void read_pattern(ReadPattern pattern, const uint8_t* data,
                                                size_t bytes, const Add& add) {
  switch (pattern) {
    case ReadPattern::kOneStream: return read_streams<1>(data, bytes, bytes, 1024, add);
    case ReadPattern::kFourStreams: return read_streams<4>(data, bytes, bytes / 4, 0, add);
    case ReadPattern::kNearStreams: return read_streams<2>(data, bytes, 16384, 1024, add);
  }
}

// Reads with instructions that every CPU has.
inline uint64_t read_words(ReadPattern pattern, const uint8_t* data, size_t bytes) {
  uint64_t sum = 0;
  read_pattern(pattern, data, bytes, [&](const uint8_t* p) {
    const auto* words = reinterpret_cast<const uint64_t*>(p);
    for (int i = 0; i < 32; ++i) sum ^= words[i];
  });
  return sum;
}

}  // namespace cascade::speed
