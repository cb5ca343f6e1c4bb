// Warns of files that the daemon trusts and that everybody may change.
#include "config/file_writers.h"

#include <sys/stat.h>

#include <filesystem>

namespace cascade::config {

std::vector<std::string> warnings_of_writers(const std::string& path) {
  std::vector<std::string> warnings;
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return warnings;
  if ((file.st_mode & S_IWOTH) != 0) {
    warnings.push_back(path + ": everybody may write to it (chmod o-w " + path + ")");
  }
  std::string folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  struct stat around {};
  if (::stat(folder.c_str(), &around) != 0) return warnings;
  // In a folder like /tmp only the owner of a file may replace it.
  if ((around.st_mode & S_IWOTH) != 0 && (around.st_mode & S_ISVTX) == 0) {
    warnings.push_back(path + ": everybody may put another file in its place (chmod o-w " + folder +
                       ")");
  }
  return warnings;
}

}  // namespace cascade::config
