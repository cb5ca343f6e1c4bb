// Recognises incomplete files by their first bytes: pointers of Git LFS are texts of some 130
// bytes.
#include "model/incomplete_file.h"

#include <algorithm>
#include <charconv>

namespace cascade {
namespace {

constexpr std::string_view kPointer = "version https://git-lfs.github.com/spec/";
constexpr std::string_view kSizeLine = "\nsize ";
// The largest size of a pointer, by its specification.
constexpr size_t kPointerBytesMax = 1024;

// The size of the file that a pointer stands for; 0 if the pointer does not say.
uint64_t size_in(std::string_view pointer) {
  const size_t line = pointer.find(kSizeLine);
  if (line == std::string_view::npos) return 0;
  uint64_t bytes = 0;
  const std::string_view digits = pointer.substr(line + kSizeLine.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
  return bytes;
}

bool is_web_page(std::string_view bytes) {
  const size_t begin = bytes.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return false;
  std::string word(bytes.substr(begin, 9));
  std::ranges::transform(word, word.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return word == "<!doctype" || word.starts_with("<html");
}

}  // namespace

Status check_is_downloaded(const std::string& name, std::string_view bytes) {
  bytes = bytes.substr(0, kPointerBytesMax);
  if (bytes.starts_with(kPointer)) {
    const uint64_t size = size_in(bytes);
    const std::string whole =
        size > 0 ? "the file itself, of " + std::to_string(size) + " bytes," : "the file itself";
    return data_corrupt(name,
                        "is a Git-LFS pointer, and " + whole +
                            " is not there: run `git lfs pull` in its folder, or download it");
  }
  if (is_web_page(bytes)) {
    return data_corrupt(name,
                        "is a web page, not the file: it may say why the download was refused");
  }
  return {};
}

Status check_is_downloaded(const std::string& name, std::span<const uint8_t> bytes) {
  return check_is_downloaded(
      name, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace cascade
