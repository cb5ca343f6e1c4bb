// Who holds a chunk, for people.
#pragma once

#include <string>

#include "base/holder.h"

namespace cascade::ctl {

// "2 retentions", "the name "best" until 2026-11-23 12:00:00". Thread-safe.
std::string holder_text(const Holder& holder);

}  // namespace cascade::ctl
