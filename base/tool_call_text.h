// The text that a model wrote between the marks of a call.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cascade {

struct ToolCallText {
  std::string name;
  std::string arguments;  // JSON text; for a damaged call, as the model wrote it
};

// Reads {"name":…,"arguments":…}; nullopt for anything else. Missing arguments become {}.
std::optional<ToolCallText> whole_call(std::string_view text);

// The name and the arguments of a call whose JSON cannot be read, without the brace that would
// close the call. nullopt if there is no name followed by arguments.
std::optional<ToolCallText> damaged_call(std::string_view text);

// Whether `text` may be the beginning of a call: it is still empty, or begins an object.
bool begins_call(std::string_view text);

}  // namespace cascade
