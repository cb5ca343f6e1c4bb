// The parts of config.json that say what single layers do: windows, and whether and how they
// rotate.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/config.h"
#include "model/config_family.h"

namespace cascade {

// Fills out.window and out.layer_rope. Precondition: out.layers is set. Errors: as
// parse_model_config.
Status read_layers(const Json& config, const ModelFamily& family, ModelConfig& out);

// The names in layer_types, one for each layer. Errors: kInvalidArgument.
Result<std::vector<std::string>> read_layer_types(const Json& types, int layers);

// Fills out.rope and out.local_rope. Precondition: out.layer_rope and out.context_tokens_max are
// set. Errors: as parse_model_config.
Status read_ropes(const Json& config, const ModelFamily& family, ModelConfig& out);

}  // namespace cascade
