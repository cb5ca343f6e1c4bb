// How the drafts of a generation have fared.
#pragma once

#include <cstdint>

namespace cascade {

// Drafts are tokens that were guessed with selection, and then checked against dense attention
// (AttentionChoice::drafts). Earlier drafts count less than later ones (model/draft_length.h).
struct DraftRecord {
  double accepted = 0;    // drafts that were right
  double rejected = 0;    // checks that ended at a wrong draft
  int32_t undrafted = 0;  // tokens since the last check

  bool operator==(const DraftRecord&) const = default;
};

}  // namespace cascade
