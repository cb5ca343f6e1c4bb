// Text that somebody else wrote, made fit for a terminal or a log.
#pragma once

#include <string>
#include <string_view>

namespace cascade {

// `text` without anything that a terminal obeys: control characters (escape included) become their
// pictures (U+2400 and up); C1 controls, bidirectional overrides and malformed bytes become U+FFFD.
// Newline and tab stay; a carriage return before a newline is removed.
std::string sanitized(std::string_view text);

}  // namespace cascade
