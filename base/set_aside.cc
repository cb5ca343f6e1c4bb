// Uses rename(2), which works on folders, links, pipes, and files that this user may not open.
#include "base/set_aside.h"

#include <algorithm>
#include <cerrno>
#include <vector>

namespace cascade {

Result<std::string> set_aside(FileCalls& calls, const std::string& folder,
                              const std::string& name) {
  const std::string path = folder + "/" + name;
  std::vector<std::string> names;
  if (calls.list(folder, names) != 0) return io_error(path, errno);
  std::string free = name + ".aside";
  for (int n = 2; std::ranges::find(names, free) != names.end(); ++n) {
    free = name + ".aside" + std::to_string(n);
  }
  if (calls.rename(path, folder + "/" + free) != 0) return io_error(path, errno);
  return free;
}

}  // namespace cascade
