// Clears the slots of a page that do not hold K and V of its tokens.
#pragma once

#include <cstdint>

#include "cache/kv_view.h"

namespace cascade {

// Writes zeros over the slots of the tokens from `from` (0..64) on. In a page that is copied or
// used again, these slots have K and V of other tokens. No kernel reads those, but they must not
// stay on disk longer than their text. `page` has layout.page_bytes(). Takes time in proportion to
// the page.
void clear_slots(const KvLayout& layout, int from, uint8_t* page);

}  // namespace cascade
