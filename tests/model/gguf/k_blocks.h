// Encodes values in the K types of GGUF: blocks of 256 values, in which parts have scales of their
// own. model/gguf/k_quant_blocks.cc describes the layouts.
#pragma once

#include <cstddef>
#include <string>

namespace cascade::testing {

inline constexpr size_t kKBlock = 256;

// The bytes of the block of the 256 values from `x` on. All numbers are rounded to nearest, and no
// better scales are searched for. A part of zeros stays exactly zero.
//
// A part is 16 values; its scale makes the largest magnitude the largest integer.
std::string encode_q3_k(const float* x);
std::string encode_q6_k(const float* x);
// A part is 32 values; its scale and offset make the integers reach from the lowest value to the
// highest. They reach to zero if all values are positive, since offsets are not negative.
std::string encode_q4_k(const float* x);
std::string encode_q5_k(const float* x);

}  // namespace cascade::testing
