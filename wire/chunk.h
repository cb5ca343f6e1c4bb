// Chunks as they travel: base/chunk.h is shared by the cache, the store and the protocol.
#pragma once

#include "base/chunk.h"  // IWYU pragma: export
