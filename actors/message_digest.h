// Digests in messages of our own actors.
#pragma once

#include <string>

#include "base/check.h"
#include "base/hash.h"

namespace cascade {

// Our own messages name digests in hex; anything else is a bug.
inline Digest message_digest(const std::string& hex) {
  const auto parsed = Digest::from_hex(hex);
  CHECK(parsed.has_value());
  return *parsed;
}

}  // namespace cascade
