// SHA-256 in pieces, by OpenSSL's EVP interface.
#include "base/sha256.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace cascade {

struct Sha256::Context {
  EVP_MD_CTX* evp = nullptr;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  context_->evp = EVP_MD_CTX_new();
  CHECK(context_->evp != nullptr);
  CHECK(EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() {
  EVP_MD_CTX_free(context_->evp);
}

void Sha256::update(std::span<const uint8_t> bytes) {
  CHECK(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) == 1);
}

Digest Sha256::finish() {
  Digest digest;
  unsigned size = 0;
  CHECK(EVP_DigestFinal_ex(context_->evp, digest.bytes.data(), &size) == 1);
  CHECK(size == digest.bytes.size());
  return digest;
}

}  // namespace cascade
