// How a GGUF file says to sample, and what ends a generation.
#pragma once

#include "base/result.h"
#include "model/config.h"
#include "model/gguf/files.h"

namespace cascade {

// End tokens: those that the keys name, and control tokens whose spelling marks the end of a turn
// or text in the models that we know. general.sampling.*, if present, says how to sample. Errors:
// as parse_generation_config, with keys of the metadata.
Result<GenerationConfig> gguf_generation_config(const GgufFiles& files, int vocab_size);

}  // namespace cascade
