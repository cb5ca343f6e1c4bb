// Warns of files that the daemon trusts and that everybody may change.
#pragma once

#include <string>
#include <vector>

namespace cascade::config {

// A sentence for each way in which everybody on this machine may change the content of `path`: by
// writing the file, or by putting another in its place. Anybody could then choose whose keys open
// the daemon, and what the daemon is told to do. Empty for a file that cannot be looked at.
std::vector<std::string> warnings_of_writers(const std::string& path);

}  // namespace cascade::config
