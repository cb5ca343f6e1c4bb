// Tests of base64 with the RFC's vectors, every length, and text that is not base64.
#include "base/base64.h"

#include <gtest/gtest.h>

#include <openssl/evp.h>

#include "tests/seed.h"

namespace cascade {
namespace {

std::vector<uint8_t> bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

TEST(Base64, matches_the_vectors_of_rfc_4648) {
  const std::pair<const char*, const char*> vectors[] = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
  };
  for (const auto& [plain, encoded] : vectors) {
    EXPECT_EQ(base64_encode(bytes_of(plain)), encoded);
    const auto decoded = base64_decode(encoded);
    ASSERT_TRUE(decoded.ok()) << encoded;
    EXPECT_EQ(*decoded, bytes_of(plain));
  }
}

TEST(Base64, gives_back_random_bytes_of_every_small_length) {
  Random random(testing::test_seed());
  for (size_t size = 0; size < 200; ++size) {
    std::vector<uint8_t> bytes(size);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    const std::string text = base64_encode(bytes);
    EXPECT_EQ(text.size(), (size + 2) / 3 * 4);
    const auto decoded = base64_decode(text);
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(*decoded, bytes);
  }
}

TEST(Base64, encodes_inputs_of_several_slices_without_seams) {
  constexpr size_t kSlice = size_t{3} << 20;
  for (const size_t size : {kSlice - 1, kSlice, kSlice + 1, 2 * kSlice + 2}) {
    std::vector<uint8_t> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * i >> 3);
    std::string whole(4 * ((size + 2) / 3) + 1, '\0');
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(whole.data()), bytes.data(),
                    static_cast<int>(size));
    whole.pop_back();
    EXPECT_TRUE(base64_encode(bytes) == whole) << size;
  }
}

TEST(Base64, refuses_what_is_not_padded_base64) {
  const char* bad[] = {
      "Z",      "Zg",    "Zg=",     "Zm8",  "====",     "=",    "Z===",  "Zg==\n",
      "Zm9v\n", " Zm9v", "Zm9v ",   "Zm-_", "Zg==Zg==", "Z=g=", "Zm9=v", "\xC3\xA9\xC3\xA9",
      "Zm9v=",  "    ",  "Zm9v===="};
  for (const char* text : bad) {
    const auto decoded = base64_decode(text);
    ASSERT_FALSE(decoded.ok()) << text;
    EXPECT_EQ(decoded.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(decoded.error().field, "base64");
  }
  EXPECT_FALSE(base64_decode(std::string_view("Zg\0=", 4)).ok());
}

}  // namespace
}  // namespace cascade
