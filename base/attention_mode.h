// Attention modes: which earlier tokens a token attends to, as users name it.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cascade {

// A token sees itself, the `window` - 1 tokens before it, and the first `sinks` tokens of its
// sequence. K and V of the same tokens have other bits in another mode.
struct AttentionMode {
  int window = 0;  // 0: dense, a token sees all tokens before it
  int sinks = 0;   // has a meaning only with a window

  bool operator==(const AttentionMode&) const = default;
  auto operator<=>(const AttentionMode&) const = default;
};

// The limits of modes that users choose. A window is at least a page.
inline constexpr int kModeWindowMin = 64;
inline constexpr int kModeWindowMax = 1 << 20;
inline constexpr int kModeSinksMax = 1 << 16;
// The numbers that a user leaves out.
inline constexpr AttentionMode kWindowMode = {4096, 64};

// Reads "dense", "window", "window:W" or "window:W:S": W is the window, S are the sinks; what is
// left out is that of kWindowMode. Errors: kInvalidArgument, field "attention": the text has
// another form, or W or S is outside its limits.
Result<AttentionMode> parse_attention_mode(std::string_view text);
// "dense" or "window:W:S", which parse_attention_mode() reads.
std::string to_string(const AttentionMode& mode);

}  // namespace cascade
