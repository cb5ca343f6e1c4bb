// Ends a forward pass early.
#pragma once

#include <functional>

#include "base/result.h"

namespace cascade {

// A pass asks it several times in each layer, and before each task of attention that the calling
// thread takes, always on that thread; true ends the pass. It does not throw. Empty: the pass goes
// on to its end. What is computed between two questions is one product of all rows with a layer's
// weights, an MLP, or the attention of one task to all tokens before it.
using Interrupt = std::function<bool()>;

inline Error interrupted() {
  return {ErrorCode::kCancelled, "", "the forward pass was interrupted"};
}

// kCancelled if the pass is to end now.
inline Status ask(const Interrupt& interrupt) {
  if (interrupt && interrupt()) return interrupted();
  return {};
}

}  // namespace cascade
