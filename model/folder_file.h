// Says which text files a model folder may lead to. A folder of somebody else must not make the
// daemon read other files of this machine, and tell what is in them. Weights may lie anywhere: a
// file that is not in the format of weights is refused, and nobody is told what is in one that is.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace cascade {

// Whether `path`, a text file in a model folder, is one of the model's. A link may lead
//   - to another file in the folder,
//   - into "blobs" of the cache of Hugging Face that the folder is a snapshot of,
//   - to the file of the same name in another model folder, one with config.json and
//   tokenizer.json.
// Error: kInvalidArgument, field = the path, with where it leads. What does not exist is left to
// who opens it. The folder itself may be a link: it is the operator who names it.
Status check_in_model_folder(const std::filesystem::path& path);

// read_file() of such a file. Errors: its own, and the above.
Result<std::string> read_folder_file(const std::filesystem::path& path, size_t bytes_max);

}  // namespace cascade
