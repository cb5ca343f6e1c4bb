// Small configurations of models with recurrent layers, for the tests of config.json.
#pragma once

#include "tests/model/config_testing.h"

namespace cascade::testing {

// Three layers, of which the last one attends. Qwen's recurrent layers have the default sizes.
inline Json hybrid_config(const std::string& type) {
  Json config = minimal_config(type.c_str());
  add_experts(config);
  const char* recurrent = type.starts_with("lfm2") ? "conv" : "linear_attention";
  config["layer_types"] = {recurrent, recurrent, "full_attention"};
  if (type.starts_with("lfm2")) config["num_key_value_heads"] = 4;
  if (type == "granitemoehybrid") {
    config["mamba_n_heads"] = 4;
    config["mamba_d_state"] = 16;
  }
  return config;
}

}  // namespace cascade::testing
