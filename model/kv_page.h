// Clears the slots of a page that do not hold K and V of its tokens.
#pragma once

#include <cstdint>

#include "cache/kv_view.h"

namespace cascade {

// Writes zeros over the slots of the tokens from `from` (0..64) on. A page that is copied or used
// again has K and V of other tokens there. No kernel reads them, but they must not outlive their
// text on disk. `page` has layout.page_bytes(). Takes time in proportion to the page.
void clear_slots(const KvLayout& layout, int from, uint8_t* page);

}  // namespace cascade
