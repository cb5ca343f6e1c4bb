// Recognises model files that are incomplete because they were downloaded the wrong way.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cascade {

// The error of a file that ends before what its header announces.
inline constexpr std::string_view kCutOffFile =
    "the file is cut off, as by a download that did not end: download it again";

// Whether the file, of which `bytes` are all or the first 1,024, is the file itself. Errors:
// kDataCorrupt, field `name`, with what to do: it is a pointer that Git LFS leaves in the place of
// a file that it has not fetched, or a web page. Reads 1,024 bytes at most.
Status check_is_downloaded(const std::string& name, std::string_view bytes);
Status check_is_downloaded(const std::string& name, std::span<const uint8_t> bytes);

}  // namespace cascade
