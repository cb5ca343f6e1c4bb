// The value of --weights that names no type.
#pragma once

namespace cascade::bench {

inline constexpr char kWeightsAsInFiles[] = "auto";

}  // namespace cascade::bench
