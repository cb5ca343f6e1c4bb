// Warns of files that the daemon trusts and that everybody may change.
#pragma once

#include <string>
#include <vector>

namespace cascade::config {

// A sentence for each way in which everybody on this machine may change what `path` says: by
// writing the file, or by putting another in its place. Whose keys open the daemon, and what the
// daemon is told to do, would then be anybody's choice. Empty for a file that cannot be looked at.
std::vector<std::string> warnings_of_writers(const std::string& path);

}  // namespace cascade::config
