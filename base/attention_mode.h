// Attention modes: which earlier tokens a token attends to, as users name it.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cascade {

// What stands in a chain from which thoughts were taken out. The K and V of the tokens after the
// thoughts were computed with them, and are not computed again: they are approximations.
enum class Approximation {
  kNone,    // exact: every token was computed after the tokens that stand before it
  kSplice,  // keys are turned to the positions that the tokens have without the thoughts
  kMask,    // keys stay as they were: the positions of the thoughts are left free
};

std::string_view to_string(Approximation approximation);  // "none", "splice", "mask"
std::optional<Approximation> approximation_from_string(std::string_view name);

// How a token attends to those before it:
//  - dense: it sees all of them;
//  - with a window: it sees itself, the `window` - 1 tokens before it, and the first `sinks` tokens
//    of its sequence;
//  - with selection: each KV head of each layer after the first `dense_layers` chooses pages with
//    `selected` tokens, and sees those, the first page and the latest ones
//    (cache/attention_pages.h).
// K and V of the same tokens have other bits in another mode.
struct AttentionMode {
  int window = 0;        // 0: no window
  int sinks = 0;         // has a meaning only with a window
  int selected = 0;      // 0: no selection; a multiple of a page
  int dense_layers = 0;  // has a meaning only with selection
  // What the K and V of the chain are; only dense chains have approximations. The forward pass does
  // not ask.
  Approximation approximation = Approximation::kNone;

  bool operator==(const AttentionMode&) const = default;
  auto operator<=>(const AttentionMode&) const = default;

  // In another mode, a token may fail to see some tokens before it: its K and V are approximations.
  bool is_dense() const { return *this == AttentionMode{}; }
  // Whether chains are written to disk. A window does not come back to what it has passed, and
  // approximations end with the daemon.
  bool is_stored() const { return window == 0 && !is_approximate(); }
  bool is_approximate() const { return approximation != Approximation::kNone; }
  // This mode, of exact chains.
  AttentionMode exact() const {
    AttentionMode mode = *this;
    mode.approximation = Approximation::kNone;
    return mode;
  }
};

// What a user asks for. With `drafts`, the answer's tokens are guessed in that mode and then
// checked in `mode`, which is dense: K, V and tokens are those of `mode` to the last bit.
struct AttentionChoice {
  AttentionMode mode = {};
  AttentionMode drafts = {};  // dense: none; otherwise it selects

  bool operator==(const AttentionChoice&) const = default;
};

// The limits of modes that users choose. A window is at least a page.
inline constexpr int kModeWindowMin = 64;
inline constexpr int kModeWindowMax = 1 << 20;
inline constexpr int kModeSinksMax = 1 << 16;
// The tokens that are selected are whole pages.
inline constexpr int kModeSelectedMin = 64;
inline constexpr int kModeSelectedMax = 1 << 20;
inline constexpr int kModeDenseLayersMax = 1024;
// The numbers that a user leaves out.
inline constexpr AttentionMode kWindowMode = {4096, 64};
inline constexpr AttentionMode kSelectMode = {0, 0, 4096, 0};

// The texts that parse_attention() reads, for messages.
inline constexpr std::string_view kAttentionForms =
    "dense, window, window:W, window:W:S, select, select:B, select:B:D, verify, verify:B or "
    "verify:B:D";

// Reads what a user asks for:
//  - "dense";
//  - "window", "window:W" or "window:W:S": W is the window, S are the sinks;
//  - "select", "select:B" or "select:B:D": B tokens are selected, rounded up to whole pages; the
//    first D layers are dense;
//  - "verify", "verify:B" or "verify:B:D": dense, with drafts in the mode "select" of the same
//    numbers.
// Numbers that are left out are those of kWindowMode and kSelectMode. Errors: kInvalidArgument,
// field "attention": the text has another form, or a number is outside its limits.
Result<AttentionChoice> parse_attention(std::string_view text);
// The same where there are no drafts. Errors: also if `text` asks for drafts.
Result<AttentionMode> parse_attention_mode(std::string_view text);
// "dense", "window:W:S" or "select:B:D", which parse_attention() reads; or "dense+splice" or
// "dense+mask", which it does not read.
std::string to_string(const AttentionMode& mode);
// The same, or "verify:B:D".
std::string to_string(const AttentionChoice& choice);

}  // namespace cascade
