// The names of pages outside the process.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/hash.h"

namespace cascade {

// The chain key of the page that holds `tokens` after the page or root `parent`. `tenant` is the
// key of the tenant whose own pages begin here, after public ones or at the root; else nullptr.
Digest chain_key(const Digest& parent, const Digest* tenant, std::span<const int32_t> tokens);

// A digest of the beginning of a tenant's prompt, the same for every model: `tokens` are those of
// its first page.
Digest beginning_digest(std::string_view tenant, std::span<const int32_t> tokens);

}  // namespace cascade
