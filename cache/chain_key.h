// What pages are called outside the process.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/hash.h"

namespace cascade {

// The chain key of the page that holds `tokens` behind the page or root `parent`. `tenant`: the key
// of the tenant whose own pages begin here, behind public ones or at the root; else nullptr.
Digest chain_key(const Digest& parent, const Digest* tenant, std::span<const int32_t> tokens);

// What a tenant's prompt begins with, whatever the model: of its first page's tokens.
Digest beginning_digest(std::string_view tenant, std::span<const int32_t> tokens);

}  // namespace cascade
