// Formatting one value into one field.
#include "model/jinja/format_spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "model/jinja/error.h"
#include "model/jinja/number.h"
#include "model/jinja/unicode.h"

namespace cascade::jinja {
namespace {

// The steps for printing a number with up to 609 digits.
constexpr uint64_t kPrintingSteps = 100;

bool is_align(char c) {
  return c == '<' || c == '>' || c == '^' || c == '=';
}

std::string upper_ascii(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

// `digits` with `separator` between the groups of three digits of the whole part.
std::string grouped(const std::string& digits, char separator) {
  if (separator == '\0') return digits;
  size_t whole = 0;
  while (whole < digits.size() && is_ascii_digit(digits[whole])) ++whole;
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && i < whole && (whole - i) % 3 == 0) text += separator;
    text += digits[i];
  }
  return text;
}

std::string sign_of(bool negative, const FormatSpec& spec) {
  if (negative) return "-";
  return spec.sign == '-' ? "" : std::string(1, spec.sign);
}

// Puts the number that `sign` (which includes a prefix) and `digits` form into its field.
Result<MarkedText> number_field(Runtime& runtime, const std::string& sign,
                                const std::string& digits, const FormatSpec& spec) {
  if (spec.align != '=') {
    const char align = spec.align == '\0' ? '>' : spec.align;
    return padded(runtime, MarkedText(sign + digits, false), spec.fill, align, spec.width);
  }
  const int64_t width = spec.width - static_cast<int64_t>(sign.size());
  ASSIGN_OR_RETURN(const MarkedText field,
                   padded(runtime, MarkedText(digits, false), spec.fill, '>', width));
  MarkedText text(sign, false);
  text.append(field);
  return text;
}

Error wrong_type(char type, std::string_view what) {
  return template_error("the format type " + in_quotes({&type, 1}) + " does not fit " +
                        std::string(what));
}

// The digits of a finite, non-negative number as printf's "%.<precision><type>" gives them.
std::string printed(double number, char type, int64_t precision, bool alternate) {
  const std::string format = std::string(alternate ? "%#.*" : "%.*") + type;
  char buffer[1024];  // 309 digits, the precision and an exponent
  const int size =
      std::snprintf(buffer, sizeof buffer, format.c_str(), static_cast<int>(precision), number);
  return std::string(buffer, static_cast<size_t>(size));
}

std::string real_digits(double number, const FormatSpec& spec) {
  if (!std::isfinite(number)) {
    return std::string(std::isnan(number) ? "nan" : "inf") + (spec.type == '%' ? "%" : "");
  }
  const char type = static_cast<char>(spec.type | 0x20);
  if (spec.type == '%') return printed(number * 100, 'f', spec.precision.value_or(6), false) + "%";
  if (spec.type != '\0') return printed(number, type, spec.precision.value_or(6), spec.alternate);
  if (!spec.precision.has_value()) return float_text(number);
  const std::string digits =
      printed(number, 'g', std::max<int64_t>(*spec.precision, 1), spec.alternate);
  const bool is_whole = digits.find_first_of(".e") == std::string::npos;
  return is_whole ? digits + ".0" : digits;
}

}  // namespace

Result<std::optional<int64_t>> read_count(std::string_view text, size_t& pos, std::string_view what,
                                          int64_t max) {
  if (pos >= text.size() || !is_ascii_digit(text[pos])) return std::optional<int64_t>();
  int64_t count = 0;
  for (; pos < text.size() && is_ascii_digit(text[pos]); ++pos) {
    count = count * 10 + (text[pos] - '0');
    if (count > max) {
      return template_error("the " + std::string(what) + " of a format is larger than " +
                            std::to_string(max));
    }
  }
  return std::optional<int64_t>(count);
}

Result<FormatSpec> parse_format_spec(std::string_view text) {
  FormatSpec spec;
  size_t pos = 0;
  const auto take = [&](std::string_view allowed) {
    if (pos >= text.size() || allowed.find(text[pos]) == std::string_view::npos) return '\0';
    return text[pos++];
  };
  const size_t fill_size = text.empty() ? 0 : utf8_decode(text, 0).size;
  if (fill_size < text.size() && is_align(text[fill_size])) {
    spec.fill = std::string(text.substr(0, fill_size));
    pos = fill_size;
  }
  spec.align = take("<>^=");
  if (const char sign = take("+- ")) spec.sign = sign;
  spec.alternate = take("#") != '\0';
  if (take("0") != '\0' && spec.align == '\0') {
    spec.fill = "0";
    spec.align = '=';
  }
  ASSIGN_OR_RETURN(const auto width, read_count(text, pos, "width", kFieldWidthMax));
  spec.width = width.value_or(0);
  spec.grouping = take(",_");
  if (take(".") != '\0') {
    ASSIGN_OR_RETURN(spec.precision, read_count(text, pos, "precision", kFieldPrecisionMax));
    if (!spec.precision.has_value()) return template_error("a format has '.' without a precision");
  }
  spec.type = take("sdxXobeEfFgG%");
  const bool groups_zeros = spec.grouping != '\0' && spec.align == '=';
  if (pos < text.size() || groups_zeros) {
    return template_error("the format " + in_quotes(text) + " is not supported");
  }
  return spec;
}

Result<MarkedText> padded(Runtime& runtime, const MarkedText& text, std::string_view fill,
                          char align, int64_t width) {
  RETURN_IF_ERROR(runtime.charge_bytes(text.size()));
  const int64_t missing = width - static_cast<int64_t>(code_point_count(text.view()));
  if (missing <= 0) return text;
  RETURN_IF_ERROR(runtime.charge(static_cast<uint64_t>(missing)));
  const int64_t left = align == '<' ? 0 : align == '>' ? missing : missing / 2;
  MarkedText field;
  field.reserve(text.size() + static_cast<size_t>(missing) * fill.size());
  for (int64_t i = 0; i < left; ++i) field.append(fill, false);
  field.append(text);
  for (int64_t i = left; i < missing; ++i) field.append(fill, false);
  return field;
}

Result<MarkedText> format_string(Runtime& runtime, const MarkedText& text, const FormatSpec& spec) {
  if (spec.type != 's' && spec.type != '\0') return wrong_type(spec.type, "a string");
  MarkedText shown = text;
  if (spec.precision.has_value()) {
    shown = text.slice(0, offset_of(text.view(), static_cast<size_t>(*spec.precision)));
  }
  const char align = spec.align == '\0' || spec.align == '=' ? '<' : spec.align;
  return padded(runtime, shown, spec.fill, align, spec.width);
}

Result<MarkedText> format_integer(Runtime& runtime, int64_t number, const FormatSpec& spec) {
  int base = 10;
  std::string prefix;
  switch (spec.type) {
    case '\0':
    case 'd':
      break;
    case 'x':
    case 'X':
      base = 16;
      prefix = "0x";
      break;
    case 'o':
      base = 8;
      prefix = "0o";
      break;
    case 'b':
      base = 2;
      prefix = "0b";
      break;
    case 's':
      return wrong_type(spec.type, "a number");
    default:
      return format_real(runtime, static_cast<double>(number), spec);
  }
  if (spec.precision.has_value() || (spec.grouping != '\0' && base != 10)) {
    return template_error("an integer format has a precision, or groups digits of another base");
  }
  const uint64_t magnitude =
      number < 0 ? -static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
  char buffer[72];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, magnitude, base).ptr;
  std::string digits = grouped(std::string(buffer, end), spec.grouping);
  std::string sign = sign_of(number < 0, spec) + (spec.alternate ? prefix : "");
  if (spec.type == 'X') {
    digits = upper_ascii(std::move(digits));
    sign = upper_ascii(std::move(sign));
  }
  return number_field(runtime, sign, digits, spec);
}

Result<MarkedText> format_real(Runtime& runtime, double number, const FormatSpec& spec) {
  static constexpr std::string_view kTypes = "eEfFgG%";
  if (spec.type != '\0' && kTypes.find(spec.type) == std::string_view::npos) {
    return wrong_type(spec.type, "a float");
  }
  RETURN_IF_ERROR(runtime.charge(kPrintingSteps));
  std::string digits = grouped(real_digits(std::fabs(number), spec), spec.grouping);
  if (spec.type == 'E' || spec.type == 'F' || spec.type == 'G') digits = upper_ascii(digits);
  const bool negative = std::signbit(number) && !std::isnan(number);
  return number_field(runtime, sign_of(negative, spec), digits, spec);
}

}  // namespace cascade::jinja
