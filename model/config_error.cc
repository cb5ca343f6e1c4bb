// Puts the file's name at the end of the message.
#include "model/config_error.h"

#include <string>

namespace cascade {

Error in_file(Error error, std::string_view file) {
  if (error.field != file) error.message += " (in " + std::string(file) + ")";
  return error;
}

}  // namespace cascade
