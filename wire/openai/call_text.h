// What a model wrote between the marks of a call.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cascade::openai {

struct CallText {
  std::string name;
  std::string arguments;  // JSON text; of a damaged call as the model wrote it
};

// {"name":…,"arguments":…}; nullopt if it is anything else. Without arguments: {}.
std::optional<CallText> whole_call(std::string_view text);

// The name and the arguments of a call whose JSON cannot be read, without the brace that would
// close the call. nullopt if it has no name with arguments behind it.
std::optional<CallText> damaged_call(std::string_view text);

// Whether it may be the beginning of a call: nothing yet, or an object.
bool begins_call(std::string_view text);

}  // namespace cascade::openai
