// The text of a mode.
#include "base/attention_mode.h"

#include <charconv>

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

}  // namespace

Result<AttentionMode> parse_attention_mode(std::string_view text) {
  if (text == "dense") return AttentionMode{};
  constexpr std::string_view kName = "window";
  if (text == kName) return kWindowMode;
  if (!text.starts_with(kName) || text[kName.size()] != ':') {
    return invalid_argument("attention",
                            "must be dense, window, window:W or window:W:S, such as "
                            "window:4096:64, got \"" +
                                std::string(text) + '"');
  }
  const std::string_view numbers = text.substr(kName.size() + 1);
  const size_t colon = numbers.find(':');
  AttentionMode mode = kWindowMode;
  ASSIGN_OR_RETURN(mode.window, mode_number(numbers.substr(0, colon), "the window W",
                                            kModeWindowMin, kModeWindowMax));
  if (colon == numbers.npos) return mode;
  ASSIGN_OR_RETURN(mode.sinks, mode_number(numbers.substr(colon + 1), "the number of sinks S", 0,
                                           kModeSinksMax));
  return mode;
}

Result<AttentionMode> parse_any_attention_mode(std::string_view text) {
  constexpr std::string_view kName = "select";
  if (text == kName) return kSelectMode;
  if (text == "dense" || text.starts_with("window")) return parse_attention_mode(text);
  if (!text.starts_with(kName) || text[kName.size()] != ':') {
    return invalid_argument("attention",
                            "must be dense, window, window:W, window:W:S, select, select:B or "
                            "select:B:D, such as select:4096, got \"" +
                                std::string(text) + '"');
  }
  const std::string_view numbers = text.substr(kName.size() + 1);
  const size_t colon = numbers.find(':');
  AttentionMode mode = kSelectMode;
  ASSIGN_OR_RETURN(const int selected,
                   mode_number(numbers.substr(0, colon), "the number of selected tokens B",
                               kModeSelectedMin, kModeSelectedMax));
  mode.selected = (selected + kModeSelectedMin - 1) / kModeSelectedMin * kModeSelectedMin;
  if (colon == numbers.npos) return mode;
  ASSIGN_OR_RETURN(mode.dense_layers,
                   mode_number(numbers.substr(colon + 1), "the number of dense layers D", 0,
                               kModeDenseLayersMax));
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
