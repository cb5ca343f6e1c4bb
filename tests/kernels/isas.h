// The instruction sets that a kernel test compares with the scalar specification.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <vector>

#include "base/random.h"
#include "kernels/kernels.h"
#include "tests/kernels/guarded_buffer.h"

namespace cascade::testing {

inline const Kernels& scalar() {
  return **kernels_for(Isa::kScalar);
}

// The vector tables that this CPU can run; says so when one is missing.
inline std::vector<const Kernels*> vector_kernels() {
  std::vector<const Kernels*> found;
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Vnni, Isa::kNeon}) {
    const auto kernels = kernels_for(isa);
    if (kernels.ok()) {
      found.push_back(*kernels);
    } else {
      std::cout << "NOT TESTED: " << kernels.error().to_string() << "\n";
    }
  }
  return found;
}

// `n` numbers, roughly normal, with some large, tiny and zero ones among them.
inline GuardedFloats random_floats(Random& random, size_t n, float scale = 1) {
  GuardedFloats values(n);
  for (float& value : values) {
    const double unit = random.unit() + random.unit() + random.unit() - 1.5;
    const uint64_t kind = random.below(64);
    const double size = kind == 0 ? 0 : kind == 1 ? 1e-6 : kind == 2 ? 20 : 1;
    value = static_cast<float>(unit * size) * scale;
  }
  return values;
}

inline void expect_same_bits(const GuardedFloats& a, const GuardedFloats& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

// A packed matrix and its memory.
struct TestMatrix {
  TestMatrix(WeightType type, MatrixLayout layout, int n, int k, bool block_scales = false)
      : packed(describe_matrix(type, layout, n, k, block_scales)), memory(packed.bytes(), 0, 64) {
    packed.data = memory.data();
  }
  TestMatrix(Random& random, WeightType type, MatrixLayout layout, int n, int k,
             bool block_scales = false)
      : TestMatrix(type, layout, n, k, block_scales) {
    for (int channel = 0; channel < n; ++channel) {
      set_row(packed, channel, random_floats(random, k).data());
    }
  }
  TestMatrix(TestMatrix&&) = default;

  PackedMatrix packed;
  GuardedBytes memory;
};

}  // namespace cascade::testing
