// Headers of KV files: what was written can be read; everything else is refused, whatever its
// checksum says.
#include "persist/kv_format.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>

#include "persist/kv_file.h"
#include "tests/persist/store_testing.h"

namespace cascade {
namespace {

KvPageHeader make_header() {
  KvPageHeader header;
  header.model = testing::model_digest();
  header.parent = Hasher().field("n", uint64_t{1}).finish();
  header.key = Hasher().field("n", uint64_t{2}).finish();
  header.tenant = std::string(255, 't');
  header.position = 640;
  header.token_ids.assign(64, -7);
  header.page_bytes = 5000;
  header.stored_bytes = 4000;
  header.compressed = true;
  header.checksum = 99;
  return header;
}

// Writes `value` at `at`, and recomputes the block's checksum.
template <class T>
KvBlock forge(KvBlock block, size_t at, T value) {
  std::memcpy(block.data() + at, &value, sizeof value);
  const uint64_t sum = kv_checksum(std::span(block).first(kKvBlockBytes - sizeof(uint64_t)));
  std::memcpy(block.data() + kKvBlockBytes - sizeof sum, &sum, sizeof sum);
  return block;
}

TEST(KvFormat, headers_come_back) {
  const KvPageHeader header = make_header();
  const KvBlock block = encode_kv_page_header(header, 5, 8192);
  EXPECT_EQ(decode_kv_page_header(block, 5, 8192), header);
  EXPECT_EQ(kv_page_file_id(block, 8192), 5u);
  EXPECT_EQ(decode_kv_file_header(encode_kv_file_header(6))->file_id, 6u);
  EXPECT_EQ(header.record_bytes(), 8192u);
}

TEST(KvFormat, headers_of_other_places_and_kinds_are_none) {
  const KvBlock block = encode_kv_page_header(make_header(), 5, 8192);
  EXPECT_FALSE(decode_kv_page_header(block, 6, 8192).has_value());
  EXPECT_FALSE(decode_kv_page_header(block, 5, 4096).has_value());
  EXPECT_FALSE(kv_page_file_id(block, 4096).has_value());
  EXPECT_FALSE(decode_kv_file_header(block).has_value());
  EXPECT_FALSE(decode_kv_page_header(encode_kv_file_header(5), 5, 0).has_value());
  EXPECT_FALSE(decode_kv_page_header(std::span(block).first(4000), 5, 8192).has_value());
  EXPECT_FALSE(decode_kv_page_header({}, 5, 8192).has_value());
}

TEST(KvFormat, numbers_beyond_their_limits_are_refused_with_a_right_checksum) {
  const KvBlock block = encode_kv_page_header(make_header(), 5, 8192);
  const auto refused = [&](size_t at, auto value) {
    return !decode_kv_page_header(forge(block, at, value), 5, 8192).has_value();
  };
  EXPECT_FALSE(refused(128, int64_t{64}));
  EXPECT_TRUE(refused(8, uint32_t{2}));    // version
  EXPECT_TRUE(refused(12, uint32_t{2}));   // flags
  EXPECT_TRUE(refused(12, uint32_t{0}));   // not compressed: 5000
  EXPECT_TRUE(refused(128, int64_t{-1}));  // position
  EXPECT_TRUE(refused(136, uint32_t{0}));  // tokens
  EXPECT_TRUE(refused(136, uint32_t{65}));
  EXPECT_TRUE(refused(140, uint32_t{256}));        // tenant
  EXPECT_TRUE(refused(144, kKvPageBytesMax + 1));  // page bytes
  EXPECT_TRUE(refused(144, uint64_t{0}));
  EXPECT_TRUE(refused(152, uint64_t{5001}));  // stored bytes
  EXPECT_TRUE(refused(152, std::numeric_limits<uint64_t>::max()));
  EXPECT_TRUE(refused(152, uint64_t{0}));
}

TEST(KvFormat, attention_modes_come_back) {
  KvPageHeader header = make_header();
  for (const AttentionMode& mode :
       {AttentionMode{}, kWindowMode, kSelectMode, AttentionMode{0, 0, 128, 3}}) {
    header.attention = mode;
    EXPECT_EQ(decode_kv_page_header(encode_kv_page_header(header, 5, 8192), 5, 8192), header);
  }
}

TEST(KvFormat, attention_modes_that_nobody_can_choose_are_refused) {
  const KvBlock block = encode_kv_page_header(make_header(), 5, 8192);
  const auto refused = [&](const std::array<int32_t, 4>& mode) {
    return !decode_kv_page_header(forge(block, 3760, mode), 5, 8192).has_value();
  };
  EXPECT_FALSE(refused({0, 0, 64, 0}));
  EXPECT_TRUE(refused({63, 0, 0, 0}));     // window
  EXPECT_TRUE(refused({0, 64, 0, 0}));     // sinks without a window
  EXPECT_TRUE(refused({128, 0, 128, 0}));  // a window and selection
  EXPECT_TRUE(refused({0, 0, 65, 0}));     // no whole pages
  EXPECT_TRUE(refused({0, 0, -64, 0}));
  EXPECT_TRUE(refused({0, 0, 64, 1025}));  // dense layers
  EXPECT_TRUE(refused({0, 0, 0, 1}));
}

KvPageHeader make_header_with_parts() {
  KvPageHeader header = make_header();
  header.parts = {{2500, 1}, {100, 2}};
  header.stored_bytes = 8192;
  header.checksum = kv_parts_checksum(header.parts);
  return header;
}

TEST(KvFormat, tables_of_parts_come_back) {
  KvPageHeader header = make_header_with_parts();
  EXPECT_EQ(decode_kv_page_header(encode_kv_page_header(header, 5, 8192), 5, 8192), header);
  EXPECT_EQ(header.record_bytes(), 4096u + 8192u);
  header.page_bytes = kKvPartsMax * 10;
  header.parts.assign(kKvPartsMax, {10, 3});
  header.stored_bytes = kKvPartsMax * 4096;
  header.compressed = false;
  header.checksum = kv_parts_checksum(header.parts);
  EXPECT_EQ(decode_kv_page_header(encode_kv_page_header(header, 5, 8192), 5, 8192), header);
}

TEST(KvFormat, tables_of_parts_that_do_not_agree_with_the_header_are_refused) {
  const KvBlock block = encode_kv_page_header(make_header_with_parts(), 5, 8192);
  const auto refused = [&](size_t at, auto value) {
    return !decode_kv_page_header(forge(block, at, value), 5, 8192).has_value();
  };
  EXPECT_FALSE(refused(128, int64_t{64}));
  EXPECT_TRUE(refused(8, uint32_t{1}));       // version 1 has no more stored bytes than the page
  EXPECT_TRUE(refused(8, uint32_t{3}));       // version
  EXPECT_TRUE(refused(12, uint32_t{0}));      // compressed
  EXPECT_TRUE(refused(152, uint64_t{4096}));  // stored bytes
  EXPECT_TRUE(refused(160, uint64_t{0}));     // checksum of the table
  EXPECT_TRUE(refused(680, uint32_t{0}));     // parts
  EXPECT_TRUE(refused(680, uint32_t{1}));
  EXPECT_TRUE(refused(680, uint32_t{3}));
  EXPECT_TRUE(refused(680, uint32_t{257}));
  EXPECT_TRUE(refused(680, std::numeric_limits<uint32_t>::max()));
  EXPECT_TRUE(refused(688, uint32_t{0}));  // bytes of the first part
  EXPECT_TRUE(refused(688, uint32_t{2501}));
}

TEST(KvFormat, one_name_a_number) {
  EXPECT_EQ(kv_file_path("kv", 1), "kv/00000001.kv");
  EXPECT_EQ(kv_file_number("00000001.kv"), 1);
  EXPECT_EQ(kv_file_number("123456789.kv"), 123456789);
  for (const char* name : {"1.kv", "000000001.kv", "00000000.kv", "-0000001.kv", "00000001.kv2",
                           "0000000x.kv", ".kv", "", "99999999999999999999.kv"}) {
    EXPECT_FALSE(kv_file_number(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace cascade
