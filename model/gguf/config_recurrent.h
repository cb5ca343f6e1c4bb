// The metadata of GGUF files that describe hybrids of attention and recurrent layers.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "model/config.h"
#include "model/gguf/files.h"

namespace cascade {

// Whether the architecture has recurrent layers.
bool is_gguf_hybrid(std::string_view architecture);

// Adds the keys that config.json has for the layers of a hybrid to `config`, which has
// num_hidden_layers, num_attention_heads and hidden_size: which layers attend, and the sizes of
// both kinds. num_hidden_layers loses the layers that only predict further tokens. Errors: field =
// key of the metadata; kNotFound for a missing key; kUnsupported for what a configuration cannot
// say.
Status read_gguf_hybrid(const GgufFiles& files, std::string_view architecture, Json& config);

// Sets the fields in which files of these architectures differ from checkpoints.
void set_gguf_hybrid(std::string_view architecture, ModelConfig& config);

}  // namespace cascade
