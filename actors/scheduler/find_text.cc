// Finds a text token for token.
#include "actors/scheduler/find_text.h"

#include <algorithm>

namespace cascade {
namespace {

// A text of up to this many tokens must match as a whole.
constexpr size_t kWholeTextTokensMax = 3;

}  // namespace

std::optional<TokenSpan> find_text(std::span<const int32_t> prompt, std::span<const int32_t> text) {
  if (text.empty()) return std::nullopt;
  const size_t margin = text.size() > kWholeTextTokensMax ? 1 : 0;
  const auto middle = text.subspan(margin, text.size() - 2 * margin);
  const auto found = std::search(prompt.begin(), prompt.end(), middle.begin(), middle.end());
  if (found == prompt.end()) return std::nullopt;
  const auto begin = found - prompt.begin() - static_cast<ptrdiff_t>(margin);
  const auto end = begin + static_cast<ptrdiff_t>(text.size());
  return TokenSpan{std::max<int64_t>(0, begin), std::min<int64_t>(end, std::ssize(prompt))};
}

TokenSpan place_of_text(std::span<const int32_t> prompt, std::span<const int32_t> text) {
  return find_text(prompt, text).value_or(TokenSpan{0, std::ssize(prompt)});
}

}  // namespace cascade
