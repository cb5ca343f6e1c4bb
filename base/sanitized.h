// Text that somebody else wrote, made fit for a terminal or a log.
#pragma once

#include <string>
#include <string_view>

namespace cascade {

// `text` without anything that a terminal obeys: control characters (escape among them) become
// their pictures (U+2400 and on), C1 controls and bidirectional overrides U+FFFD, as do malformed
// bytes. Newline and tab stay; a carriage return before a newline goes.
std::string sanitized(std::string_view text);

}  // namespace cascade
