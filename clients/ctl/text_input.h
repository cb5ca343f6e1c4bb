// Reads the texts of a command from files or from standard input.
#pragma once

#include <cstddef>
#include <istream>
#include <string>

#include "base/result.h"

namespace cascade::ctl {

// The name for standard input where an option names a file.
inline constexpr const char* kStandardInput = "-";

// All of `in`, without a byte order mark. Errors: kInvalidArgument, field "stdin", if it has more
// than bytes_max or is not UTF-8.
Result<std::string> read_text(std::istream& in, size_t bytes_max);

// Reads a file in the same way, or `in` if the file is kStandardInput. Errors: those of
// read_text_file(), and those above.
Result<std::string> read_text(const std::string& file, std::istream& in, size_t bytes_max);

}  // namespace cascade::ctl
