// The names of quantities in config.json and in the metadata of GGUF files.
#pragma once

#include <string_view>

namespace cascade {

// The name, after "ARCHITECTURE.", of the metadata that a key of config.json comes from; empty if
// there is none.
std::string_view gguf_config_key(std::string_view config_key);

}  // namespace cascade
