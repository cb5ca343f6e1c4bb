// The configuration of the model in a GGUF file, from its metadata, in the terms of the forward
// pass.
#pragma once

#include "base/result.h"
#include "model/config.h"
#include "model/gguf/files.h"

namespace cascade {

// Architectures are those of docs/models.md. The limits are those of parse_model_config. Errors:
// field = key of the metadata or tensor, as parse_model_config; kUnsupported for another
// architecture, by name, for experts in other architectures, for a part of the dimensions rotated
// in architectures that rotate all, for RoPE scalings other than linear, yarn, longrope and Llama
// 3's, for a window of attention that we do not know for the architecture, and for scales and caps
// that we do not compute.
Result<ModelConfig> gguf_model_config(const GgufFiles& files);

}  // namespace cascade
