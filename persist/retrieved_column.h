// What a prompt had again of earlier turns, as one column of a chunk's row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/on_overflow.h"

namespace cascade {

// A line for each: the number of tokens and, after a space, the chunk's id, which may be empty and
// has no line breaks. Any thread.
std::string retrieved_column(const std::vector<Retrieved>& retrieved);
// The inverse. A damaged text gives anything: the row's checksum shows it.
std::vector<Retrieved> retrieved_from_column(std::string_view text);

}  // namespace cascade
