// How the weights of a quantised panel are coded, and where a register tile reads them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/number_types.h"

namespace cascade::generic {

struct Coding {
  WeightType type;
  bool blocks = false;    // int8 and int4: the scales are those of blocks
  bool expanded = false;  // records: expanded by expand_records()
};

// The panels that a tile reads: those of the matrix, or panels of int4 and of records that were
// expanded to bytes.
struct PanelSource {
  const uint8_t* weights;         // of the first panel
  size_t weights_stride;          // from panel to panel of the tile, bytes
  const uint8_t* scales;          // of the first panel; not used by records
  size_t scales_stride;           // bytes
  int panel_step = 1;             // from panel to panel of the tile, panels
  size_t multipliers_offset = 0;  // int4
  size_t to_next = 0;             // bytes to the panels that come next, if they are prefetched
  size_t gap =
      0;  // offset, in the next panels, of the bytes that reading weights does not prefetch
};

}  // namespace cascade::generic
