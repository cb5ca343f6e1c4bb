// Finds the place of a chunk's text in a prompt.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "actors/scheduler/request.h"

namespace cascade {

// Returns the first place in `prompt` that has the tokens of `text`; nullopt if there is none, or
// if `text` is empty. In a text of four tokens or more, the first and the last token need not
// agree, since they may have merged with the text beside them.
std::optional<TokenSpan> find_text(std::span<const int32_t> prompt, std::span<const int32_t> text);

// Returns the result of find_text(), or the whole prompt if that finds nothing.
TokenSpan place_of_text(std::span<const int32_t> prompt, std::span<const int32_t> text);

}  // namespace cascade
