// Unicode normalisation in time linear in the text (n log n in runs of combining marks).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cascade {

enum class UnicodeForm : uint8_t { kNfc, kNfd, kNfkc, kNfkd };

// Appends the normalised form of `text`. Returns false, with `out` partly written, once `out` would
// have more than `bytes_max`. Precondition: well-formed UTF-8. Any thread.
[[nodiscard]] bool append_normalized(std::string& out, std::string_view text, UnicodeForm form,
                                     size_t bytes_max);

}  // namespace cascade
