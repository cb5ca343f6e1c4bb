// Compressed bodies come out as they were, however they are cut; other bodies are errors.
#include "actors/http/content_coding.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "base/random.h"
#include "tests/seed.h"

namespace cascade::http {
namespace {

constexpr int kGzip = 16;  // added to the bits of the window

std::string compressed(const std::string& text, int format) {
  z_stream stream{};
  EXPECT_EQ(
      ::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + format, 8, Z_DEFAULT_STRATEGY),
      Z_OK);
  std::string out(::deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

// The status of the error; 0: there is none.
int status_of(const std::string& coding, const std::string& body, size_t bytes_max,
              std::string& out) {
  const auto wrong = decode_body(coding, body, bytes_max, out);
  if (wrong) {
    EXPECT_FALSE(wrong->message.empty());
  }
  return wrong ? wrong->status : 0;
}

TEST(ContentCoding, gives_back_what_was_compressed) {
  Random random(testing::test_seed());
  for (int round = 0; round < 50; ++round) {
    std::string text;
    for (uint64_t n = random.below(300'000); text.size() < n;) {
      text +=
          random.below(3) == 0 ? std::string(random.below(5000), 'a') : std::to_string(random());
    }
    std::string out = "what was there";
    EXPECT_EQ(status_of("gzip", compressed(text, kGzip), text.size(), out), 0);
    EXPECT_TRUE(out == text);
    EXPECT_EQ(status_of("Deflate", compressed(text, 0), text.size(), out), 0);
    EXPECT_TRUE(out == text);
    const size_t half = text.size() / 2;
    const std::string members =
        compressed(text.substr(0, half), kGzip) + compressed(text.substr(half), kGzip);
    EXPECT_EQ(status_of("x-gzip", members, text.size(), out), 0);
    EXPECT_TRUE(out == text);
  }
  std::string out;
  EXPECT_EQ(status_of("", "plain", 3, out), 0);
  EXPECT_EQ(out, "plain");
  EXPECT_EQ(status_of("gzip", "", 3, out), 0);
  EXPECT_EQ(out, "");
}

TEST(ContentCoding, makes_no_more_than_it_may) {
  const std::string text(1 << 20, ' ');
  const std::string body = compressed(text, kGzip);
  ASSERT_LT(body.size(), 5000u);
  std::string out;
  EXPECT_EQ(status_of("gzip", body, text.size() - 1, out), 413);
  EXPECT_LT(out.size(), text.size());
  EXPECT_EQ(status_of("gzip", body, text.size(), out), 0);
  std::string many;
  for (int i = 0; i < 100; ++i) many += body;
  EXPECT_EQ(status_of("gzip", many, 5 * text.size(), out), 413);
}

TEST(ContentCoding, of_damaged_bodies_is_an_error_or_another_text) {
  Random random(testing::test_seed());
  const std::string whole = compressed(std::string(2000, 'x') + "and so on", kGzip);
  std::string out;
  for (size_t size = 1; size < whole.size(); ++size) {
    EXPECT_EQ(status_of("gzip", whole.substr(0, size), 1 << 20, out), 400) << size;
  }
  EXPECT_EQ(status_of("gzip", whole + "x", 1 << 20, out), 400);
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = whole;
    damaged[random.below(damaged.size())] ^= static_cast<char>(1 + random.below(255));
    (void)status_of("gzip", damaged, 1 << 16, out);
    EXPECT_LE(out.size(), size_t{1} << 16);
  }
}

TEST(ContentCoding, is_known_by_its_name_alone) {
  for (const char* coding : {"", "gzip", "GZip", "x-gzip", "deflate", "identity"}) {
    EXPECT_TRUE(is_known_coding(coding)) << coding;
  }
  for (const char* coding : {"br", "zstd", "gzip, gzip", "gzip ", "compress", "*"}) {
    EXPECT_FALSE(is_known_coding(coding)) << coding;
  }
}

}  // namespace
}  // namespace cascade::http
