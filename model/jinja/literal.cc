// Reading number and string literals.
#include "model/jinja/literal.h"

#include <charconv>
#include <optional>

#include "base/utf8.h"
#include "model/jinja/error.h"
#include "model/jinja/unicode.h"

namespace cascade::jinja {
namespace {

int digit_value(char c) {
  if (is_ascii_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

// The end of the digits at `begin`, or `begin` if there are none. Single underscores may stand
// between digits.
size_t skip_digits(std::string_view source, size_t begin, int base) {
  size_t end = begin;
  while (end < source.size()) {
    const size_t digit = source[end] == '_' && end > begin ? end + 1 : end;
    if (digit >= source.size() || digit_value(source[digit]) >= base) break;
    end = digit + 1;
  }
  return end;
}

std::string digits_of(std::string_view text) {
  std::string kept;
  for (const char c : text) {
    if (c != '_') kept += c;
  }
  return kept;
}

Result<NumberLiteral> to_integer(std::string_view source, size_t begin, size_t end, int base) {
  const std::string digits = digits_of(source.substr(begin, end - begin));
  NumberLiteral literal;
  literal.size = end;
  const auto parsed =
      std::from_chars(digits.data(), digits.data() + digits.size(), literal.integer, base);
  if (parsed.ec != std::errc()) {
    return template_error("the number " + in_quotes(source.substr(0, end)) + " exceeds 64 bits");
  }
  return literal;
}

// The end of a float at the beginning of `source`, if there is one.
std::optional<size_t> float_end(std::string_view source) {
  size_t end = skip_digits(source, 0, 10);
  bool is_float = false;
  if (end < source.size() && source[end] == '.') {
    const size_t fraction_end = skip_digits(source, end + 1, 10);
    if (fraction_end > end + 1) {
      end = fraction_end;
      is_float = true;
    }
  }
  if (end < source.size() && (source[end] == 'e' || source[end] == 'E')) {
    size_t digits = end + 1;
    if (digits < source.size() && (source[digits] == '+' || source[digits] == '-')) ++digits;
    const size_t exponent_end = skip_digits(source, digits, 10);
    if (exponent_end > digits) {
      end = exponent_end;
      is_float = true;
    }
  }
  if (!is_float) return std::nullopt;
  return end;
}

class Unescaper {
 public:
  explicit Unescaper(std::string_view body) : body_(body) {}

  Result<std::string> run() {
    while (pos_ < body_.size()) {
      const char c = body_[pos_++];
      if (c != '\\' || pos_ >= body_.size()) {
        text_ += c;
      } else {
        RETURN_IF_ERROR(escape(body_[pos_]));
      }
    }
    return std::move(text_);
  }

 private:
  // Reads the escape whose letter is at pos_.
  Status escape(char letter) {
    static constexpr std::string_view kLetters = "abfnrtv\\'\"";
    static constexpr std::string_view kValues = "\a\b\f\n\r\t\v\\'\"";
    if (const size_t known = kLetters.find(letter); known != std::string_view::npos) {
      text_ += kValues[known];
      ++pos_;
      return {};
    }
    switch (letter) {
      case '\n':  // the string continues on the next line
        ++pos_;
        return {};
      case 'x':
        return hexadecimal(2);
      case 'u':
        return hexadecimal(4);
      case 'U':
        return hexadecimal(8);
      case 'N':
        return template_error("the escape \\N{...} is not supported");
      default:
        break;
    }
    if (digit_value(letter) < 8) return octal();
    text_ += '\\';
    if (static_cast<unsigned char>(letter) >= 0x80) spell_out();
    return {};
  }

  Status hexadecimal(size_t digits) {
    const std::string_view text = body_.substr(pos_ + 1, digits);
    uint32_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (text.size() != digits || parsed.ptr != text.data() + text.size()) {
      return template_error("the escape \\" + std::string(1, body_[pos_]) + " needs " +
                            std::to_string(digits) + " hexadecimal digits");
    }
    pos_ += 1 + digits;
    return code_point(value);
  }

  Status octal() {
    uint32_t value = 0;
    for (int i = 0; i < 3 && pos_ < body_.size() && digit_value(body_[pos_]) < 8; ++i) {
      value = value * 8 + static_cast<uint32_t>(digit_value(body_[pos_++]));
    }
    return code_point(value);
  }

  Status code_point(uint32_t value) {
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
      return template_error("an escape names a surrogate or a code point beyond U+10FFFF");
    }
    utf8_append(text_, value);
    return {};
  }

  // Jinja reads a backslash before a character beyond ASCII as the text of that character's escape:
  // U+00E9 becomes a backslash and "xe9".
  void spell_out() {
    const CodePoint code_point = utf8_decode(body_, pos_);
    char hex[16];
    const auto end = std::to_chars(hex, hex + sizeof hex, code_point.value, 16).ptr;
    const std::string digits(hex, end);
    const size_t width = code_point.value < 0x100 ? 2 : code_point.value < 0x10000 ? 4 : 8;
    text_ += width == 2 ? 'x' : width == 4 ? 'u' : 'U';
    text_ += std::string(width - digits.size(), '0') + digits;
    pos_ += code_point.size;
  }

  const std::string_view body_;
  size_t pos_ = 0;
  std::string text_;
};

}  // namespace

Result<NumberLiteral> read_number(std::string_view source, bool after_dot) {
  if (const auto end = float_end(source); end.has_value() && !after_dot) {
    NumberLiteral literal{true, 0, 0, *end};
    const std::string digits = digits_of(source.substr(0, *end));
    const auto parsed =
        std::from_chars(digits.data(), digits.data() + digits.size(), literal.number);
    if (parsed.ec != std::errc()) {
      return template_error("the number " + in_quotes(digits) + " does not fit a double");
    }
    return literal;
  }
  if (source[0] != '0') return to_integer(source, 0, skip_digits(source, 0, 10), 10);
  if (source.size() > 1) {
    const char letter = static_cast<char>(source[1] | 0x20);
    const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    // One underscore may follow the prefix ("0x_ff").
    const size_t begin = source.size() > 2 && source[2] == '_' ? 3 : 2;
    if (base != 0 && skip_digits(source, begin, base) > begin) {
      return to_integer(source, begin, skip_digits(source, begin, base), base);
    }
  }
  return NumberLiteral{false, 0, 0, skip_digits(source, 0, 1)};
}

Result<std::string> unescape_string(std::string_view body) {
  return Unescaper(body).run();
}

}  // namespace cascade::jinja
