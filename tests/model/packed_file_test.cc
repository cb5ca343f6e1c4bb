// The header of packed weights: every byte of it counts, and none of its fields is believed
// unchecked.
#include "model/packed_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/json.h"
#include "base/random.h"
#include "model/source_stamp.h"

namespace cascade::testing {
namespace {

PackedFileId some_id(uint64_t body_bytes) {
  return {Hasher().field("a", uint64_t{1}).finish(), Hasher().field("b", uint64_t{2}).finish(),
          body_bytes};
}

std::vector<uint64_t> some_checksums(const PackedFileId& id) {
  std::vector<uint64_t> checksums(id.pieces());
  for (size_t i = 0; i < checksums.size(); ++i) checksums[i] = counter_random(3, i);
  return checksums;
}

// Corrects the checksum of the header page itself.
void sign(std::vector<uint8_t>& header) {
  const size_t at = kPackedHeaderBytes - sizeof(uint64_t);
  const uint64_t checksum = packed_checksum(std::span(header).first(at));
  std::memcpy(header.data() + at, &checksum, sizeof checksum);
}

TEST(PackedFile, has_room_for_a_checksum_for_each_piece) {
  const uint64_t piece = kPackedPieceBytes;
  EXPECT_EQ(some_id(1).pieces(), 1u);
  EXPECT_EQ(some_id(piece).pieces(), 1u);
  EXPECT_EQ(some_id(piece + 1).pieces(), 2u);
  EXPECT_EQ(some_id(1).body_offset(), kPackedBodyAlignment);
  // The first table fills the first huge page to the last byte; the second has one entry more.
  const uint64_t entries = (kPackedBodyAlignment - kPackedHeaderBytes) / sizeof(uint64_t);
  EXPECT_EQ(some_id(entries * piece).body_offset(), kPackedBodyAlignment);
  EXPECT_EQ(some_id(entries * piece + 1).body_offset(), 2 * kPackedBodyAlignment);
}

TEST(PackedFile, gives_pieces_that_make_up_the_body) {
  const std::vector<uint8_t> body(2 * kPackedPieceBytes + 5);
  const PackedFileId id = some_id(body.size());
  EXPECT_EQ(packed_piece(id, body, 0).size(), kPackedPieceBytes);
  EXPECT_EQ(packed_piece(id, body, 1).data(), body.data() + kPackedPieceBytes);
  EXPECT_EQ(packed_piece(id, body, 2).size(), 5u);
}

TEST(PackedFile, gives_back_the_checksums) {
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{100'000'000}, uint64_t{1} << 40}) {
    const PackedFileId id = some_id(bytes);
    const auto header = encode_packed_header(id, some_checksums(id));
    EXPECT_EQ(header.size(), kPackedHeaderBytes + id.table_bytes());
    const auto checksums = decode_packed_header(header, id);
    ASSERT_TRUE(checksums.ok()) << checksums.error().to_string();
    EXPECT_EQ(*checksums, some_checksums(id));
    const auto summary = summarize_packed_header(std::span(header).first(kPackedHeaderBytes));
    ASSERT_TRUE(summary.has_value());
    EXPECT_EQ(summary->weights, id.weights);
    EXPECT_EQ(summary->packing_version, kPackingVersion);
  }
}

TEST(PackedFile, notices_a_change_of_any_byte_and_any_missing_end) {
  const PackedFileId id = some_id(3 * kPackedPieceBytes);
  const auto header = encode_packed_header(id, some_checksums(id));
  for (size_t i = 0; i < header.size(); ++i) {
    auto damaged = header;
    damaged[i] ^= 0x10;
    const auto checksums = decode_packed_header(damaged, id);
    ASSERT_FALSE(checksums.ok()) << i;
    EXPECT_EQ(checksums.error().code, ErrorCode::kDataCorrupt);
    EXPECT_EQ(summarize_packed_header(damaged).has_value(), i >= kPackedHeaderBytes) << i;
  }
  for (size_t size = 0; size < header.size(); ++size) {
    EXPECT_FALSE(decode_packed_header(std::span(header).first(size), id).ok()) << size;
  }
}

// The header's checksum is right, but one field has another value.
TEST(PackedFile, believes_no_field) {
  const PackedFileId id = some_id(3 * kPackedPieceBytes);
  const std::vector<std::pair<size_t, const char*>> fields = {
      {0, "magic"},  {8, "version"}, {12, "key"},   {16, "key"},    {47, "key"},   {48, "key"},
      {80, "sizes"}, {88, "sizes"},  {96, "sizes"}, {104, "sizes"}, {112, "table"}};
  for (const auto& [offset, field] : fields) {
    for (const uint8_t value : {0, 0xFF}) {
      auto header = encode_packed_header(id, some_checksums(id));
      if (header[offset] == value) continue;
      header[offset] = value;
      sign(header);
      const auto checksums = decode_packed_header(header, id);
      ASSERT_FALSE(checksums.ok()) << offset;
      EXPECT_EQ(checksums.error().field, field) << offset;
    }
  }
  PackedFileId other = id;
  other.key.bytes[31] ^= 1;
  const auto header = encode_packed_header(id, some_checksums(id));
  EXPECT_EQ(decode_packed_header(header, other).error().field, "key");
}

SourceState some_source() {
  return {.place = {},
          .state = Hasher().field("s", uint64_t{5}).finish(),
          .folder = "a \"folder\"",
          .changed_ns = 0};
}

TEST(SourceStamp, gives_back_its_digests) {
  const Digest weights = Hasher().field("w", uint64_t{6}).finish();
  const auto stamp = decode_stamp(encode_stamp(some_source(), weights));
  ASSERT_TRUE(stamp.ok()) << stamp.error().to_string();
  EXPECT_EQ(stamp->state, some_source().state);
  EXPECT_EQ(stamp->weights, weights);
}

TEST(SourceStamp, is_refused_with_any_digit_changed_or_anything_missing) {
  const std::string text = encode_stamp(some_source(), Hasher().finish());
  for (const char* key : {"state", "weights", "check"}) {
    const size_t digits = text.find('"', text.find(key) + std::string(key).size() + 1) + 1;
    for (size_t i = 0; i < 64; ++i) {
      std::string damaged = text;
      damaged[digits + i] = damaged[digits + i] == '0' ? '1' : '0';
      EXPECT_FALSE(decode_stamp(damaged).ok()) << key << i;
    }
    Json json = Json::parse(text);
    json.erase(key);
    EXPECT_FALSE(decode_stamp(json.dump()).ok());
    json[key] = 7;
    EXPECT_FALSE(decode_stamp(json.dump()).ok());
  }
  Json json = Json::parse(text);
  json["format"] = 2;
  EXPECT_EQ(decode_stamp(json.dump()).error().field, "format");
  for (size_t size = 0; size + 2 < text.size(); ++size) {
    EXPECT_FALSE(decode_stamp(text.substr(0, size)).ok());
  }
  EXPECT_FALSE(decode_stamp("[]").ok());
}

TEST(SourceStamp, reads_digests_as_they_are_printed) {
  const Digest digest = Hasher().field("x", uint64_t{1}).finish();
  EXPECT_EQ(digest_from_hex(digest.hex()), digest);
  const std::string hex = digest.hex();
  EXPECT_FALSE(digest_from_hex(hex.substr(1)).has_value());
  EXPECT_FALSE(digest_from_hex(hex + "0").has_value());
  EXPECT_FALSE(digest_from_hex(std::string(64, 'A')).has_value());
  EXPECT_FALSE(digest_from_hex(std::string(63, 'a') + "g").has_value());
}

}  // namespace
}  // namespace cascade::testing
