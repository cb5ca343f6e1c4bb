// Blanks source and finds includes; find_functions.cc finds functions.
#include "tests/tidy/source_code.h"

#include <algorithm>
#include <cctype>

namespace cascade::tidy {
namespace {

// Walks over source; on request, blanks the characters that it passes.
class Blanker {
 public:
  explicit Blanker(std::string_view source) : source_(source), out_(source) {}

  std::string run() {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (source_.substr(at_, 2) == "//") {
        blank_to(line_comment_end());
      } else if (source_.substr(at_, 2) == "/*") {
        blank_to(end_of("*/", at_ + 2));
      } else if (c == '"') {
        blank_to(is_raw() ? raw_string_end() : literal_end('"'));
      } else if (c == '\'' && !separates_digits()) {
        blank_to(literal_end('\''));
      } else {
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  void blank_to(size_t end) {
    for (; at_ < end; ++at_) {
      if (source_[at_] != '\n') out_[at_] = ' ';
    }
  }

  size_t end_of(std::string_view closing, size_t from) const {
    const size_t found = source_.find(closing, from);
    return found == std::string_view::npos ? source_.size() : found + closing.size();
  }

  // A line that ends in a backslash continues in the next one.
  size_t line_comment_end() const {
    size_t end = source_.find('\n', at_);
    while (end != std::string_view::npos && source_[end - 1] == '\\') {
      end = source_.find('\n', end + 1);
    }
    return std::min(end, source_.size());
  }

  size_t literal_end(char quote) const {
    for (size_t i = at_ + 1; i < source_.size(); ++i) {
      if (source_[i] == '\\') {
        ++i;
      } else if (source_[i] == quote) {
        return i + 1;
      }
    }
    return source_.size();
  }

  // The letters right before the quote: a prefix such as R, u8R or LR.
  bool is_raw() const {
    size_t begin = at_;
    while (begin > 0 && is_word(source_[begin - 1])) --begin;
    const std::string_view prefix = source_.substr(begin, at_ - begin);
    return prefix == "R" || prefix == "u8R" || prefix == "uR" || prefix == "UR" || prefix == "LR";
  }

  size_t raw_string_end() const {
    const size_t open = source_.find('(', at_);
    if (open == std::string_view::npos) return source_.size();
    const std::string delimiter(source_.substr(at_ + 1, open - at_ - 1));
    return end_of(")" + delimiter + "\"", open);
  }

  // In 1'000 the quote is within a word that begins with a digit.
  bool separates_digits() const {
    size_t begin = at_;
    while (begin > 0 && (is_word(source_[begin - 1]) || source_[begin - 1] == '\'')) --begin;
    return begin < at_ && std::isdigit(static_cast<unsigned char>(source_[begin])) != 0;
  }

  const std::string_view source_;
  std::string out_;
  size_t at_ = 0;
};

size_t skip_blanks(std::string_view text, size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  return at;
}

}  // namespace

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string blank_comments_and_literals(std::string_view source) {
  return Blanker(source).run();
}

std::string blank_directives(std::string_view code) {
  std::string out(code);
  bool directive = false;  // the line is a directive or continues one
  for (size_t begin = 0; begin < out.size();) {
    const size_t end = std::min(out.find('\n', begin), out.size());
    const size_t first = skip_blanks(out, begin);
    directive = directive || (first < end && out[first] == '#');
    const bool goes_on = directive && end > begin && out[end - 1] == '\\';
    if (directive) std::fill(out.begin() + begin, out.begin() + end, ' ');
    directive = goes_on;
    begin = end + 1;
  }
  return out;
}

std::vector<Include> find_includes(std::string_view source) {
  // Quoted paths are literals, so the directive is found in the blanked text and its path in the
  // source.
  const std::string code = blank_comments_and_literals(source);
  std::vector<Include> includes;
  int line = 1;
  for (size_t begin = 0; begin < code.size(); ++line) {
    const size_t end = std::min(code.find('\n', begin), code.size());
    size_t at = skip_blanks(code, begin);
    begin = end + 1;
    if (at >= end || code[at] != '#') continue;
    at = skip_blanks(code, at + 1);
    if (code.compare(at, 7, "include") != 0) continue;
    at = source.find_first_of("\"<", at + 7);
    if (at >= end) continue;
    const bool quoted = source[at] == '"';
    const size_t close = source.find(quoted ? '"' : '>', at + 1);
    if (close >= end) continue;
    includes.push_back({line, std::string(source.substr(at + 1, close - at - 1)), quoted});
  }
  return includes;
}

int line_at(std::string_view source, size_t offset) {
  return 1 + static_cast<int>(std::count(source.begin(), source.begin() + offset, '\n'));
}

}  // namespace cascade::tidy
