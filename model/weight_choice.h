// Chooses the number type of a model's weights if nobody names one: the type that its files have.
#pragma once

#include <string>
#include <vector>

#include "base/number_types.h"
#include "model/safetensors.h"

namespace cascade {

// The types of a model's matrices.
struct WeightPlan {
  WeightPlan(WeightType all) : type(all) {}  // NOLINT: implicit, one type for all
  WeightPlan(WeightType most, bool as_in_files) : type(most), by_matrix(as_in_files) {}

  WeightType type;
  // Each matrix that a K-quant or mxfp4 holds as it is becomes that. If `type` is int4, mxfp4 or a
  // K-quant, each other matrix becomes int4 if int4 holds its blocks as they are, else int8.
  bool by_matrix = false;
};

struct WeightChoice {
  WeightPlan plan;
  std::string why;  // "92 % of their bytes are Q4_0"
  // Whether some matrices will be quantised, whatever the type of the plan is.
  bool some_quantized = false;
};

// The type that holds most of the bytes without loss, or nearly. K-quants hold the super-blocks of
// their names, and q6k those of Q3_K; mxfp4 and int4 hold the blocks of MXFP4 and Q4_0; int8 holds
// all other blocks, as they are or with more bits than they have; bf16 holds plain numbers.
WeightChoice choose_weights(const TensorFiles& files);

// Names the types of a model's matrices, `main` first: "q4k, q6k and int8".
std::string describe_types(WeightType main, std::vector<WeightType> types);

}  // namespace cascade
