// The text model inside a multimodal checkpoint, which this program runs without the rest.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace cascade {

// Whether config.json describes a model of several parts whose text part is one of our families:
// gemma3, gemma4, gemma4_unified, mistral3, qwen3_5 and qwen3_5_moe with a text_config.
bool has_text_part(const Json& config);

// The configuration of the text part in the form of a text model's. Keys that checkpoints of Gemma
// 3 and 4 leave out get transformers' defaults; what only the whole model says (its end tokens, and
// whether embeddings are tied) is added. Precondition: has_text_part().
Json text_part_config(const Json& config);

// The name of a tensor of the text part as a text model has it; nullopt for a tensor of another
// part. Checkpoints of transformers 4 and 5 differ in the names.
std::optional<std::string> text_part_tensor(std::string_view name);

}  // namespace cascade
