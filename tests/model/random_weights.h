// Random vectors and packed matrices that need no file.
#pragma once

#include <vector>

#include "base/checked.h"
#include "base/random.h"
#include "kernels/packed_matrix.h"
#include "model/weights.h"

namespace cascade::testing {

// Values in a range of `width` around `around`.
inline std::vector<float> random_vector(Random& random, int n, double around, double width = 0.4) {
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = static_cast<float>(around + (random.unit() - 0.5) * width);
  return values;
}

// A random matrix; `memory` receives the memory in which it lies.
inline PackedMatrix random_matrix(Random& random, int n, int k, std::vector<AlignedBytes>& memory,
                                  WeightType type = WeightType::kF32) {
  PackedMatrix matrix = describe_matrix(type, MatrixLayout::kPanels16, n, k);
  memory.push_back(allocate_aligned(matrix.bytes()));
  matrix.data = memory.back().get();
  for (int row = 0; row < n; ++row) set_row(matrix, row, random_vector(random, k, 0).data());
  return matrix;
}

// Parts that begin at whole panels.
inline StackedMatrix random_stack(Random& random, std::vector<int> parts, int k,
                                  std::vector<AlignedBytes>& memory,
                                  WeightType type = WeightType::kF32) {
  StackedMatrix stack;
  int n = 0;
  for (const int part : parts) {
    stack.offset.push_back(n);
    n += round_up(part, kPanelChannels);
  }
  stack.matrices = {random_matrix(random, n, k, memory, type)};
  return stack;
}

}  // namespace cascade::testing
