// Unicode 15, 23.8: the marks. That of UTF-32 in little endian begins with that of UTF-16.
#include "base/text_file.h"

#include <string_view>

#include "base/file.h"

namespace cascade {
namespace {

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";
constexpr std::string_view kOtherMarks[] = {"\xFF\xFE", "\xFE\xFF", {"\0\0\xFE\xFF", 4}};

}  // namespace

Result<std::string> without_byte_order_mark(std::string text, const std::string& field) {
  for (const std::string_view mark : kOtherMarks) {
    if (text.starts_with(mark)) {
      return invalid_argument(field, "is UTF-16 or UTF-32; save it as UTF-8");
    }
  }
  // UTF-16 without a mark: a text has no NUL among its first two characters.
  if (text.substr(0, 2).find('\0') != text.npos) {
    return invalid_argument(field, "is UTF-16, or no text; save it as UTF-8");
  }
  if (text.starts_with(kUtf8Mark)) text.erase(0, kUtf8Mark.size());
  return text;
}

Result<std::string> read_text_file(const std::filesystem::path& path, size_t bytes_max) {
  ASSIGN_OR_RETURN(std::string text, read_file(path, bytes_max));
  return without_byte_order_mark(std::move(text), path.string());
}

}  // namespace cascade
