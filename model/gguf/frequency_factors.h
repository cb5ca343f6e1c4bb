// RoPE scalings that GGUF files hold as a tensor of factors.
#pragma once

#include "base/result.h"
#include "model/config.h"
#include "model/gguf/files.h"

namespace cascade {

// For Llama 3's scaling, files hold the factor that divides each frequency. Finds the parameters
// that give these factors, so that angles are as exact as a checkpoint's, and puts them into
// `config.rope`. Does nothing if the file has no such tensor. `may_scale`: whether the architecture
// knows that scaling. Errors, field = the tensor: kInvalidArgument for its type or size;
// kUnsupported for other factors.
Status read_frequency_factors(const GgufFiles& files, bool may_scale, ModelConfig& config);

}  // namespace cascade
