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

}  // namespace cascade
