// SHA-256 over tagged fields.
#include "base/hash.h"

#include <openssl/crypto.h>

#include "base/sha256.h"

namespace cascade {

struct Hasher::Context {
  Sha256 sha256;
};

Hasher::Hasher() : context_(std::make_unique<Context>()) {}

Hasher::~Hasher() = default;

void Hasher::update(const void* data, size_t size) {
  context_->sha256.update({static_cast<const uint8_t*>(data), size});
}

Hasher& Hasher::field(std::string_view tag, std::span<const uint8_t> bytes) {
  const uint64_t sizes[2] = {tag.size(), bytes.size()};  // little-endian, as every CPU here
  update(sizes, sizeof sizes);
  update(tag.data(), tag.size());
  update(bytes.data(), bytes.size());
  return *this;
}

Hasher& Hasher::field(std::string_view tag, std::string_view text) {
  return field(tag, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

Hasher& Hasher::field(std::string_view tag, uint64_t number) {
  return field(tag, std::span(reinterpret_cast<const uint8_t*>(&number), sizeof number));
}

Hasher& Hasher::field(std::string_view tag, const Digest& digest) {
  return field(tag, std::span<const uint8_t>(digest.bytes));
}

Hasher& Hasher::field(std::string_view tag, std::span<const int32_t> token_ids) {
  return field(
      tag, std::span(reinterpret_cast<const uint8_t*>(token_ids.data()), token_ids.size_bytes()));
}

Digest Hasher::finish() {
  return context_->sha256.finish();
}

Digest sha256(std::string_view bytes) {
  Sha256 digest;
  digest.update({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  return digest.finish();
}

bool equal_in_constant_time(const Digest& a, const Digest& b) {
  return CRYPTO_memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0;
}

std::optional<Digest> Digest::from_hex(std::string_view text) {
  Digest digest;
  if (text.size() != 2 * digest.bytes.size()) return std::nullopt;
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  for (size_t i = 0; i < digest.bytes.size(); ++i) {
    const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest.bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return digest;
}

std::string Digest::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const uint8_t byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

}  // namespace cascade
