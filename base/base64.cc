// Base64 over OpenSSL's block functions.
#include "base/base64.h"

#include <openssl/evp.h>

#include <algorithm>

namespace cascade {

namespace {

// EVP counts in int, so large inputs are coded in slices; slices of whole groups of 3 bytes need no
// padding in between.
constexpr size_t kSliceBytes = size_t{3} << 20;

}  // namespace

std::string base64_encode(std::span<const uint8_t> bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // EVP writes a terminating NUL
  auto* out = reinterpret_cast<unsigned char*>(text.data());
  for (size_t done = 0; done < bytes.size(); done += kSliceBytes) {
    const size_t size = std::min(kSliceBytes, bytes.size() - done);
    out += EVP_EncodeBlock(out, bytes.data() + done, static_cast<int>(size));
  }
  text.pop_back();
  return text;
}

Result<std::vector<uint8_t>> base64_decode(std::string_view text) {
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  const bool misplaced =
      text.substr(0, text.size() - padding)
          .find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") !=
      text.npos;
  if (text.size() % 4 != 0 || text.size() > INT32_MAX || misplaced) {
    return invalid_argument("base64", "not padded base64");
  }
  std::vector<uint8_t> bytes(text.size() / 4 * 3);
  const int size =
      EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()),
                      static_cast<int>(text.size()));
  if (size < 0) return invalid_argument("base64", "not padded base64");
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace cascade
