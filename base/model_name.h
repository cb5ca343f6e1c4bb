// The names of models: of folders, and of files without ".gguf".
#pragma once

#include <cstddef>
#include <string_view>

namespace cascade {

inline constexpr size_t kModelNameBytesMax = 255;  // it is the name of a folder, too

// A name stands in paths, in URLs and in what is printed: one line of UTF-8 that a terminal does
// not obey, without '/'. It is no hidden file's name, and no option's.
bool is_model_name(std::string_view name);
// What to say of others.
inline constexpr char kModelNameRule[] =
    "must have 1 to 255 bytes of UTF-8 without '/' and control characters, and not begin with '.' "
    "or '-'";

}  // namespace cascade
