// Loops whose size the compiler knows, and the division of a run-time count into them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace cascade::generic {

template <class Body, int... kIndices>
[[gnu::always_inline]] inline void unroll_over(const Body& body,
                                               std::integer_sequence<int, kIndices...>) {
  (body(std::integral_constant<int, kIndices>{}), ...);
}

// Calls body(0) ... body(kCount - 1), each with a constant: arrays that are indexed by the constant
// live in registers. GCC unrolls plain loops too late for that. `body` must be always_inline.
template <int kCount, class Body>
[[gnu::always_inline]] inline void unroll(const Body& body) {
  unroll_over(body, std::make_integer_sequence<int, kCount>{});
}
#define CASCADE_INLINE __attribute__((always_inline))

template <int kSize, class Body>
[[gnu::always_inline]] inline void tail_block(int count, int begin, const Body& body) {
  if constexpr (kSize > 0) {
    if (count == kSize) {
      body.template operator()<kSize>(begin);
    } else {
      tail_block<kSize - 1>(count, begin, body);
    }
  }
}

// Prefetches the weights that are multiplied some steps later. A core that multiplies while it
// reads gives the hardware prefetcher too little notice: 8 rows of int8 took 40 % longer without
// this. 4.5 KiB take about 150 ns of one core's bandwidth. They are not a multiple of 4 KiB, since
// such lines would share one set of the first-level cache with the lines in use.
constexpr size_t kAheadBytes = 4608;
[[gnu::always_inline]] inline void prefetch_weights(const void* now) {
  __builtin_prefetch(static_cast<const uint8_t*>(now) + kAheadBytes);
}

// Prefetches `count` bytes; the memory need not exist.
[[gnu::always_inline]] inline void prefetch_bytes(const uint8_t* from, size_t count) {
  for (size_t i = 0; i < count; i += 64) __builtin_prefetch(from + i);
}

// Calls body<kMax>(begin) for each whole block of [0, count), then body<rest>(begin) once.
template <int kMax, class Body>
[[gnu::always_inline]] inline void for_blocks(int count, const Body& body) {
  int begin = 0;
  for (; begin + kMax <= count; begin += kMax) body.template operator()<kMax>(begin);
  tail_block<kMax - 1>(count - begin, begin, body);
}

}  // namespace cascade::generic
