// The parts of config.json that describe mixtures of experts.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "model/config.h"
#include "model/config_family.h"

namespace cascade {

// Fills out.mixture and out.draft_layers. In a Granite 4 without experts, out.intermediate_size
// becomes the size of the shared expert, which is the MLP. Precondition: out.layers and
// out.intermediate_size are set. Errors: as parse_model_config; kInvalidArgument also for more
// experts of a token than there are, and for groups that do not fit the experts.
Status read_mixture(const Json& config, const ModelFamily& family, ModelConfig& out);

}  // namespace cascade
