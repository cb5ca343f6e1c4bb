// Finds models by the names of their files.
#pragma once

#include <string>

#include "base/result.h"
#include "wire/messages.h"

namespace cascade::ctl {

// `given` without the slashes at its end that shells write after folders; "/" stays.
std::string without_end_slashes(const std::string& given);

// Whether `given` is meant as a file or folder, and not as a model's name: it has a slash, or ends
// with ".gguf".
bool is_model_file(const std::string& given);

// The name of the model among `models` whose file or folder is `given`: compared by path if `given`
// has a slash (symbolic links and the working directory are resolved), else by the file's name.
// Precondition: is_model_file(given). Errors: kInvalidArgument, field "NAME", if it is not one of
// them; the message says where the daemon's models are.
Result<std::string> model_name_of(const std::string& given, const wire::ModelListReply& models);

}  // namespace cascade::ctl
