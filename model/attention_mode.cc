// A layer's own window comes before the mode.
#include "model/attention_mode.h"

#include <algorithm>

namespace cascade {

AttentionMode layer_mode(const AttentionMode& mode, int layer_window) {
  return layer_window > 0 ? AttentionMode{layer_window, 0} : mode;
}

AttentionMode widest_mode(const AttentionMode& mode, std::span<const int> layer_windows) {
  if (mode.window == 0 || layer_windows.empty()) return mode;
  AttentionMode widest = {kModeWindowMin, mode.sinks};
  for (const int window : layer_windows) {
    widest.window = std::max(widest.window, layer_mode(mode, window).window);
  }
  return widest;
}

}  // namespace cascade
