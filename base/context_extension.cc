// ORIGINAL has the limit that config.json has (model/config_rope.cc). The limit of FACTOR finds
// typing errors.
#include "base/context_extension.h"

#include <charconv>
#include <cstdio>
#include <optional>

namespace cascade {
namespace {

constexpr double kFactorMax = 1000;
constexpr int64_t kOriginalMax = 1 << 24;

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Error wrong(std::string_view text, const std::string& what) {
  return invalid_argument("", what + ", got \"" + std::string(text) + '"');
}

}  // namespace

std::string describe(const ContextExtension& extension) {
  char factor[32];
  std::snprintf(factor, sizeof factor, "%g", extension.factor);
  std::string text = extension.type == ContextExtension::Type::kYarn ? "yarn" : "linear";
  text += std::string(", factor ") + factor;
  if (extension.original_context == 0) return text;
  return text + " over " + std::to_string(extension.original_context) + " positions";
}

Result<ContextExtension> parse_context_extension(std::string_view text) {
  const std::string form =
      "must be yarn:FACTOR or linear:FACTOR, either with :ORIGINAL, such as yarn:4:32768";
  const size_t colon = text.find(':');
  if (colon == text.npos) return wrong(text, form);
  ContextExtension out;
  const std::string_view type = text.substr(0, colon);
  if (type != "yarn" && type != "linear") return wrong(text, form);
  if (type == "linear") out.type = ContextExtension::Type::kLinear;

  const std::string_view numbers = text.substr(colon + 1);
  const size_t second = numbers.find(':');
  const auto factor = number<double>(numbers.substr(0, second));
  // A NaN is refused here, too.
  if (!factor || !(*factor > 1 && *factor <= kFactorMax)) {
    return wrong(text, "FACTOR must be more than 1 and at most 1000");
  }
  out.factor = *factor;
  if (second == numbers.npos) return out;
  const auto original = number<int64_t>(numbers.substr(second + 1));
  if (!original || *original < 1 || *original > kOriginalMax) {
    return wrong(text, "ORIGINAL must be a number of positions from 1 to 16777216");
  }
  out.original_context = *original;
  return out;
}

}  // namespace cascade
