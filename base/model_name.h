// The names of models: those of folders, and those of files without ".gguf".
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace cascade {

inline constexpr size_t kModelNameBytesMax = 255;  // the name is also the name of a folder

// A name appears in paths, in URLs and in printed text: it must be one line of UTF-8 without '/'
// and without anything that a terminal obeys. It must not look like a hidden file or an option.
bool is_model_name(std::string_view name);
// The name of the model at `path`, a folder or a file.
std::string model_name_of_path(std::filesystem::path path);
// The message for invalid names.
inline constexpr char kModelNameRule[] =
    "must have 1 to 255 bytes of UTF-8 without '/' and control characters, and not begin with '.' "
    "or '-'";

}  // namespace cascade
