// Checks a name. Among other rules, a name must stay the same when it is made harmless for a
// terminal.
#include "base/model_name.h"

#include "base/sanitized.h"

namespace cascade {

bool is_model_name(std::string_view name) {
  if (name.empty() || name.size() > kModelNameBytesMax) return false;
  if (name.front() == '.' || name.front() == '-') return false;
  return name.find_first_of("/\n\t") == name.npos && sanitized(name) == name;
}

std::string model_name_of_path(std::filesystem::path path) {
  if (!path.has_filename()) path = path.parent_path();
  return (path.extension() == ".gguf" ? path.stem() : path.filename()).string();
}

}  // namespace cascade
