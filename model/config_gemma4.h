// The parts of Gemma 4's config.json that other families do not have.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "model/config.h"

namespace cascade {

// `config` with the values that transformers' Gemma4TextConfig assumes for keys that it leaves out:
// the types of layers, their RoPE, and the layers' own inputs. As there, the last layer is one of
// full attention.
Json with_gemma4_defaults(const Json& config);

// Fills the shapes of layers, the widths of their MLPs, and the layers' own inputs. Preconditions:
// `config` is from with_gemma4_defaults(); the sizes, heads and windows of `out` are set. Errors:
// as parse_model_config.
Status read_gemma4(const Json& config, ModelConfig& out);

}  // namespace cascade
