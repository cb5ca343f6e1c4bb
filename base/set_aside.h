// Making way where something lies in the place of a file that can be made anew.
#pragma once

#include <string>

#include "base/file_calls.h"
#include "base/result.h"

namespace cascade {

// Renames what `folder`/`name` is, whatever that is, to a free name in the same folder: NAME.aside,
// NAME.aside2 and so on. Nothing is opened, no link is followed. Returns the new name; it is
// durable after sync_folder(). Errors: kIo, kNotFound; field = folder/name.
Result<std::string> set_aside(FileCalls& calls, const std::string& folder, const std::string& name);

}  // namespace cascade
