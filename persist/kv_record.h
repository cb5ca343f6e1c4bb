// The stored bytes of one page: parts, each padded to whole blocks, compressed or not.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "persist/kv_format.h"
#include "persist/page_table.h"

namespace cascade {

// A page to write.
struct KvRecord {
  KvPageHeader header;
  // What comes after the header block, in order; each piece is padded to whole blocks.
  std::vector<std::span<const uint8_t>> pieces;
};

// A page that was read as it is stored.
struct StoredRecord {
  KvPageHeader header;          // with its parts
  std::vector<uint8_t> stored;  // header.stored_bytes

  KvRecord record() const { return {header, {stored}}; }
};

// The bytes that the header and the page, which has parts of these sizes, take in a file,
// uncompressed. Precondition: there is a part.
uint64_t kv_record_bytes(std::span<const uint32_t> parts);

// The page in parts of these sizes (none: one part), uncompressed; seal() must follow. The record
// points into `page`, which has header.page_bytes bytes. Precondition: check_kv_parts().
KvRecord kv_record_of(KvPageHeader header, const uint8_t* page, std::span<const uint32_t> parts);
// Replaces pieces by zstd frames, which are made in `frames`, where a frame takes fewer blocks.
// Comes before seal().
void compress(KvRecord& record, std::vector<std::vector<uint8_t>>& frames);
// Completes the header: sizes and checksums of the parts.
void seal(KvRecord& record);

// Returns what a page's header block says. `row` is what the table says of the page; `file_id`
// belongs to its file. Errors of this and the next functions: kDataCorrupt, field = the file.
Result<KvPageHeader> verified_header(const StoredPage& row, std::span<const uint8_t> block,
                                     uint64_t file_id);

// How a page that is stored uncompressed is read straight into `to`: what is appended to `iovecs`
// reads header.stored_bytes. `padding` has a block. `parts` are the sizes of the page's parts
// (none: one part), unless it is of version 1. False if the page is compressed, or cannot have
// these parts.
bool read_in_place(const KvPageHeader& row, std::span<const uint32_t> parts, uint8_t* to,
                   uint8_t* padding, std::vector<iovec>& iovecs);
// Verifies a page that was read in place.
Status verify_in_place(const StoredPage& row, const KvPageHeader& header, const uint8_t* page);
// Verifies the bytes of a page as they are stored: header.stored_bytes.
Status verify_stored(const StoredPage& row, const KvPageHeader& header, const uint8_t* stored);
// Writes the page, header.page_bytes, from its verified stored bytes.
Status unpack(const StoredPage& row, const KvPageHeader& header, const uint8_t* stored,
              uint8_t* page);
// Writes one part, part.full_bytes, from its stored bytes; false if they are damaged.
bool unpack_part(const KvPart& part, const uint8_t* stored, uint8_t* to);

// The error of a page in a KV file.
Error damaged_page(const PagePlace& place, const std::string& what);

}  // namespace cascade
