// Little-endian numbers at fixed places; each block ends with its checksum.
#include "persist/kv_format.h"

// xxhash, with the widest vectors that this CPU has.
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>

#include "base/check.h"
#include "base/checked.h"

namespace cascade {
namespace {

constexpr std::string_view kFileMagic = "CSCKV1F\n";
constexpr std::string_view kPageMagic = "CSCKV1P\n";
constexpr uint32_t kCompressed = 1;

// Places in the page header. The file header has the first three.
constexpr size_t kMagicAt = 0;
constexpr size_t kVersionAt = 8;
constexpr size_t kFileIdAt = 16;
constexpr size_t kFlagsAt = 12;
constexpr size_t kOffsetAt = 24;
constexpr size_t kModelAt = 32;
constexpr size_t kParentAt = 64;
constexpr size_t kKeyAt = 96;
constexpr size_t kPositionAt = 128;
constexpr size_t kTokenCountAt = 136;
constexpr size_t kTenantBytesAt = 140;
constexpr size_t kPageBytesAt = 144;
constexpr size_t kStoredBytesAt = 152;
constexpr size_t kPageChecksumAt = 160;
constexpr size_t kTokenIdsAt = 168;
constexpr size_t kTenantAt = kTokenIdsAt + kKvPageTokensMax * sizeof(int32_t);
// From here on, version 1 has zeros.
constexpr size_t kPartCountAt = 680;
constexpr size_t kPartsAt = 688;
constexpr size_t kPartEntryBytes = sizeof(uint32_t) + sizeof(uint64_t);
static_assert(kTenantAt + kKvTenantBytesMax <= kPartCountAt);
constexpr size_t kBlockChecksumAt = kKvBlockBytes - sizeof(uint64_t);
// Earlier programs left zeros here, which mean dense attention.
constexpr size_t kAttentionAt = kPartsAt + kKvPartsMax * kPartEntryBytes;
using AttentionNumbers = std::array<int32_t, 4>;
// From here on, versions 1 and 2 have zeros.
constexpr size_t kSizeCountAt = kAttentionAt + sizeof(AttentionNumbers);
constexpr size_t kSizesAt = kSizeCountAt + sizeof(uint32_t);
constexpr size_t kSizeIndexesAt = kSizesAt + kKvPartSizesMax * sizeof(uint32_t);
static_assert(kSizeCountAt == 3776 && kSizesAt == 3780 && kSizeIndexesAt == 3808);
static_assert(kSizeIndexesAt + kKvPartsMax <= kBlockChecksumAt);

template <class T>
void put(KvBlock& block, size_t at, const T& value) {
  std::memcpy(block.data() + at, &value, sizeof value);
}

template <class T>
T get(std::span<const uint8_t> block, size_t at) {
  T value;
  std::memcpy(&value, block.data() + at, sizeof value);
  return value;
}

void begin(KvBlock& block, std::string_view magic, uint32_t version, uint64_t file_id) {
  std::memcpy(block.data() + kMagicAt, magic.data(), magic.size());
  put(block, kVersionAt, version);
  put(block, kFileIdAt, file_id);
}

void end(KvBlock& block) {
  put(block, kBlockChecksumAt, kv_checksum(std::span(block).first(kBlockChecksumAt)));
}

// The version of the block; 0 if it is damaged, of another kind, or of a version above `newest`.
uint32_t version_of(std::span<const uint8_t> block, std::string_view magic, uint32_t newest) {
  if (block.size() != kKvBlockBytes ||
      std::memcmp(block.data() + kMagicAt, magic.data(), magic.size()) != 0 ||
      get<uint64_t>(block, kBlockChecksumAt) != kv_checksum(block.first(kBlockChecksumAt))) {
    return 0;
  }
  const auto version = get<uint32_t>(block, kVersionAt);
  return version <= newest ? version : 0;
}

uint32_t page_version_of(std::span<const uint8_t> block) {
  return version_of(block, kPageMagic, kKvUnequalPartsVersion);
}

// The sizes of parts, as a header of version 3 has them.
struct PartSizes {
  uint32_t count = 0;                                // of different sizes
  std::array<uint32_t, kKvPartSizesMax> sizes = {};  // each once, in the order of their first parts
  std::array<uint8_t, kKvPartsMax> indexes = {};     // by part: its size's place in `sizes`
  bool operator==(const PartSizes&) const = default;
};

// nullopt if there are more parts or different sizes than a header has room for.
std::optional<PartSizes> part_sizes(std::span<const uint32_t> parts) {
  if (parts.size() > kKvPartsMax) return std::nullopt;
  PartSizes table;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto known = std::span(table.sizes).first(table.count);
    const auto index = static_cast<uint8_t>(std::ranges::find(known, parts[i]) - known.begin());
    if (index == kKvPartSizesMax) return std::nullopt;
    if (index == table.count) table.sizes[table.count++] = parts[i];
    table.indexes[i] = index;
  }
  return table;
}

void put_part_sizes(KvBlock& block, const PartSizes& table) {
  put(block, kSizeCountAt, table.count);
  put(block, kSizesAt, table.sizes);
  put(block, kSizeIndexesAt, table.indexes);
}

// The sizes in memory of `count` parts, at most kKvPartsMax, which a header of version 3 says. Each
// table of parts has one form; nullopt if the header has another one.
std::optional<std::vector<uint32_t>> decode_part_sizes(std::span<const uint8_t> block,
                                                       size_t count) {
  const PartSizes table = {get<uint32_t>(block, kSizeCountAt),
                           get<decltype(PartSizes::sizes)>(block, kSizesAt),
                           get<decltype(PartSizes::indexes)>(block, kSizeIndexesAt)};
  std::vector<uint32_t> parts;
  for (size_t i = 0; i < count; ++i) {
    if (table.indexes[i] >= kKvPartSizesMax) return std::nullopt;
    parts.push_back(table.sizes[table.indexes[i]]);
  }
  // Equal parts are of version 2.
  return table.count >= 2 && part_sizes(parts) == table ? std::optional(parts) : std::nullopt;
}

std::vector<uint8_t> encode_parts(std::span<const KvPart> parts) {
  std::vector<uint8_t> table(parts.size() * kPartEntryBytes);
  uint8_t* to = table.data();
  for (const KvPart& part : parts) {
    std::memcpy(to, &part.bytes, sizeof part.bytes);
    std::memcpy(to + sizeof part.bytes, &part.checksum, sizeof part.checksum);
    to += kPartEntryBytes;
  }
  return table;
}

// Reads the table of parts into `header`, whose other fields are set. False if the numbers do not
// agree.
bool decode_parts(std::span<const uint8_t> block, uint32_t version, KvPageHeader& header) {
  const auto count = get<uint32_t>(block, kPartCountAt);
  if (count < 1 || count > kKvPartsMax) return false;
  const bool is_equal = version != kKvUnequalPartsVersion;
  if (is_equal && header.page_bytes % count != 0) return false;
  const auto sizes =
      is_equal ? equal_parts(header.page_bytes, count) : decode_part_sizes(block, count);
  if (!sizes || !check_kv_parts(header.page_bytes, *sizes).ok()) return false;
  uint64_t stored_bytes = 0;
  bool compressed = false;
  size_t at = kPartsAt;
  for (const uint32_t full_bytes : *sizes) {
    const KvPart part = {get<uint32_t>(block, at), full_bytes,
                         get<uint64_t>(block, at + sizeof(uint32_t))};
    if (part.bytes < 1 || part.bytes > full_bytes) return false;
    stored_bytes += round_up(uint64_t{part.bytes}, uint64_t{kKvBlockBytes});
    compressed |= part.bytes < full_bytes;
    header.parts.push_back(part);
    at += kPartEntryBytes;
  }
  return stored_bytes == header.stored_bytes && compressed == header.compressed &&
         kv_parts_checksum(header.parts) == header.checksum;
}

AttentionNumbers encode_attention(const AttentionMode& mode) {
  return {mode.window, mode.sinks, mode.selected, mode.dense_layers};
}

// nullopt if no user can have chosen such a mode.
std::optional<AttentionMode> decode_attention(const AttentionNumbers& numbers) {
  const AttentionMode mode = {numbers[0], numbers[1], numbers[2], numbers[3]};
  const auto named = parse_attention_mode(to_string(mode));
  return named.ok() && *named == mode ? std::optional(mode) : std::nullopt;
}

bool version_1_sizes_fit(const KvPageHeader& header) {
  return header.stored_bytes >= 1 && header.stored_bytes <= header.page_bytes &&
         (header.compressed || header.stored_bytes == header.page_bytes);
}

}  // namespace

uint64_t KvPageHeader::record_bytes() const {
  return kKvBlockBytes + round_up(stored_bytes, uint64_t{kKvBlockBytes});
}

uint64_t kv_checksum(std::span<const uint8_t> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

uint64_t kv_parts_checksum(std::span<const KvPart> parts) {
  return kv_checksum(encode_parts(parts));
}

std::vector<uint32_t> equal_parts(uint64_t page_bytes, size_t count) {
  CHECK(count >= 1 && page_bytes % count == 0);
  const uint64_t bytes = std::min(page_bytes / count, uint64_t{UINT32_MAX});
  return std::vector<uint32_t>(count, static_cast<uint32_t>(bytes));
}

std::vector<uint32_t> parts_of_layers(std::vector<uint32_t> layers) {
  const uint64_t sum = std::accumulate(layers.begin(), layers.end(), uint64_t{0});
  return check_kv_parts(sum, layers).ok() ? layers : equal_parts(sum, 1);
}

Status check_kv_parts(uint64_t page_bytes, std::span<const uint32_t> parts) {
  if (parts.empty()) return {};
  const uint64_t sum = std::accumulate(parts.begin(), parts.end(), uint64_t{0});
  const bool has_empty = std::ranges::find(parts, 0U) != parts.end();
  if (sum == page_bytes && !has_empty && part_sizes(parts)) return {};
  return invalid_argument(
      "parts", "must be at most " + std::to_string(kKvPartsMax) + " sizes, of at most " +
                   std::to_string(kKvPartSizesMax) +
                   " different ones and none of them 0, whose sum is the page's " +
                   std::to_string(page_bytes) + " bytes; got " + std::to_string(parts.size()) +
                   " sizes, whose sum is " + std::to_string(sum));
}

KvBlock encode_kv_file_header(uint64_t file_id) {
  KvBlock block{};
  begin(block, kFileMagic, kKvFileVersion, file_id);
  end(block);
  return block;
}

std::optional<KvFileHeader> decode_kv_file_header(std::span<const uint8_t> block) {
  const uint32_t version = version_of(block, kFileMagic, kKvFileVersion);
  if (version == 0) return std::nullopt;
  return KvFileHeader{get<uint64_t>(block, kFileIdAt), version};
}

KvBlock encode_kv_page_header(const KvPageHeader& header, uint64_t file_id, uint64_t offset) {
  CHECK(!header.token_ids.empty() && header.token_ids.size() <= kKvPageTokensMax);
  CHECK(header.tenant.size() <= kKvTenantBytesMax);
  CHECK(header.page_bytes >= 1 && header.page_bytes <= kKvPageBytesMax);
  std::vector<uint32_t> part_bytes;
  for (const KvPart& part : header.parts) part_bytes.push_back(part.full_bytes);
  const auto sizes = part_sizes(part_bytes);
  CHECK(sizes);
  const uint32_t version = sizes->count == 0   ? 1
                           : sizes->count == 1 ? kKvFileVersion
                                               : kKvUnequalPartsVersion;
  KvBlock block{};
  begin(block, kPageMagic, version, file_id);
  put(block, kFlagsAt, header.compressed ? kCompressed : 0);
  put(block, kOffsetAt, offset);
  put(block, kModelAt, header.model.bytes);
  put(block, kParentAt, header.parent.bytes);
  put(block, kKeyAt, header.key.bytes);
  put(block, kPositionAt, header.position);
  put(block, kTokenCountAt, static_cast<uint32_t>(header.token_ids.size()));
  put(block, kTenantBytesAt, static_cast<uint32_t>(header.tenant.size()));
  put(block, kPageBytesAt, header.page_bytes);
  put(block, kStoredBytesAt, header.stored_bytes);
  put(block, kPageChecksumAt, header.checksum);
  std::memcpy(block.data() + kTokenIdsAt, header.token_ids.data(),
              header.token_ids.size() * sizeof(int32_t));
  std::memcpy(block.data() + kTenantAt, header.tenant.data(), header.tenant.size());
  put(block, kPartCountAt, static_cast<uint32_t>(header.parts.size()));
  const std::vector<uint8_t> table = encode_parts(header.parts);
  std::ranges::copy(table, block.begin() + kPartsAt);
  put(block, kAttentionAt, encode_attention(header.attention));
  if (version == kKvUnequalPartsVersion) put_part_sizes(block, *sizes);
  end(block);
  return block;
}

std::optional<KvPageHeader> decode_kv_page_header(std::span<const uint8_t> block, uint64_t file_id,
                                                  uint64_t offset) {
  const uint32_t version = page_version_of(block);
  if (version == 0 || get<uint64_t>(block, kFileIdAt) != file_id ||
      get<uint64_t>(block, kOffsetAt) != offset) {
    return std::nullopt;
  }
  const auto flags = get<uint32_t>(block, kFlagsAt);
  const auto tokens = get<uint32_t>(block, kTokenCountAt);
  const auto tenant_bytes = get<uint32_t>(block, kTenantBytesAt);
  const auto attention = decode_attention(get<AttentionNumbers>(block, kAttentionAt));
  KvPageHeader header;
  header.page_bytes = get<uint64_t>(block, kPageBytesAt);
  header.stored_bytes = get<uint64_t>(block, kStoredBytesAt);
  header.compressed = flags == kCompressed;
  header.position = get<int64_t>(block, kPositionAt);
  header.checksum = get<uint64_t>(block, kPageChecksumAt);
  const bool sizes_fit =
      header.page_bytes >= 1 && header.page_bytes <= kKvPageBytesMax &&
      (version == 1 ? version_1_sizes_fit(header) : decode_parts(block, version, header));
  if (flags > kCompressed || tokens < 1 || tokens > kKvPageTokensMax || !sizes_fit ||
      tenant_bytes > kKvTenantBytesMax || header.position < 0 || !attention) {
    return std::nullopt;
  }
  header.attention = *attention;
  header.model.bytes = get<std::array<uint8_t, 32>>(block, kModelAt);
  header.parent.bytes = get<std::array<uint8_t, 32>>(block, kParentAt);
  header.key.bytes = get<std::array<uint8_t, 32>>(block, kKeyAt);
  header.token_ids.resize(tokens);
  std::memcpy(header.token_ids.data(), block.data() + kTokenIdsAt, tokens * sizeof(int32_t));
  header.tenant.assign(reinterpret_cast<const char*>(block.data() + kTenantAt), tenant_bytes);
  return header;
}

std::optional<uint64_t> kv_page_file_id(std::span<const uint8_t> block, uint64_t offset) {
  if (page_version_of(block) == 0 || get<uint64_t>(block, kOffsetAt) != offset) {
    return std::nullopt;
  }
  return get<uint64_t>(block, kFileIdAt);
}

}  // namespace cascade
