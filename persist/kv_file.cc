// System calls on one descriptor.
#include "persist/kv_file.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <utility>

#include "base/checked.h"
#include "base/failpoint.h"

namespace cascade {
namespace {

constexpr std::string_view kSuffix = ".kv";
constexpr size_t kDigits = 8;

const KvBlock kZeros{};

// Returns a description of the thing in place of a KV file, by the error of open(); empty if the
// error does not tell.
std::string in_its_place(int open_errno) {
  switch (open_errno) {
    case EISDIR: return "is a folder";
    case ELOOP: return "is a link";
    case ENXIO:
    case ENODEV: return "is a socket or a device";
    case EACCES:
    case EPERM: return "may not be read and written by this user";
    default: return {};
  }
}

iovec part_of(const void* data, size_t bytes) {
  return {const_cast<void*>(data), bytes};
}

}  // namespace

std::string kv_file_path(const std::string& folder, int64_t number) {
  std::string digits = std::to_string(number);
  if (digits.size() < kDigits) digits.insert(0, kDigits - digits.size(), '0');
  return folder + "/" + digits + std::string(kSuffix);
}

std::optional<int64_t> kv_file_number(std::string_view name) {
  if (!name.ends_with(kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number < 1) return std::nullopt;
  // Each number has only one name.
  const std::string path = kv_file_path("", number);
  return path.substr(1, path.size() - 1 - kSuffix.size()) == name ? std::optional(number)
                                                                  : std::nullopt;
}

KvFile::KvFile(FileCalls& calls, std::string path, int64_t number, int fd)
    : calls_(calls), path_(std::move(path)), number_(number), file_(calls, fd) {}

Error KvFile::error() const {
  if (errno == ENOSPC || errno == EDQUOT) {
    return resource_exhausted(path_, "there is no space on the disk");
  }
  return io_error(path_, errno);
}

Result<std::unique_ptr<KvFile>> KvFile::create(FileCalls& calls, const std::string& folder,
                                               int64_t number, uint64_t file_id) {
  std::string path = kv_file_path(folder, number);
  const int fd = calls.open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  auto file = std::make_unique<KvFile>(calls, std::move(path), number, fd);
  if (fd < 0) return file->error();
  const KvBlock header = encode_kv_file_header(file_id);
  if (!write_fully(calls, fd, header, 0, file->path()).ok()) {
    const Error why = file->error();
    calls.remove(file->path());
    return why;
  }
  failpoint(Failpoint::kKvCreate);
  return file;
}

Result<std::unique_ptr<KvFile>> KvFile::open(FileCalls& calls, const std::string& folder,
                                             int64_t number) {
  std::string path = kv_file_path(folder, number);
  // Opening a pipe must not wait, and a terminal must not become ours.
  const int fd = calls.open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  auto file = std::make_unique<KvFile>(calls, std::move(path), number, fd);
  if (fd < 0) {
    const int open_errno = errno;
    const std::string other = in_its_place(open_errno);
    return other.empty() ? io_error(file->path(), open_errno) : data_corrupt(file->path(), other);
  }
  struct stat info = {};
  if (calls.status(fd, info) != 0) return file->error();
  if (!S_ISREG(info.st_mode)) return data_corrupt(file->path(), "is a pipe or a device");
  return file;
}

Result<uint64_t> KvFile::length() {
  struct stat info = {};
  if (calls_.status(file_.fd(), info) != 0) return error();
  return static_cast<uint64_t>(info.st_size);
}

Status KvFile::write(std::span<const KvRecord> records, uint64_t file_id, uint64_t offset) {
  std::vector<KvBlock> headers;
  headers.reserve(records.size());
  std::vector<iovec> parts;
  uint64_t at = offset;
  for (const KvRecord& record : records) {
    headers.push_back(encode_kv_page_header(record.header, file_id, at));
    parts.push_back(part_of(headers.back().data(), kKvBlockBytes));
    for (const std::span<const uint8_t> piece : record.pieces) {
      parts.push_back(part_of(piece.data(), piece.size()));
      const size_t padding = round_up(piece.size(), kKvBlockBytes) - piece.size();
      if (padding > 0) parts.push_back(part_of(kZeros.data(), padding));
    }
    at += record.header.record_bytes();
  }
  failpoint(Failpoint::kKvWriteBefore);
  if (is_armed(Failpoint::kKvWriteHalf)) {
    const auto half = parts.begin() + static_cast<ptrdiff_t>(parts.size() / 2);
    (void)write_parts_fully(calls_, file_.fd(), {parts.begin(), half}, offset, path_).ok();
    failpoint(Failpoint::kKvWriteHalf);
  }
  if (!write_parts_fully(calls_, file_.fd(), std::move(parts), offset, path_).ok()) return error();
  failpoint(Failpoint::kKvWriteAfter);
  return {};
}

Result<uint64_t> KvFile::read(std::vector<iovec> parts, uint64_t offset) {
  return read_parts_fully(calls_, file_.fd(), std::move(parts), offset, path_);
}

Result<std::vector<uint8_t>> KvFile::read_block(uint64_t offset) {
  ASSIGN_OR_RETURN(std::vector<uint8_t> block,
                   read_fully(calls_, file_.fd(), kKvBlockBytes, offset, path_));
  if (block.size() < kKvBlockBytes) block.clear();
  return block;
}

Status KvFile::sync() {
  failpoint(Failpoint::kKvSyncBefore);
  if (calls_.sync_data(file_.fd()) != 0) return error();
  failpoint(Failpoint::kKvSyncAfter);
  return {};
}

Status KvFile::truncate(uint64_t bytes) {
  if (calls_.truncate(file_.fd(), bytes) != 0) return error();
  return {};
}

Status KvFile::scrub(uint64_t offset, uint64_t bytes) {
  failpoint(Failpoint::kScrub);
  if (calls_.punch(file_.fd(), offset, bytes) == 0) return {};
  if (errno != EOPNOTSUPP && errno != ENOSYS) return error();
  while (bytes > 0) {
    const uint64_t count = std::min<uint64_t>(bytes, kKvBlockBytes);
    if (!write_fully(calls_, file_.fd(), std::span(kZeros).first(count), offset, path_).ok()) {
      return error();
    }
    offset += count;
    bytes -= count;
  }
  return {};
}

void KvFile::will_need(uint64_t offset, uint64_t bytes) {
  calls_.will_need(file_.fd(), offset, bytes);
}

}  // namespace cascade
