// What the metadata of a GGUF file says about the model, in the terms of the forward pass.
#pragma once

#include "base/result.h"
#include "model/config.h"
#include "model/gguf/files.h"

namespace cascade {

// Architectures qwen3, qwen2 and llama (which Mistral's models are, too). The limits are those of
// parse_model_config. Errors: field = key of the metadata or tensor, as parse_model_config;
// kUnsupported for another architecture, by name, for mixtures of experts, a part of the dimensions
// rotated, RoPE scalings other than linear, yarn and Llama 3's, a window of attention that we do
// not know for the architecture, and scales and caps that we do not compute.
Result<ModelConfig> gguf_model_config(const GgufFiles& files);

// End tokens: those that the keys name, and control tokens whose spelling marks the end of a turn
// or text in the models that we know. general.sampling.*, where it is there, says how to sample.
// Errors: as parse_generation_config, with keys of the metadata.
Result<GenerationConfig> gguf_generation_config(const GgufFiles& files, int vocab_size);

}  // namespace cascade
