// The characters that \p{...} of a pattern stands for.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/grammar/code_points.h"

namespace cascade {

// What a name in a pattern takes, in the units of compile_pattern(): some milliseconds when it is
// the first of its name.
inline constexpr size_t kCharacterPropertyWork = 250'000;

// A general category (L, Lu, Letter), a script (Script=Greek, sc=Greek, scx=Greek) or a property
// that characters have or have not (Alphabetic, Emoji, Extended_Pictographic), as ECMAScript spells
// them. Unicode versions differ: kSurely are those that have it in all that we know of, kPerhaps
// those that have it in some, or may come to have it. Sorted; nullopt if the name is not known. Any
// thread.
enum class PropertyOf { kSurely, kPerhaps };
std::optional<std::vector<CodePointRange>> characters_with(std::string_view property,
                                                           PropertyOf which);

}  // namespace cascade
