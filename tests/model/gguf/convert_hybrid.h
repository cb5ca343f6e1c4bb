// The tensors of hybrids as converters write them.
#pragma once

#include <string>

#include "model/config.h"
#include "tests/model/gguf/convert.h"

namespace cascade::testing {

// The tensors of recurrent layers with the values, shapes and order that files have, and with the
// names that GGUF names stand for. Norms of Qwen's hybrids hold 1 + weight. Tensors of other models
// stay as they are.
PlainTensors as_hybrid_file(const ModelConfig& config, const PlainTensors& tensors);

// Whether the tensor is F32 in every file, though it has two dimensions.
bool is_plain_in_hybrids(const std::string& name);

}  // namespace cascade::testing
