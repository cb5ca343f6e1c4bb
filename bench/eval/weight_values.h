// The values of one model's weights in the types of another's.
#pragma once

#include "model/weights.h"

namespace cascade::eval {

// Writes the values of all matrices of `from` to `to`, which rounds them to its own types; f32
// rounds nothing. Precondition: both were loaded from the same model, and `to` was not mapped from
// a file.
void copy_values(const Weights& from, Weights& to);

}  // namespace cascade::eval
