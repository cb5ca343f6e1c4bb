// What config.json says, as the metadata of GGUF files.
#pragma once

#include <string>

#include "model/config.h"
#include "tests/model/gguf/writer.h"

namespace cascade::testing {

// The architecture's name in GGUF files.
std::string architecture_of(const ModelConfig& config);

// Writes the keys that describe the model, but not its tokenizer.
void write_config(const ModelConfig& config, GgufWriter& out);

}  // namespace cascade::testing
