// SHA-256 of bytes that come in pieces, as they are (base/hash.h hashes tagged fields).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/hash.h"

namespace cascade {

// One object, one digest; not thread-safe.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::span<const uint8_t> bytes);
  // The digest of all bytes so far; the object takes no more bytes afterwards.
  Digest finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace cascade
