// SHA-256 for identity (chain keys, content hashes). Uses OpenSSL, which has the SHA instructions.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cascade {

// A SHA-256 value.
struct Digest {
  std::array<uint8_t, 32> bytes{};
  auto operator<=>(const Digest&) const = default;
  // 64 lower-case hexadecimal digits.
  std::string hex() const;
  // The inverse of hex(); nullopt if `text` is not 64 such digits.
  static std::optional<Digest> from_hex(std::string_view text);
};

// The digest of the bytes as they are.
Digest sha256(std::string_view bytes);
// The time it takes does not reveal where two digests differ.
bool equal_in_constant_time(const Digest& a, const Digest& b);

// Hashes a sequence of *tagged, length-prefixed* fields, so that no two different field lists give
// the same byte stream. One object, one digest; not thread-safe.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  Hasher& field(std::string_view tag, std::span<const uint8_t> bytes);
  Hasher& field(std::string_view tag, std::string_view text);
  Hasher& field(std::string_view tag, uint64_t number);
  Hasher& field(std::string_view tag, const Digest& digest);
  Hasher& field(std::string_view tag, std::span<const int32_t> token_ids);

  // The digest of all fields so far; the object takes no more fields afterwards.
  Digest finish();

 private:
  void update(const void* data, size_t size);
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace cascade

template <>
struct std::hash<cascade::Digest> {
  // The digest is uniformly distributed, so its first bytes serve as a hash.
  size_t operator()(const cascade::Digest& digest) const noexcept {
    size_t value = 0;
    __builtin_memcpy(&value, digest.bytes.data(), sizeof value);
    return value;
  }
};
