// The ids of tool calls.
#pragma once

#include <string>
#include <string_view>

namespace cascade {

// True for nine letters and digits. The chat templates of all families take such an id, and those
// of Mistral take no other.
bool is_call_id(std::string_view id);

// An id in this form, computed from `text`, which must distinguish the call from others. The same
// text always gives the same id.
std::string call_id_of(std::string_view text);

// What the ids of the calls in an output begin with, before call_id_of(). `id` is that of the
// output or of the response that it is.
std::string call_id_prefix(std::string_view id);

}  // namespace cascade
