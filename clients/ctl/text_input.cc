// Block by block, so that an endless input ends at its limit.
#include "clients/ctl/text_input.h"

#include <array>
#include <utility>

#include "base/text_file.h"

namespace cascade::ctl {

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
  return without_byte_order_mark(std::move(text), "stdin");
}

Result<std::string> read_text(const std::string& file, std::istream& in, size_t bytes_max) {
  if (file == kStandardInput) return read_text(in, bytes_max);
  return read_text_file(file, bytes_max);
}

}  // namespace cascade::ctl
