// The text of a mode.
#include "base/attention_mode.h"

#include <charconv>
#include <optional>

#include "base/enum_table.h"

namespace cascade {
namespace {

constexpr EnumTable<Approximation, 3> kApproximations = {{
    {Approximation::kNone, "none"},
    {Approximation::kSplice, "splice"},
    {Approximation::kMask, "mask"},
}};

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

Result<AttentionMode> window_mode(const ModeNumbers& numbers) {
  AttentionMode mode = kWindowMode;
  ASSIGN_OR_RETURN(mode.window,
                   mode_number(numbers.first, "the window W", kModeWindowMin, kModeWindowMax));
  if (!numbers.second) return mode;
  ASSIGN_OR_RETURN(mode.sinks,
                   mode_number(*numbers.second, "the number of sinks S", 0, kModeSinksMax));
  return mode;
}

Result<AttentionMode> select_mode(const ModeNumbers& numbers) {
  AttentionMode mode = kSelectMode;
  ASSIGN_OR_RETURN(const int selected, mode_number(numbers.first, "the number of selected tokens B",
                                                   kModeSelectedMin, kModeSelectedMax));
  mode.selected = (selected + kModeSelectedMin - 1) / kModeSelectedMin * kModeSelectedMin;
  if (!numbers.second) return mode;
  ASSIGN_OR_RETURN(mode.dense_layers, mode_number(*numbers.second, "the number of dense layers D",
                                                  0, kModeDenseLayersMax));
  return mode;
}

std::string numbers_of(const AttentionMode& select) {
  return ':' + std::to_string(select.selected) + ':' + std::to_string(select.dense_layers);
}

}  // namespace

std::string_view to_string(Approximation approximation) {
  return name_of(kApproximations, approximation);
}

std::optional<Approximation> approximation_from_string(std::string_view name) {
  return value_of(kApproximations, name);
}

Result<AttentionChoice> parse_attention(std::string_view text) {
  if (text == "dense") return AttentionChoice{};
  if (text == "window") return AttentionChoice{kWindowMode};
  if (text == "select") return AttentionChoice{kSelectMode};
  if (text == "verify") return AttentionChoice{{}, kSelectMode};
  if (const auto numbers = numbers_after("window", text)) {
    ASSIGN_OR_RETURN(const AttentionMode mode, window_mode(*numbers));
    return AttentionChoice{mode};
  }
  if (const auto numbers = numbers_after("select", text)) {
    ASSIGN_OR_RETURN(const AttentionMode mode, select_mode(*numbers));
    return AttentionChoice{mode};
  }
  if (const auto numbers = numbers_after("verify", text)) {
    ASSIGN_OR_RETURN(const AttentionMode drafts, select_mode(*numbers));
    return AttentionChoice{{}, drafts};
  }
  return invalid_argument("attention", "must be " + std::string(kAttentionForms) +
                                           ", such as window:4096:64 or select:4096, got \"" +
                                           std::string(text) + '"');
}

Result<AttentionMode> parse_attention_mode(std::string_view text) {
  ASSIGN_OR_RETURN(const AttentionChoice choice, parse_attention(text));
  if (choice.drafts.is_dense()) return choice.mode;
  return invalid_argument("attention",
                          "verify speeds up a daemon's answers, and computes what dense does; use "
                          "dense here");
}

std::string to_string(const AttentionMode& mode) {
  if (mode.selected > 0) return "select" + numbers_of(mode);
  if (mode.is_approximate()) {
    return "dense+" + std::string(to_string(mode.approximation));
  }
  if (mode.window == 0) return "dense";
  return "window:" + std::to_string(mode.window) + ':' + std::to_string(mode.sinks);
}

std::string to_string(const AttentionChoice& choice) {
  return choice.drafts.is_dense() ? to_string(choice.mode) : "verify" + numbers_of(choice.drafts);
}

}  // namespace cascade
