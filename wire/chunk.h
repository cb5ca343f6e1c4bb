// Chunks and sessions as they travel: these are shared by the cache, the store and the protocol.
#pragma once

#include "base/chunk.h"    // IWYU pragma: export
#include "base/session.h"  // IWYU pragma: export
