// Loops that only keep one resource of a core busy: the best that the machine can do.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace cascade::speed {

// The orders in which memory is read.
enum class ReadPattern : uint8_t { kOneStream, kFourStreams, kNearStreams };
inline constexpr ReadPattern kReadPatterns[] = {ReadPattern::kOneStream, ReadPattern::kFourStreams,
                                                ReadPattern::kNearStreams};

// Each function runs on the calling thread.
struct PeakLoops {
  // Reads `bytes` bytes (a multiple of 64 KiB) from `data`, 64-byte aligned. The result depends on
  // all of them.
  uint64_t (*read)(ReadPattern pattern, const uint8_t* data, size_t bytes);
  // Runs `steps` steps of independent fused multiply-adds; one step is f32_flop_per_step
  // operations (an fma counts as two).
  void (*f32)(int64_t steps);
  int f32_flop_per_step;
  // The same for 8-bit dot products.
  void (*int8)(int64_t steps);
  int int8_op_per_step;
};

// The loops with the widest instructions that the kernels of `isa` use.
PeakLoops peak_loops(Isa isa);

}  // namespace cascade::speed
