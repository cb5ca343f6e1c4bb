// Tests of tagged SHA-256 against digests computed by another implementation.
#include "base/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <unordered_set>
#include <vector>

namespace cascade {
namespace {

template <class... Fields>
Digest digest_of(std::string_view tag, const Fields&... fields) {
  Hasher hasher;
  (hasher.field(tag, fields), ...);
  return hasher.finish();
}

TEST(Hash, gives_known_answers) {
  // Python: sha256 over, for each field, pack("<QQ", len(tag), len(bytes)) + tag + bytes.
  EXPECT_EQ(Hasher().finish().hex(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest_of("tag", std::string_view("text")).hex(),
            "87a4833cd21598ff26601505375f7bfcc2198b04a2a470a754511efa66b1a1c0");
  Hasher hasher;
  const std::vector<int32_t> ids = {1, -1, INT32_MAX};
  hasher.field("n", uint64_t{258}).field("ids", std::span<const int32_t>(ids)).field("", "");
  EXPECT_EQ(hasher.finish().hex(),
            "94f68520865baf5725e0020e0b6f887bf06528811c759c2a75647d5a121a68bb");
}

TEST(Hash, distinguishes_field_lists_whose_bytes_join_alike) {
  std::set<Digest> digests;
  const auto add = [&](std::initializer_list<std::pair<std::string_view, std::string_view>> list) {
    Hasher hasher;
    for (const auto& [tag, text] : list) hasher.field(tag, text);
    digests.insert(hasher.finish());
  };
  add({});
  add({{"", ""}});
  add({{"", ""}, {"", ""}});
  add({{"a", "b"}});
  add({{"ab", ""}});
  add({{"", "ab"}});
  add({{"a", ""}, {"b", ""}});
  add({{"", "a"}, {"", "b"}});
  add({{"b", "a"}});
  EXPECT_EQ(digests.size(), 9u);
}

TEST(Hash, takes_every_kind_of_field_by_its_bytes) {
  const std::vector<uint8_t> bytes = {'a', 'b', 'c', 'd'};
  const std::vector<int32_t> ids = {0x64636261};
  const Digest expected = digest_of("t", std::string_view("abcd"));
  EXPECT_EQ(digest_of("t", std::span<const uint8_t>(bytes)), expected);
  EXPECT_EQ(digest_of("t", std::span<const int32_t>(ids)), expected);
  EXPECT_EQ(digest_of("t", expected), digest_of("t", std::span<const uint8_t>(expected.bytes)));
}

TEST(Hash, takes_empty_fields_without_data) {
  EXPECT_EQ(digest_of("t", std::span<const uint8_t>()), digest_of("t", std::string_view("")));
}

TEST(Digest, prints_all_bytes_in_order) {
  Digest digest;
  for (size_t i = 0; i < digest.bytes.size(); ++i) digest.bytes[i] = static_cast<uint8_t>(i * 8);
  EXPECT_EQ(digest.hex(), "0008101820283038404850586068707880889098a0a8b0b8c0c8d0d8e0e8f0f8");
}

TEST(Digest, works_as_a_key) {
  const Digest a = digest_of("t", uint64_t{1});
  const Digest b = digest_of("t", uint64_t{2});
  const std::unordered_set<Digest> set = {a, b, a};
  EXPECT_EQ(set.size(), 2u);
  EXPECT_NE(a < b, b < a);
}

}  // namespace
}  // namespace cascade
