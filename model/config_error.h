// Errors about what a file of a model folder says.
#pragma once

#include <string_view>

#include "base/result.h"

namespace cascade {

// The same error, with the file in which its field is: " (in config.json)".
Error in_file(Error error, std::string_view file);

}  // namespace cascade
