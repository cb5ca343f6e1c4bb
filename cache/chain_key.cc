// SHA-256 over tagged fields.
#include "cache/chain_key.h"

namespace cascade {

Digest chain_key(const Digest& parent, const Digest* tenant, std::span<const int32_t> tokens) {
  Hasher hasher;
  hasher.field("parent", parent);
  if (tenant != nullptr) hasher.field("tenant", *tenant);
  return hasher.field("tokens", tokens).finish();
}

Digest beginning_digest(std::string_view tenant, std::span<const int32_t> tokens) {
  return Hasher().field("tenant", tenant).field("beginning", tokens).finish();
}

}  // namespace cascade
