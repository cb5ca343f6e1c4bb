// The common work of methods and filters of strings: cutting, splitting, replacing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/jinja/value.h"

namespace cascade::jinja {

// No limit on the number of splits or replacements.
inline constexpr int64_t kNoLimit = -1;

// `text` without the characters of `chars` (nullptr: whitespace) at the ends asked for.
// Errors: steps.
Result<MarkedText> stripped(Runtime& runtime, const MarkedText& text, const MarkedText* chars,
                            bool left, bool right);

// The parts between separators, in order; at most `limit` splits, counted from the left, or from
// the right. Errors: template_error for an empty separator; steps.
Result<PaidVector<MarkedText>> split(Runtime& runtime, const MarkedText& text,
                                     const MarkedText& separator, int64_t limit, bool from_right);
// The parts between runs of whitespace, with the same limit; no part is empty.
Result<PaidVector<MarkedText>> split_at_space(Runtime& runtime, const MarkedText& text,
                                              int64_t limit, bool from_right);
Result<PaidVector<MarkedText>> split_lines(Runtime& runtime, const MarkedText& text,
                                           bool keeps_ends);

// `text` with `from` replaced by `to`, the first `limit` times. Errors: steps.
Result<MarkedText> replaced(Runtime& runtime, const MarkedText& text, const MarkedText& from,
                            const MarkedText& to, int64_t limit);

// The texts with `separator` between them.
MarkedText joined(const PaidVector<MarkedText>& texts, const MarkedText& separator);

Result<Value> list_of_strings(PaidVector<MarkedText> texts);

}  // namespace cascade::jinja
