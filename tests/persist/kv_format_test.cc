// Headers of KV files: what was written can be read; everything else is refused, whatever its
// checksum says.
#include "persist/kv_format.h"

#include <gtest/gtest.h>

#include <algorithm>
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
  header.parts = {{2500, 2500, 1}, {100, 2500, 2}};
  header.stored_bytes = 8192;
  header.checksum = kv_parts_checksum(header.parts);
  return header;
}

TEST(KvFormat, tables_of_parts_come_back) {
  KvPageHeader header = make_header_with_parts();
  EXPECT_EQ(decode_kv_page_header(encode_kv_page_header(header, 5, 8192), 5, 8192), header);
  EXPECT_EQ(header.record_bytes(), 4096u + 8192u);
  header.page_bytes = kKvPartsMax * 10;
  header.parts.assign(kKvPartsMax, {10, 10, 3});
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
  EXPECT_TRUE(refused(8, uint32_t{3}));       // version 3 has unequal parts
  EXPECT_TRUE(refused(8, uint32_t{4}));       // version
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

TEST(KvFormat, pages_of_equal_parts_have_the_bytes_that_earlier_versions_wrote) {
  const KvPageHeader two = make_header_with_parts();
  const KvBlock block = encode_kv_page_header(two, 5, 8192);
  EXPECT_EQ(block[8], 2);
  EXPECT_EQ(kv_checksum(block), 0xdbadd4f2a86b4dd7);
  KvPageHeader most = two;
  most.attention = kSelectMode;
  most.page_bytes = kKvPartsMax * 10;
  most.parts.assign(kKvPartsMax, {10, 10, 3});
  most.stored_bytes = kKvPartsMax * 4096;
  most.compressed = false;
  most.checksum = kv_parts_checksum(most.parts);
  EXPECT_EQ(kv_checksum(encode_kv_page_header(most, 5, 8192)), 0x5fb2fc5a34a88058);
  EXPECT_EQ(kv_checksum(encode_kv_file_header(6)), 0x6a1f7aa8904019a7);
}

KvPageHeader make_header_with_unequal_parts() {
  KvPageHeader header = make_header();
  header.parts = {{1000, 1000, 1}, {100, 3000, 2}, {1000, 1000, 3}};
  header.stored_bytes = 3 * 4096;
  header.checksum = kv_parts_checksum(header.parts);
  return header;
}

TEST(KvFormat, tables_of_unequal_parts_come_back) {
  KvPageHeader header = make_header_with_unequal_parts();
  header.attention = kSelectMode;
  const KvBlock block = encode_kv_page_header(header, 5, 8192);
  EXPECT_EQ(block[8], 3);
  EXPECT_EQ(decode_kv_page_header(block, 5, 8192), header);
  EXPECT_EQ(kv_page_file_id(block, 8192), 5u);
  header.page_bytes = 0;
  header.parts.clear();
  for (uint32_t i = 0; i < kKvPartsMax; ++i) {
    const auto bytes = static_cast<uint32_t>(i * 3 % kKvPartSizesMax + 1);
    header.parts.push_back({1, bytes, i});
    header.page_bytes += bytes;
  }
  header.stored_bytes = kKvPartsMax * 4096;
  header.checksum = kv_parts_checksum(header.parts);
  EXPECT_EQ(decode_kv_page_header(encode_kv_page_header(header, 5, 8192), 5, 8192), header);
}

// At the places that docs/data_files.md names.
TEST(KvFormat, the_sizes_of_unequal_parts_follow_the_attention_mode) {
  const KvPageHeader header = make_header_with_unequal_parts();
  const KvBlock block = encode_kv_page_header(header, 5, 8192);
  KvBlock wanted{};
  const auto put = [&](size_t at, uint32_t value) {
    std::memcpy(wanted.data() + at, &value, sizeof value);
  };
  put(3776, 2);
  put(3780, 1000);
  put(3784, 3000);
  wanted[3808 + 1] = 1;
  EXPECT_TRUE(std::equal(block.begin() + 3776, block.begin() + 4088, wanted.begin() + 3776));
}

TEST(KvFormat, tables_of_unequal_parts_with_any_wrong_number_are_refused) {
  const KvBlock block = encode_kv_page_header(make_header_with_unequal_parts(), 5, 8192);
  const auto refused = [&](size_t at, auto value) {
    return !decode_kv_page_header(forge(block, at, value), 5, 8192).has_value();
  };
  EXPECT_FALSE(refused(128, int64_t{64}));
  EXPECT_TRUE(refused(8, uint32_t{0}));  // version
  EXPECT_TRUE(refused(8, uint32_t{1}));
  EXPECT_TRUE(refused(8, uint32_t{2}));
  EXPECT_TRUE(refused(8, uint32_t{4}));
  EXPECT_TRUE(refused(12, uint32_t{0}));      // compressed
  EXPECT_TRUE(refused(144, uint64_t{4999}));  // page bytes
  EXPECT_TRUE(refused(144, uint64_t{5001}));
  EXPECT_TRUE(refused(152, uint64_t{4096}));  // stored bytes
  EXPECT_TRUE(refused(160, uint64_t{0}));     // checksum of the table
  EXPECT_TRUE(refused(680, uint32_t{0}));     // parts
  EXPECT_TRUE(refused(680, uint32_t{2}));
  EXPECT_TRUE(refused(680, uint32_t{4}));
  EXPECT_TRUE(refused(680, uint32_t{257}));
  EXPECT_TRUE(refused(680, std::numeric_limits<uint32_t>::max()));
  EXPECT_TRUE(refused(688, uint32_t{0}));  // bytes of the first part
  EXPECT_TRUE(refused(688, uint32_t{1001}));
  for (const uint32_t count : {0U, 1U, 3U, 7U, 8U, UINT32_MAX}) {
    EXPECT_TRUE(refused(3776, count)) << count;  // sizes
  }
  for (const uint32_t bytes : {0U, 999U, 1001U, 2000U, 3000U, UINT32_MAX}) {
    EXPECT_TRUE(refused(3780, bytes)) << bytes;  // the first size
  }
  EXPECT_TRUE(refused(3784, uint32_t{1000}));  // the second one
  EXPECT_TRUE(refused(3788, uint32_t{1}));     // the third one, which is not there
  EXPECT_TRUE(refused(3804, uint32_t{1}));     // the last place for one
  for (const int index : {1, 2, 6, 7, 255}) {
    EXPECT_TRUE(refused(3808, static_cast<uint8_t>(index))) << index;  // of the first part
    EXPECT_TRUE(refused(3811, static_cast<uint8_t>(index))) << index;  // after the last part
    EXPECT_TRUE(refused(4063, static_cast<uint8_t>(index))) << index;
  }
  EXPECT_TRUE(refused(3809, uint8_t{0}));
}

// The sum of the parts is right in all of these.
TEST(KvFormat, tables_of_unequal_parts_have_one_form) {
  const KvBlock block = encode_kv_page_header(make_header_with_unequal_parts(), 5, 8192);
  const auto refused = [](const KvBlock& other) {
    return !decode_kv_page_header(other, 5, 8192).has_value();
  };
  using Size = std::array<uint32_t, 3>;
  using Index = std::array<uint8_t, 3>;
  const auto with = [&](uint32_t count, Size sizes, Index indexes) {
    return forge(forge(forge(block, 3776, count), 3780, sizes), 3808, indexes);
  };
  EXPECT_FALSE(refused(with(2, {1000, 3000}, {0, 1, 0})));
  EXPECT_TRUE(refused(with(2, {3000, 1000}, {1, 0, 1})));        // another order
  EXPECT_TRUE(refused(with(3, {1000, 3000, 1000}, {0, 1, 2})));  // a size twice
  EXPECT_TRUE(refused(with(3, {1000, 3000, 5}, {0, 1, 0})));     // one that no part has
  EXPECT_TRUE(refused(with(1, {1000, 3000}, {0, 1, 0})));        // one that is not counted
}

TEST(KvFormat, parts_of_one_size_are_of_version_2_only) {
  const KvBlock block = encode_kv_page_header(make_header_with_parts(), 5, 8192);
  const KvBlock as_3 = forge(forge(block, 8, uint32_t{3}), 3776, std::array<uint32_t, 2>{1, 2500});
  EXPECT_FALSE(decode_kv_page_header(as_3, 5, 8192).has_value());
}

TEST(KvFormat, equal_parts_make_up_the_page) {
  EXPECT_EQ(equal_parts(5000, 2), (std::vector<uint32_t>{2500, 2500}));
  EXPECT_EQ(equal_parts(5000, 1), std::vector<uint32_t>{5000});
  // A page that is far too large has no parts that could be stored.
  EXPECT_FALSE(check_kv_parts(uint64_t{1} << 40, equal_parts(uint64_t{1} << 40, 1)).ok());
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
