// What the metadata of GGUF files say about the layers of Gemma 4.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "model/gguf/files.h"

namespace cascade {

// Adds the keys that config.json has for the layers of Gemma 4 to `config`, which has
// num_hidden_layers: their types, heads, windows, RoPE, MLPs and inputs. Errors: field = key of the
// metadata or tensor; kNotFound for a missing key; kUnsupported for what a configuration cannot
// say.
Status read_gguf_gemma4(const GgufFiles& files, Json& config);

}  // namespace cascade
