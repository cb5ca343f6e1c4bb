// The block between """ and """.
#include "clients/ctl/text_block.h"

namespace cascade::ctl {
namespace {

constexpr std::string_view kQuotes = "\"\"\"";

bool starts_with_quotes(std::string_view text) {
  return text.rfind(kQuotes, 0) == 0;
}

// Where a block opens in `line`, or npos.
size_t opening(std::string_view line) {
  if (starts_with_quotes(line)) return 0;
  if (line.empty() || line[0] != '/') return std::string_view::npos;
  const size_t space = line.find(' ');
  if (space == std::string_view::npos) return space;
  const size_t argument = line.find_first_not_of(' ', space);
  if (argument == std::string_view::npos) return argument;
  return starts_with_quotes(line.substr(argument)) ? argument : std::string_view::npos;
}

}  // namespace

std::optional<std::string> TextBlock::feed(std::string_view line) {
  if (open_) return add(line);
  const size_t begin = opening(line);
  if (begin == std::string_view::npos) return std::string(line);
  open_ = true;
  command_ = line.substr(0, begin);
  const std::string_view rest = line.substr(begin + kQuotes.size());
  if (rest.empty()) return std::nullopt;
  return add(rest);
}

std::optional<std::string> TextBlock::add(std::string_view line) {
  const size_t last = line.find_last_not_of(" \t\r");
  const std::string_view text =
      last == std::string_view::npos ? std::string_view() : line.substr(0, last + 1);
  const bool closes =
      text.size() >= kQuotes.size() && text.substr(text.size() - kQuotes.size()) == kQuotes;
  if (!closes) {
    text_ += std::string(line) + "\n";
    return std::nullopt;
  }
  text_ += text.substr(0, text.size() - kQuotes.size());
  std::string entry = command_;
  if (command_.empty() && !text_.empty() && text_[0] == '/') entry = "/";
  entry += text_;
  reset();
  return entry;
}

void TextBlock::reset() {
  open_ = false;
  command_.clear();
  text_.clear();
}

}  // namespace cascade::ctl
