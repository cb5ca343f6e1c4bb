// HTTP requests are read from bytes in whatever pieces these come, and whatever they are.
#include "actors/http/request_parser.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/long_tests.h"
#include "tests/seed.h"

namespace cascade::http {
namespace {

// Feeds `bytes` in pieces until a request is complete. Returns the status of an error, or 0.
int feed(RequestParser& parser, const std::string& bytes, size_t piece) {
  for (size_t at = 0; at < bytes.size(); at += piece) {
    auto wrong = parser.feed(std::string_view(bytes).substr(at, piece));
    if (!wrong && parser.state() == RequestParser::State::kBody) wrong = parser.read_body();
    if (wrong) return wrong->status;
  }
  return 0;
}

const std::string kPost =
    "POST /a/b?x=1 HTTP/1.1\r\nHost: localhost:1\r\nAuthorization: bearer  key \r\n"
    "Origin: http://o\r\nContent-Length: 4\r\n\r\nbody";

TEST(RequestParser, a_request_is_the_same_however_it_is_cut) {
  for (size_t piece = 1; piece <= kPost.size(); ++piece) {
    RequestParser parser;
    ASSERT_EQ(feed(parser, kPost, piece), 0) << piece;
    ASSERT_EQ(parser.state(), RequestParser::State::kDone) << piece;
    const Request request = parser.take();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.path, "/a/b");
    EXPECT_EQ(request.query, "x=1");
    EXPECT_EQ(request.host, "localhost:1");
    EXPECT_EQ(request.key, "key");
    EXPECT_EQ(request.origin, "http://o");
    EXPECT_EQ(request.body, "body");
    EXPECT_TRUE(request.keep_alive);
    EXPECT_FALSE(parser.begun());
  }
}

TEST(RequestParser, chunks_are_joined) {
  const std::string chunked =
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: x\r\n\r\n";
  for (size_t piece = 1; piece <= chunked.size(); ++piece) {
    RequestParser parser;
    ASSERT_EQ(feed(parser, chunked, piece), 0) << piece;
    ASSERT_EQ(parser.state(), RequestParser::State::kDone) << piece;
    EXPECT_EQ(parser.take().body, "abcde");
  }
}

TEST(RequestParser, what_follows_is_the_next_request) {
  RequestParser parser;
  ASSERT_FALSE(parser.feed(kPost + kPost));
  ASSERT_FALSE(parser.read_body());
  EXPECT_EQ(parser.take().body, "body");
  EXPECT_TRUE(parser.begun());
  ASSERT_FALSE(parser.next());
  ASSERT_FALSE(parser.read_body());
  EXPECT_EQ(parser.take().body, "body");
}

TEST(RequestParser, a_request_without_a_body_is_whole_with_its_head) {
  RequestParser parser;
  ASSERT_EQ(feed(parser, "GET / HTTP/1.0\r\n\r\n", 100), 0);
  EXPECT_EQ(parser.state(), RequestParser::State::kDone);
  EXPECT_TRUE(parser.request().http_1_0);
  EXPECT_FALSE(parser.request().keep_alive);
}

TEST(RequestParser, a_target_is_utf8_when_its_escapes_are_decoded) {
  for (const std::string target : {"/a/%ff", "/a?after=%c3", "/a?b=%ED%A0%80", "/\xff", "/%\xff"}) {
    RequestParser parser;
    EXPECT_EQ(feed(parser, "GET " + target + " HTTP/1.1\r\n\r\n", 1000), 400) << target;
  }
  RequestParser parser;
  EXPECT_EQ(feed(parser, "GET /%c3%bc?a=%e2%82%ac&b=%zz% HTTP/1.1\r\n\r\n", 1000), 0);
}

TEST(RequestParser, a_chunked_body_of_nothing_comes_in_any_pieces) {
  const std::string request =
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: 1\r\n\r\n";
  for (size_t piece = 1; piece <= request.size(); ++piece) {
    RequestParser parser;
    ASSERT_EQ(feed(parser, request, piece), 0) << piece;
    EXPECT_EQ(parser.state(), RequestParser::State::kDone) << piece;
    EXPECT_EQ(parser.request().body, "") << piece;
  }
}

TEST(RequestParser, limits_hold) {
  RequestParser head;
  EXPECT_EQ(feed(head, "GET / HTTP/1.1\r\nX: " + std::string(kHeadBytesMax, 'a'), 1000), 431);
  RequestParser body;
  EXPECT_EQ(feed(body, "POST / HTTP/1.1\r\nContent-Length: 16777217\r\n\r\n", 1000), 413);
  RequestParser chunked;
  const std::string large = "100000\r\n" + std::string(1 << 20, 'a') + "\r\n";
  std::string request = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 17; ++i) request += large;
  EXPECT_EQ(feed(chunked, request, 1 << 16), 413);
  RequestParser extension;
  EXPECT_EQ(feed(extension,
                 "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;" +
                     std::string(3 * kHeadBytesMax, 'a'),
                 1000),
            400);
}

TEST(RequestParser, the_heads_of_chunks_have_the_same_limit_however_they_are_cut) {
  const std::string head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const size_t extra : {kHeadBytesMax - 20, kHeadBytesMax}) {
    const int wanted = extra < kHeadBytesMax - 10 ? 0 : 400;
    const std::string filler(extra, 'a');
    for (const std::string& body :
         {"2;" + filler + "\r\nab\r\n0\r\n\r\n", "2\r\nab\r\n0\r\nX: " + filler + "\r\n\r\n"}) {
      for (const size_t piece : {size_t{1000}, kHeadBytesMax - 7, 4 * kHeadBytesMax}) {
        RequestParser parser;
        EXPECT_EQ(feed(parser, head + body, piece), wanted) << extra << " " << piece;
      }
    }
  }
}

TEST(RequestParser, a_length_is_given_once) {
  const std::string head = "POST / HTTP/1.1\r\nContent-Length: ";
  for (const char* lengths : {"2, 2", "2,3", "2\r\nContent-Length: 2", "+2", "-2", "0x2", "2 2"}) {
    RequestParser parser;
    EXPECT_EQ(feed(parser, head + lengths + "\r\n\r\n{}", 1000), 400) << lengths;
  }
}

TEST(RequestParser, damaged_requests_are_read_or_refused) {
  Random random(testing::test_seed());
  for (int rounds = testing::long_or(20'000, 4'000); rounds > 0; --rounds) {
    std::string bytes = kPost;
    for (uint64_t n = 1 + random.below(4); n > 0; --n) {
      const size_t at = random.below(bytes.size());
      if (random.below(2) == 0) {
        bytes[at] = static_cast<char>(random.below(256));
      } else {
        bytes.insert(at, bytes.substr(random.below(bytes.size()), random.below(20)));
      }
    }
    RequestParser parser;
    const int status = feed(parser, bytes, 1 + random.below(bytes.size()));
    EXPECT_TRUE(status == 0 || (status >= 400 && status <= 505)) << status;
  }
}

}  // namespace
}  // namespace cascade::http
