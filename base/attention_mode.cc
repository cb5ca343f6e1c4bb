// The text of a mode.
#include "base/attention_mode.h"

#include <charconv>
#include <optional>

namespace cascade {
namespace {

// The number in `text`, which a message calls `name`.
Result<int> mode_number(std::string_view text, const char* name, int min, int max) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem == std::errc() && stop == end && value >= min && value <= max) return value;
  return invalid_argument("attention", std::string(name) + " must be a whole number from " +
                                           std::to_string(min) + " to " + std::to_string(max) +
                                           ", got \"" + std::string(text) + '"');
}

// The numbers of "NAME:first" and "NAME:first:second".
struct ModeNumbers {
  std::string_view first;
  std::optional<std::string_view> second;
};

// Returns nothing if `text` does not begin with `name` and a colon.
std::optional<ModeNumbers> numbers_after(std::string_view name, std::string_view text) {
  if (!text.starts_with(name)) return std::nullopt;
  text.remove_prefix(name.size());
  if (!text.starts_with(':')) return std::nullopt;
  text.remove_prefix(1);
  const size_t colon = text.find(':');
  if (colon == text.npos) return ModeNumbers{text, std::nullopt};
  return ModeNumbers{text.substr(0, colon), text.substr(colon + 1)};
}

Error unknown_mode(const char* forms, std::string_view text) {
  return invalid_argument("attention",
                          std::string("must be ") + forms + ", got \"" + std::string(text) + '"');
}

}  // namespace

Result<AttentionMode> parse_attention_mode(std::string_view text) {
  if (text == "dense") return AttentionMode{};
  if (text == "window") return kWindowMode;
  const std::optional<ModeNumbers> numbers = numbers_after("window", text);
  if (!numbers) {
    return unknown_mode("dense, window, window:W or window:W:S, such as window:4096:64", text);
  }
  AttentionMode mode = kWindowMode;
  ASSIGN_OR_RETURN(mode.window,
                   mode_number(numbers->first, "the window W", kModeWindowMin, kModeWindowMax));
  if (!numbers->second) return mode;
  ASSIGN_OR_RETURN(mode.sinks,
                   mode_number(*numbers->second, "the number of sinks S", 0, kModeSinksMax));
  return mode;
}

Result<AttentionMode> parse_any_attention_mode(std::string_view text) {
  if (text == "dense" || text.starts_with("window")) return parse_attention_mode(text);
  if (text == "select") return kSelectMode;
  const std::optional<ModeNumbers> numbers = numbers_after("select", text);
  if (!numbers) {
    return unknown_mode(
        "dense, window, window:W, window:W:S, select, select:B or select:B:D, such as select:4096",
        text);
  }
  AttentionMode mode = kSelectMode;
  ASSIGN_OR_RETURN(const int selected,
                   mode_number(numbers->first, "the number of selected tokens B", kModeSelectedMin,
                               kModeSelectedMax));
  mode.selected = (selected + kModeSelectedMin - 1) / kModeSelectedMin * kModeSelectedMin;
  if (!numbers->second) return mode;
  ASSIGN_OR_RETURN(mode.dense_layers, mode_number(*numbers->second, "the number of dense layers D",
                                                  0, kModeDenseLayersMax));
  return mode;
}

std::string to_string(const AttentionMode& mode) {
  if (mode.selected > 0) {
    return "select:" + std::to_string(mode.selected) + ':' + std::to_string(mode.dense_layers);
  }
  if (mode.window == 0) return "dense";
  return "window:" + std::to_string(mode.window) + ':' + std::to_string(mode.sinks);
}

}  // namespace cascade
