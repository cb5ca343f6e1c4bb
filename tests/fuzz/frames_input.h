// Frames as one input: each behind its length, 32 bits, little-endian.
#pragma once

#include <string>

#include "tests/fuzz/targets.h"
#include "wire/frames.h"

namespace cascade::fuzz {

// A last frame that is cut is as long as what is there.
wire::Frames split_frames(Bytes input);
std::string join_frames(const wire::Frames& frames);

}  // namespace cascade::fuzz
