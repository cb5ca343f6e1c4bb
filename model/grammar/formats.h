// The values of the keyword `format`, as patterns.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cascade {

// A pattern all of whose texts are of this format (RFC 3339, 4122, ...), but not the other way
// round: hosts, addresses and URIs have more forms than it. nullopt if the format is not known.
std::optional<std::string> pattern_of_format(std::string_view format);

// Their names, for messages.
std::string known_formats();

}  // namespace cascade
