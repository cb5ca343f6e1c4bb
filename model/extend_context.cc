// The scaling goes through the reader of config.json, so both mean the same.
#include "model/extend_context.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "model/config_rope.h"

namespace cascade {
namespace {

Result<int64_t> original_context(const ContextExtension& extension, const ModelConfig& config) {
  const bool given = extension.original_context > 0;
  switch (config.rope.scaling) {
    case RopeScaling::kNone:
      return given ? extension.original_context : int64_t{config.context_tokens_max};
    case RopeScaling::kYarn:
      return given ? extension.original_context
                   : static_cast<int64_t>(config.rope.original_context);
    case RopeScaling::kLinear:
      if (given) return extension.original_context;
      return invalid_argument("rope_scaling",
                              "must be TYPE:FACTOR:ORIGINAL: the model's files have a linear "
                              "scaling, and do not say how many positions it was trained with");
    case RopeScaling::kLlama3:
    case RopeScaling::kProportional:
    case RopeScaling::kLongRope: break;
  }
  return unsupported("rope_scaling",
                     "cannot replace the scaling that the model was trained with (llama3, "
                     "longrope or proportional); leave it out");
}

}  // namespace

Status extend_context(const ContextExtension& extension, ModelConfig& config) {
  if (std::ranges::count(config.layer_rope, LayerRope::kNone) == config.layers) {
    return unsupported("rope_scaling",
                       "has no effect: no layer of the model rotates; leave it out");
  }
  ASSIGN_OR_RETURN(const int64_t original, original_context(extension, config));
  const bool is_yarn = extension.type == ContextExtension::Type::kYarn;
  Json rope = {{"rope_type", is_yarn ? "yarn" : "linear"},
               {"rope_theta", config.rope.theta},
               {"factor", extension.factor},
               {"partial_rotary_factor", config.rope.rotary_share}};
  if (is_yarn) rope["original_max_position_embeddings"] = original;
  const double positions = std::floor(static_cast<double>(original) * extension.factor);
  const int context = static_cast<int>(std::min(positions, double{kContextServedMax}));
  if (context < config.context_tokens_max) {
    return invalid_argument(
        "rope_scaling", "gives a context of " + std::to_string(context) +
                            " tokens, less than the " + std::to_string(config.context_tokens_max) +
                            " that the model's files say; give a larger factor");
  }
  ASSIGN_OR_RETURN(config.rope, parse_rope_config({{"rope_parameters", rope}}, context));
  config.context_tokens_max = context;
  return {};
}

}  // namespace cascade
