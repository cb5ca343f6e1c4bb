// The text of a mode, and what a mode hides.
#include "model/attention_mode.h"

#include <algorithm>
#include <charconv>

#include "cache/kv_view.h"

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

std::string to_string(const AttentionMode& mode) {
  if (mode.window == 0) return "dense";
  return "window:" + std::to_string(mode.window) + ':' + std::to_string(mode.sinks);
}

AttentionMode layer_mode(const AttentionMode& mode, int layer_window) {
  return layer_window > 0 ? AttentionMode{layer_window, 0} : mode;
}

PageRange unseen_pages(const AttentionMode& mode, int64_t position) {
  if (mode.window == 0) return {};
  const int64_t first_key = std::max<int64_t>(0, position + 1 - mode.window);
  return {(int64_t{mode.sinks} + kPageTokens - 1) / kPageTokens, first_key / kPageTokens};
}

}  // namespace cascade
