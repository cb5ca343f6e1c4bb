// One KV file: bytes at places, and what can go wrong with them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_calls.h"
#include "base/result.h"
#include "persist/kv_format.h"

namespace cascade {

// FOLDER/00000001.kv and so on.
std::string kv_file_path(const std::string& folder, int64_t number);
// The number of a file of this name; nullopt if it is no such name.
std::optional<int64_t> kv_file_number(std::string_view name);

// Whether an error of KvFile::open() says that the pages of the file cannot be had any more.
inline bool is_lost(const Error& error) {
  return error.code == ErrorCode::kNotFound || error.code == ErrorCode::kDataCorrupt;
}

// A page to be written: `stored` is what header.checksum is of.
struct KvRecord {
  KvPageHeader header;
  std::span<const uint8_t> stored;
};

// An open file. Errors of all functions: kIo, kNotFound, kResourceExhausted if there is no space;
// field = path. One thread.
class KvFile {
 public:
  // Makes a new file with its header block. Not durable yet, nor is its name.
  static Result<std::unique_ptr<KvFile>> create(FileCalls& calls, const std::string& folder,
                                                int64_t number, uint64_t file_id);
  // Follows no link and waits for nobody. Also kDataCorrupt: what is there is no regular file, or
  // one that this user may not use.
  static Result<std::unique_ptr<KvFile>> open(FileCalls& calls, const std::string& folder,
                                              int64_t number);
  // Use create() or open().
  KvFile(FileCalls& calls, std::string path, int64_t number, int fd);

  int64_t number() const { return number_; }
  const std::string& path() const { return path_; }
  Result<uint64_t> length();

  // Writes records one behind the other from `offset` on, headers included. After an error some of
  // the bytes behind `offset` may be there.
  Status write(std::span<const KvRecord> records, uint64_t file_id, uint64_t offset);
  // Reads into `parts`, in order; returns the bytes read, fewer only where the file ends.
  Result<uint64_t> read(std::vector<iovec> parts, uint64_t offset);
  // The block at `offset`; empty if the file ends before it does.
  Result<std::vector<uint8_t>> read_block(uint64_t offset);
  Status sync();
  Status truncate(uint64_t bytes);
  // Overwrites a range with zeros, or makes a hole of it where the file system can.
  Status scrub(uint64_t offset, uint64_t bytes);
  // Lets the system read a range ahead. Best effort.
  void will_need(uint64_t offset, uint64_t bytes);

 private:
  Error error() const;

  FileCalls& calls_;
  std::string path_;
  int64_t number_;
  OwnedFd file_;
};

}  // namespace cascade
