// The names of instruction sets, and which of them a machine has.
#include <gtest/gtest.h>

#include "kernels/kernels.h"

namespace cascade::testing {
namespace {

TEST(Dispatch, every_name_is_that_of_its_instruction_set) {
  for (const Isa isa : kIsas) EXPECT_EQ(isa_from_string(to_string(isa)), isa);
  EXPECT_EQ(isa_from_string("sve"), std::nullopt);
}

TEST(Dispatch, a_table_is_of_the_set_that_was_asked_for_or_says_that_the_cpu_lacks_it) {
  for (const Isa isa : kIsas) {
    const auto kernels = kernels_for(isa);
    if (kernels.ok()) {
      EXPECT_EQ((*kernels)->isa, isa);
    } else {
      EXPECT_EQ(kernels.error().code, ErrorCode::kUnsupported);
      EXPECT_EQ(kernels.error().field, "isa");
    }
  }
}

TEST(Dispatch, a_cpu_without_our_vectors_takes_openblas_if_that_is_there) {
  EXPECT_EQ(default_isa(Isa::kScalar, true), Isa::kOpenblas);
  EXPECT_EQ(default_isa(Isa::kScalar, false), Isa::kScalar);
  for (const Isa isa : kIsas) {
    if (isa == Isa::kScalar) continue;
    EXPECT_EQ(default_isa(isa, true), isa);
    EXPECT_EQ(default_isa(isa, false), isa);
  }
  EXPECT_TRUE(kernels_for(default_isa()).ok());
  if (best_isa() != Isa::kScalar) {
    EXPECT_EQ(default_isa(), best_isa());
  }
}

TEST(Dispatch, the_best_is_there_and_another_architectures_is_not) {
  EXPECT_TRUE(kernels_for(best_isa()).ok());
  EXPECT_TRUE(kernels_for(Isa::kScalar).ok());
#if defined(__x86_64__)
  EXPECT_FALSE(kernels_for(Isa::kNeon).ok());
#else
  EXPECT_EQ(best_isa(), Isa::kNeon);
  EXPECT_FALSE(kernels_for(Isa::kAvx2).ok());
#endif
}

}  // namespace
}  // namespace cascade::testing
