// The summaries that stood in a prompt, as one column of a chunk's row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cascade {

// A line for each id; ids have no line breaks. Any thread.
std::string summaries_column(const std::vector<std::string>& ids);
// The inverse. A damaged text gives anything: the row's checksum shows it.
std::vector<std::string> summaries_from_column(std::string_view text);

}  // namespace cascade
