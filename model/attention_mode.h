// Attention modes as the layers of a model follow them.
#pragma once

#include <span>

#include "base/attention_mode.h"

namespace cascade {

// The mode in which a layer attends whose own window, from the model's files, is `layer_window` (0:
// it has none). A layer's own window stays as it is, also if it is larger than that of `mode`: the
// layer was trained with it, and sinks were not in that training.
AttentionMode layer_mode(const AttentionMode& mode, int layer_window);

// A mode that users may choose and that sees what any layer of a model sees whose layers' own
// windows are `layer_windows`: pages that this mode does not see are needed by no layer.
AttentionMode widest_mode(const AttentionMode& mode, std::span<const int> layer_windows);

}  // namespace cascade
