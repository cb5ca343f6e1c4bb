// Errors about the contents of a file in a model folder.
#pragma once

#include <string_view>

#include "base/result.h"

namespace cascade {

// The same error with the name of the file that has its field: " (in config.json)".
Error in_file(Error error, std::string_view file);

}  // namespace cascade
