// Recognises byte order marks (Unicode 15, 23.8). The UTF-32 mark in little endian begins with the
// UTF-16 mark, so it needs no entry of its own.
#include "base/text_file.h"

#include <string_view>

#include "base/file.h"

namespace cascade {
namespace {

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";
constexpr std::string_view kOtherMarks[] = {"\xFF\xFE", "\xFE\xFF", {"\0\0\xFE\xFF", 4}};

// Whether `text` begins with two ASCII characters in UTF-16, without a mark.
bool begins_as_utf16(std::string_view text) {
  const auto is_ascii = [&](size_t high, size_t low) {
    return text[high] == '\0' && text[low] != '\0' && text[high + 2] == '\0' &&
           text[low + 2] != '\0';
  };
  return text.size() >= 4 && (is_ascii(0, 1) || is_ascii(1, 0));
}

}  // namespace

Result<std::string> without_byte_order_mark(std::string text, const std::string& field) {
  for (const std::string_view mark : kOtherMarks) {
    if (text.starts_with(mark)) {
      return invalid_argument(field, "is UTF-16 or UTF-32; save it as UTF-8");
    }
  }
  if (begins_as_utf16(text)) return invalid_argument(field, "is UTF-16; save it as UTF-8");
  if (text.starts_with(kUtf8Mark)) text.erase(0, kUtf8Mark.size());
  return text;
}

Result<std::string> read_text_file(const std::filesystem::path& path, size_t bytes_max) {
  ASSIGN_OR_RETURN(std::string text, read_file(path, bytes_max));
  return without_byte_order_mark(std::move(text), path.string());
}

}  // namespace cascade
