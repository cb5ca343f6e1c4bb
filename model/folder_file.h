// Says which text files a model folder may lead to. A folder that somebody else made must not get
// the daemon to read other files of this machine and to reveal their contents. Weights may lie
// anywhere: a file that is not in the format of weights is refused, and the contents of weights are
// not revealed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace cascade {

// Checks that `path`, a text file in a model folder, is one of the model's. A link may lead
//   - to another file in the folder,
//   - into "blobs" of the cache of Hugging Face that the folder is a snapshot of,
//   - to the file of the same name in another model folder, one with config.json and
//   tokenizer.json.
// Error: kInvalidArgument, field = the path, with the target of the link. A file that does not
// exist is not an error here: opening it will fail. The folder itself may be a link, because the
// operator names it.
Status check_in_model_folder(const std::filesystem::path& path);

// Reads a text file of a model folder with read_file(). Errors: those of read_file() and
// check_in_model_folder().
Result<std::string> read_folder_file(const std::filesystem::path& path, size_t bytes_max);

}  // namespace cascade
