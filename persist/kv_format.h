// The bytes of a KV file: a block that identifies the file, then pages, each after a block that
// says whose K and V they are. docs/data_files.md describes the format for people.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/attention_mode.h"
#include "base/hash.h"
#include "base/result.h"

namespace cascade {

// The version of new files, and of pages whose parts have one size. Version 1, whose pages are not
// divided into parts, is still read; a file of version 2 may have pages of versions 1 to 3.
inline constexpr uint32_t kKvFileVersion = 2;
// The version of pages whose parts have different sizes. No header of a file has it: a program
// that does not know these pages takes them for damaged ones, and can use the others.
inline constexpr uint32_t kKvUnequalPartsVersion = 3;
// The size of a header, and the alignment of everything: a page of memory and of file systems.
inline constexpr size_t kKvBlockBytes = 4096;
inline constexpr size_t kKvPageTokensMax = 64;
inline constexpr size_t kKvTenantBytesMax = 255;
// The most bytes that a page may have: those of 64 tokens of a model with 128 layers and 64 KV
// heads of 256 f32 channels.
inline constexpr uint64_t kKvPageBytesMax = uint64_t{1} << 30;

// The most parts that a page may have: their sizes and checksums fit the page's header.
inline constexpr size_t kKvPartsMax = 256;
// The most different sizes that the parts of a page may have in memory.
inline constexpr size_t kKvPartSizesMax = 7;

using KvBlock = std::array<uint8_t, kKvBlockBytes>;

// A part of a page: one of the ranges that make up the page, which can be read and verified alone.
struct KvPart {
  uint32_t bytes = 0;       // stored: full_bytes, or fewer: a zstd frame
  uint32_t full_bytes = 0;  // in memory
  uint64_t checksum = 0;    // XXH3-64 of the stored bytes
  bool operator==(const KvPart&) const = default;
};

// Describes a page of a chain, and how it is stored.
struct KvPageHeader {
  Digest model;   // the root key of its chain
  Digest parent;  // the chain key of the page before it, or the root key
  Digest key;     // its own chain key
  std::string tenant;
  AttentionMode attention = {};    // in which K and V were computed
  int64_t position = 0;            // of its first token
  std::vector<int32_t> token_ids;  // 1..64
  uint64_t page_bytes = 0;         // in memory
  // In the file: the parts, each rounded up to whole blocks. Version 1: the bytes of the page, or
  // fewer if it is compressed.
  uint64_t stored_bytes = 0;
  bool compressed = false;  // some of the parts are; version 1: the page is one zstd frame
  uint64_t checksum = 0;    // kv_parts_checksum(parts); version 1: XXH3-64 of the stored bytes
  std::vector<KvPart> parts = {};  // at most kKvPartsMax; none in version 1
  bool operator==(const KvPageHeader&) const = default;

  // Header and page, rounded up to whole blocks.
  uint64_t record_bytes() const;
};

// XXH3-64.
uint64_t kv_checksum(std::span<const uint8_t> bytes);
// XXH3-64 of the table of parts, as it is in a page's header: of stored bytes and checksums.
uint64_t kv_parts_checksum(std::span<const KvPart> parts);

// The sizes of `count` parts of one size, which make up a page. A size of 4 GiB or more, which no
// page may have, becomes UINT32_MAX. Precondition: `count` is at least 1 and divides `page_bytes`.
std::vector<uint32_t> equal_parts(uint64_t page_bytes, size_t count);
// The sizes of the parts of a page whose layers have these sizes: a part is a layer if the page's
// header has room for that, else the whole page. Precondition: there is a layer.
std::vector<uint32_t> parts_of_layers(std::vector<uint32_t> layers);
// Whether a page of `page_bytes` can have parts of these sizes in memory. None: the page is one
// part. Error: kInvalidArgument, field "parts".
Status check_kv_parts(uint64_t page_bytes, std::span<const uint32_t> parts);

// The first block of a file. `file_id` is random. Pages carry it, so that a page of another file,
// or one within another page, is not taken for a page of this file.
KvBlock encode_kv_file_header(uint64_t file_id);
// What a file's header says.
struct KvFileHeader {
  uint64_t file_id = 0;
  uint32_t version = 0;  // a file of version 1 gets no more pages
};
// nullopt if the block is damaged or is not a header of a version that is read.
std::optional<KvFileHeader> decode_kv_file_header(std::span<const uint8_t> block);

// The header block of a page, which is at `offset` of the file; of version 1 if the page has no
// parts, of version 3 if they have different sizes, else of version 2. Preconditions: 1..64 token
// ids, a tenant of at most kKvTenantBytesMax bytes, page_bytes in [1, kKvPageBytesMax], no parts or
// such as check_kv_parts() allows.
KvBlock encode_kv_page_header(const KvPageHeader& header, uint64_t file_id, uint64_t offset);
// Reads the block at `offset` of the file; nullopt if it is damaged or is not a page header of this
// place. The numbers of the result are within their limits.
std::optional<KvPageHeader> decode_kv_page_header(std::span<const uint8_t> block, uint64_t file_id,
                                                  uint64_t offset);

// The id of the file to which a page header at `offset` belongs; nullopt as
// decode_kv_page_header().
std::optional<uint64_t> kv_page_file_id(std::span<const uint8_t> block, uint64_t offset);

}  // namespace cascade
