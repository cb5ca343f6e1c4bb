// Where a chunk's text stands in a prompt.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "actors/scheduler/request.h"

namespace cascade {

// The first place in `prompt` that has the tokens of `text`; nullopt: there is none, or `text` is
// empty. The first token of the text and its last one need not agree, since they may have merged
// with what stands beside it, unless the text has fewer than four.
std::optional<TokenSpan> find_text(std::span<const int32_t> prompt, std::span<const int32_t> text);

// The same; all of the prompt where find_text() has no answer.
TokenSpan place_of_text(std::span<const int32_t> prompt, std::span<const int32_t> text);

}  // namespace cascade
