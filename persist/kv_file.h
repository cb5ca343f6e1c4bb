// One KV file: reads and writes at offsets, and the errors that they can have.
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
#include "persist/kv_record.h"

namespace cascade {

// FOLDER/00000001.kv and so on.
std::string kv_file_path(const std::string& folder, int64_t number);
// The number of a file with this name; nullopt for other names.
std::optional<int64_t> kv_file_number(std::string_view name);

// Whether an error of KvFile::open() means that the pages of the file are lost.
inline bool is_lost(const Error& error) {
  return error.code == ErrorCode::kNotFound || error.code == ErrorCode::kDataCorrupt;
}

// An open file. Errors of all functions: kIo, kNotFound, kResourceExhausted if there is no space;
// field = path. One thread.
class KvFile {
 public:
  // Makes a new file with its header block. Neither the file nor its name is durable yet.
  static Result<std::unique_ptr<KvFile>> create(FileCalls& calls, const std::string& folder,
                                                int64_t number, uint64_t file_id);
  // Opens a file without following links and without waiting for anybody. Also kDataCorrupt: it is
  // not a regular file, or this user may not use it.
  static Result<std::unique_ptr<KvFile>> open(FileCalls& calls, const std::string& folder,
                                              int64_t number);
  // Use create() or open().
  KvFile(FileCalls& calls, std::string path, int64_t number, int fd);

  int64_t number() const { return number_; }
  const std::string& path() const { return path_; }
  Result<uint64_t> length();

  // Writes records one after the other from `offset` on, headers included. After an error, some of
  // the bytes from `offset` on may have been written.
  Status write(std::span<const KvRecord> records, uint64_t file_id, uint64_t offset);
  // Reads into `parts`, in order; returns the bytes read, fewer only where the file ends.
  Result<uint64_t> read(std::vector<iovec> parts, uint64_t offset);
  // The block at `offset`; empty if the file ends before the block does.
  Result<std::vector<uint8_t>> read_block(uint64_t offset);
  Status sync();
  Status truncate(uint64_t bytes);
  // Overwrites a range with zeros, or turns it into a hole where the file system can.
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
