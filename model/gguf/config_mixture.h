// What the metadata of GGUF files say about mixtures of experts.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "model/gguf/files.h"

namespace cascade {

// Adds the keys that config.json has for a mixture to `config`, which has the other keys. Changes
// model_type where experts make the model another one: in architecture llama, experts make it a
// mixtral; in granitemoe, a shared expert makes it a granitemoeshared. Does nothing for a model
// without experts. Errors: field = key of the metadata; kNotFound for a missing key; kUnsupported
// for experts in an architecture that has none, and for a router that the architecture does not
// have.
Status read_gguf_mixture(const GgufFiles& files, const std::string& architecture, Json& config);

}  // namespace cascade
