// Applies a RoPE scaling that the user chose to a model's configuration.
#pragma once

#include "base/context_extension.h"
#include "base/result.h"
#include "model/config.h"

namespace cascade {

// Gives `config` the RoPE that its files would have with this scaling in rope_parameters, and the
// context that follows: original context * factor, at most kContextServedMax. Layers with a RoPE of
// their own (LayerRope::kLocal) keep it, as in transformers.
// The original context is the first of these: extension.original_context; that of a YaRN scaling in
// the files; context_tokens_max.
// Errors, field "rope_scaling", with `config` unchanged: kInvalidArgument if the context would be
// shorter than that of the files, or if the files have a linear scaling and the extension has no
// original context (files do not agree on whether max_position_embeddings is scaled); kUnsupported
// if the files have a scaling of another type, or if no layer of the model rotates.
Status extend_context(const ContextExtension& extension, ModelConfig& config);

}  // namespace cascade
