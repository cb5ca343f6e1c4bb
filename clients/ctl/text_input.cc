// Reads block by block, so that an endless input ends at its limit.
#include "clients/ctl/text_input.h"

#include <array>
#include <utility>

#include "base/text_file.h"
#include "base/utf8.h"

namespace cascade::ctl {
namespace {

// Returns the text unchanged; an error if it is not UTF-8, because it would be sent with other
// characters.
Result<std::string> utf8_text(Result<std::string> text, const std::string& field) {
  if (!text.ok()) return text;
  const size_t valid = utf8_valid_prefix(*text);
  if (valid == text->size()) return text;
  return invalid_argument(field,
                          "is not UTF-8 at byte " + std::to_string(valid) + "; save it as UTF-8");
}

}  // namespace

Result<std::string> read_text(std::istream& in, size_t bytes_max) {
  std::string text;
  std::array<char, 4096> block{};
  while (in.read(block.data(), block.size()) || in.gcount() > 0) {
    text.append(block.data(), static_cast<size_t>(in.gcount()));
    if (text.size() > bytes_max) {
      return invalid_argument("stdin",
                              "has more than " + std::to_string(bytes_max) + " bytes, the limit");
    }
  }
  return utf8_text(without_byte_order_mark(std::move(text), "stdin"), "stdin");
}

Result<std::string> read_text(const std::string& file, std::istream& in, size_t bytes_max) {
  if (file == kStandardInput) return read_text(in, bytes_max);
  return utf8_text(read_text_file(file, bytes_max), file);
}

}  // namespace cascade::ctl
