// Where a forward pass that was interrupted goes on.
#pragma once

#include <vector>

namespace cascade {

struct PausedPass {
  int layer = 0;          // the first one that is not finished
  bool attended = false;  // its attention is in the residual stream
  // [tokens, hidden_size]; empty: the pass begins with its first layer.
  std::vector<float> residual = {};
};

}  // namespace cascade
