// What a daemon says to clients while it loads its model and does not serve yet.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "wire/reply_messages.h"

namespace cascade::wire {

// The field that the error names; the error's code is kUnavailable. The ErrorReply also has
// `loading`.
inline constexpr std::string_view kLoadingField = "loading";

// The percentage that is loaded, from 0 to 99: at 100 the daemon serves. nullopt: not known yet.
inline std::optional<int> percent_of(const Loading& loading) {
  if (loading.total_bytes <= 0) return std::nullopt;
  const double share =
      static_cast<double>(loading.done_bytes) / static_cast<double>(loading.total_bytes);
  return static_cast<int>(std::clamp(share * 100, 0.0, 99.0));
}

// "loading, 40 %", or "loading" if the percentage is not known.
inline std::string loading_text(const Loading& loading) {
  const std::optional<int> percent = percent_of(loading);
  return percent ? "loading, " + std::to_string(*percent) + " %" : "loading";
}

}  // namespace cascade::wire
