// Cutting a run-time count into blocks whose size the compiler knows.
#pragma once

namespace cascade::generic {

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

// Calls body<kMax>(begin) for each whole block of [0, count), then body<rest>(begin) once.
template <int kMax, class Body>
[[gnu::always_inline]] inline void for_blocks(int count, const Body& body) {
  int begin = 0;
  for (; begin + kMax <= count; begin += kMax) body.template operator()<kMax>(begin);
  tail_block<kMax - 1>(count - begin, begin, body);
}

}  // namespace cascade::generic
