// The rotary embedding part of config.json.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "model/config.h"

namespace cascade {

// Reads rope_parameters (v5), or rope_theta and rope_scaling (v4), of config.json's top level. If
// both are there they must say the same. `context_tokens_max` is max_position_embeddings. YaRN
// takes it as the original context if none is given, as transformers does, and it decides which of
// LongRoPE's lists is used.
// Errors: as parse_model_config.
Result<RopeConfig> parse_rope_config(const Json& config, int context_tokens_max);

}  // namespace cascade
