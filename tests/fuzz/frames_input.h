// Frames as one input: each follows its length (32 bits, little-endian).
#pragma once

#include <string>

#include "tests/fuzz/targets.h"
#include "wire/frames.h"

namespace cascade::fuzz {

// If the last frame is cut off, it has the bytes that exist.
wire::Frames split_frames(Bytes input);
std::string join_frames(const wire::Frames& frames);

}  // namespace cascade::fuzz
