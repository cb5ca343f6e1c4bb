// Regular expressions of JSON schemas, as far as they are regular.
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/grammar/code_points.h"

namespace cascade {

inline constexpr size_t kPatternBytesMax = 4096;
inline constexpr uint32_t kPatternRepeatMax = 1000;
inline constexpr size_t kPatternNfaStatesMax = 20'000;
inline constexpr size_t kPatternDfaStatesMax = 4000;

// The texts in which the ECMAScript pattern is found: anywhere, unless ^ or $ say where. Any
// thread. The supported parts are characters, escapes, \d \w \s \p{...} and their opposites, sets,
// groups, alternatives, repetitions, ^ $ \b \B and look-ahead, all of which may stand anywhere. \d,
// \w and \s are ECMAScript's, and `.` is all but line ends. If all texts would take over
// kPatternDfaStatesMax states, the result has only the shorter ones.
// Errors: kInvalidArgument, without a field: what is malformed, not known (look-behind,
// back-references) or over a limit above.
// The work done is subtracted from `work`, in units of some ten nanoseconds. Compiling ends when
// `work` is used up.
Result<CodePointDfa> compile_pattern(std::string_view pattern, size_t& work);

}  // namespace cascade
