// Recognises model files that are incomplete because they were downloaded the wrong way.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cascade {

// The error text for a file that is shorter than its header announces.
inline constexpr std::string_view kCutOffFile =
    "the file is cut off, as after an incomplete download: download it again";

// Checks that a downloaded file is the file itself. `bytes` are all bytes of the file, or the first
// 1,024; at most 1,024 are read. Errors: kDataCorrupt, field `name`, with what to do, if the file
// is a pointer that Git LFS leaves in the place of a file that it has not fetched, or a web page.
Status check_is_downloaded(const std::string& name, std::string_view bytes);
Status check_is_downloaded(const std::string& name, std::span<const uint8_t> bytes);

}  // namespace cascade
