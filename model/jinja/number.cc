// Conversion between numbers and text with Python's rules.
#include "model/jinja/number.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "model/jinja/error.h"
#include "model/jinja/unicode.h"

namespace cascade::jinja {
namespace {

std::string_view stripped(std::string_view text) {
  const auto [begin, end] = strip_range(text, std::nullopt, true, true);
  return text.substr(begin, end - begin);
}

// `text` without its underscores; nullopt if an underscore is not between two digits (or letters).
std::optional<PaidString> without_underscores(std::string_view text) {
  const auto is_digit_or_letter = [&](size_t at) {
    return at < text.size() && (is_ascii_digit(text[at]) || is_ascii_alpha(text[at]));
  };
  PaidString kept;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      kept += text[i];
    } else if (i == 0 || !is_digit_or_letter(i - 1) || !is_digit_or_letter(i + 1)) {
      return std::nullopt;
    }
  }
  return kept;
}

// Removes a prefix such as "0x" from `digits` if `base` allows it. Sets `base` if it is 0.
void take_prefix(std::string_view& digits, int& base) {
  const char letter = digits.size() > 1 && digits[0] == '0' ? digits[1] | 0x20 : '\0';
  const int named = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
  if (named != 0 && (base == named || base == 0)) {
    digits.remove_prefix(2);
    if (digits.starts_with('_')) digits.remove_prefix(1);
    base = named;
  }
  if (base == 0) base = 10;
}

// [sign] digits [. digits] [e [sign] digits], with digits before or after the point.
bool is_float_syntax(std::string_view text) {
  size_t i = 0;
  const auto skip_digits = [&] {
    const size_t begin = i;
    while (i < text.size() && is_ascii_digit(text[i])) ++i;
    return i - begin;
  };
  size_t digits = skip_digits();
  if (i < text.size() && text[i] == '.') {
    ++i;
    digits += skip_digits();
  }
  if (digits == 0) return false;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (skip_digits() == 0) return false;
  }
  return i == text.size();
}

// The value of a text in float syntax that is out of range for from_chars: infinity or zero.
double beyond_range(std::string_view text) {
  const size_t exponent = text.find_first_of("eE");
  const bool has_whole_part =
      text.substr(0, text.find_first_of(".eE")).find_first_not_of('0') != std::string_view::npos;
  const bool is_large = exponent == std::string_view::npos
                            ? has_whole_part
                            : text.substr(exponent + 1, 1) != std::string_view("-");
  return is_large ? std::numeric_limits<double>::infinity() : 0.0;
}

std::optional<double> named_float(std::string_view text) {
  PaidString lower;
  for (const char c : text) lower += is_ascii_alpha(c) ? static_cast<char>(c | 0x20) : c;
  if (lower == "inf" || lower == "infinity") return std::numeric_limits<double>::infinity();
  if (lower == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

}  // namespace

std::string float_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  // Takes the shortest digits, "d.ddde[+-]XX", and lays them out anew where Python uses positional
  // notation.
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific).ptr;
  const std::string_view shortest(buffer, static_cast<size_t>(end - buffer));
  const size_t e = shortest.find('e');
  std::string digits;
  for (const char c : shortest.substr(0, e)) {
    if (is_ascii_digit(c)) digits += c;
  }
  int exponent = 0;
  const size_t exponent_begin = e + (shortest[e + 1] == '+' ? 2 : 1);
  std::from_chars(buffer + exponent_begin, end, exponent);
  const std::string sign = std::signbit(number) ? "-" : "";
  if (exponent < -4 || exponent >= 16) {  // where repr() changes to scientific notation
    const std::string fraction = digits.size() > 1 ? "." + digits.substr(1) : "";
    return sign + digits.substr(0, 1) + fraction + std::string(shortest.substr(e));
  }
  if (exponent < 0) {
    return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  }
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() < whole + 1) digits.append(whole + 1 - digits.size(), '0');
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

Result<std::optional<int64_t>> int_from_text(std::string_view text, int64_t base) {
  if (base != 0 && (base < 2 || base > 36)) {
    return template_error("the base of a number must be 0 or between 2 and 36");
  }
  std::string_view digits = stripped(text);
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  int radix = static_cast<int>(base);
  take_prefix(digits, radix);
  const auto plain = without_underscores(digits);
  if (!plain.has_value() || plain->empty() || plain->starts_with('-')) {
    return std::optional<int64_t>();
  }
  if (base == 0 && radix == 10 && plain->starts_with('0') &&
      plain->find_first_not_of('0') != std::string::npos) {
    return std::optional<int64_t>();  // "010" is ambiguous
  }
  const PaidString signed_digits = (negative ? "-" : "") + *plain;
  const char* end = signed_digits.data() + signed_digits.size();
  int64_t number = 0;
  const auto parsed = std::from_chars(signed_digits.data(), end, number, radix);
  if (parsed.ptr != end || parsed.ec == std::errc::invalid_argument) {
    return std::optional<int64_t>();
  }
  if (parsed.ec != std::errc()) {
    return template_error("the number " + in_quotes(text) + " exceeds 64 bits");
  }
  return std::optional<int64_t>(number);
}

std::optional<double> float_from_text(std::string_view text) {
  std::string_view digits = stripped(text);
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  std::optional<double> number = named_float(digits);
  if (!number.has_value()) {
    const auto plain = without_underscores(digits);
    if (!plain.has_value() || !is_float_syntax(*plain)) return std::nullopt;
    double value = 0;
    const char* begin = plain->data();
    const auto parsed = std::from_chars(begin, begin + plain->size(), value);
    number = parsed.ec == std::errc::result_out_of_range ? beyond_range(*plain) : value;
  }
  return negative ? -*number : *number;
}

Result<int64_t> int_from_float(double number) {
  // 2^63 as a double; the largest double below it fits.
  constexpr double kLimit = 9223372036854775808.0;
  if (!(number >= -kLimit && number < kLimit)) {
    return template_error("the number " + float_text(number) + " does not fit a 64-bit integer");
  }
  return static_cast<int64_t>(number);
}

}  // namespace cascade::jinja
