// A name is valid if the text that is made of it for a terminal is the same.
#include "base/model_name.h"

#include "base/sanitized.h"

namespace cascade {

bool is_model_name(std::string_view name) {
  if (name.empty() || name.size() > kModelNameBytesMax) return false;
  if (name.front() == '.' || name.front() == '-') return false;
  return name.find_first_of("/\n\t") == name.npos && sanitized(name) == name;
}

}  // namespace cascade
