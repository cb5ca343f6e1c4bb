// Text that somebody wrote with an editor, in a file or on standard input. Some editors put a byte
// order mark at its beginning, or write UTF-16. Use read_file() for files that are kept byte for
// byte.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace cascade {

// `text` without its UTF-8 byte order mark, if it has one. Its other bytes are not checked. Errors:
// kInvalidArgument, field `field`, if it begins with the mark of UTF-16 or UTF-32, or begins like
// UTF-16 without a mark.
Result<std::string> without_byte_order_mark(std::string text, const std::string& field);

// The text of a regular file. Errors: those of read_file() and of without_byte_order_mark();
// `field` is the path.
Result<std::string> read_text_file(const std::filesystem::path& path, size_t bytes_max);

}  // namespace cascade
