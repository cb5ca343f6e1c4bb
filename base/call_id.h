// The ids of tools' calls.
#pragma once

#include <string>
#include <string_view>

namespace cascade {

// Nine letters and digits: every family's chat template takes such an id, and Mistral's take no
// other.
bool is_call_id(std::string_view id);

// Such an id, the same for the same text, which tells the call from others.
std::string call_id_of(std::string_view text);

}  // namespace cascade
