// Clears the place of a file that can be made again: renames whatever is there.
#pragma once

#include <string>

#include "base/file_calls.h"
#include "base/result.h"

namespace cascade {

// Renames `folder`/`name`, whatever it is, to a free name in the same folder: NAME.aside,
// NAME.aside2 and so on. It opens nothing and follows no link. Returns the new name, which is
// durable after sync_folder(). Errors: kIo, kNotFound; field = folder/name.
Result<std::string> set_aside(FileCalls& calls, const std::string& folder, const std::string& name);

}  // namespace cascade
