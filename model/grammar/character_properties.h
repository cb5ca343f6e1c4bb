// The characters that \p{...} of a pattern stands for.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/grammar/code_points.h"

namespace cascade {

// The work of looking up a name in a pattern, in the units of compile_pattern(). The first use of a
// name takes some milliseconds.
inline constexpr size_t kCharacterPropertyWork = 250'000;

// The characters with a property, as ECMAScript spells it: a general category (L, Lu, Letter), a
// script (Script=Greek, sc=Greek, scx=Greek), or a property that characters have or do not have
// (Alphabetic, Emoji, Extended_Pictographic). Unicode versions differ: kSurely asks for the
// characters that have the property in all versions that we know of, kPerhaps for those that have
// it in some version or may come to have it. Sorted; nullopt if the name is not known. Any thread.
enum class PropertyOf { kSurely, kPerhaps };
std::optional<std::vector<CodePointRange>> characters_with(std::string_view property,
                                                           PropertyOf which);

}  // namespace cascade
