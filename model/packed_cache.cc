// Opens, checks, maps, writes and deletes the files of a cache.
#include "model/packed_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/replace_file.h"
#include "base/set_aside.h"

namespace cascade {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPackedSuffix = ".packed";
constexpr std::string_view kStampSuffix = ".stamp";

// The coarsest time step of file systems (FAT). A file that was changed this recently may be
// changed again and keep the same time.
constexpr int64_t kTimeStepNs = 2'000'000'000;

// Opening a FIFO must not hang, and a link may lead to a file that is not ours.
constexpr int kRead = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY;

// Whether `name` is 64 hexadecimal digits and `suffix`, as the names of this folder are.
bool is_named(std::string_view name, std::string_view suffix) {
  return name.ends_with(suffix) &&
         digest_from_hex(name.substr(0, name.size() - suffix.size())).has_value();
}

std::string warning_text(const Error& error, std::string_view consequence) {
  return error.field + ": " + error.message + "; " + std::string(consequence);
}

}  // namespace

PackedCache::PackedCache(const fs::path& state_dir, FileCalls& calls, const Clock& clock,
                         LateWarning late_warning)
    : calls_(calls), clock_(clock), late_warning_(std::move(late_warning)) {
  if (state_dir.empty()) return;
  folder_ = (state_dir / "weights").string();
  make_way_for_folder();
  const Status checked = check_folder();
  if (checked.ok() || checked.error().code == ErrorCode::kNotFound) return;
  warn(checked.error(), "packed weights are not kept");
  folder_.clear();
}

// A link to a folder stays: its owner may use it to put the weights on another disk. A link to
// nowhere is in the way.
void PackedCache::make_way_for_folder() {
  const std::string parent = folder_.substr(0, folder_.rfind('/'));
  std::vector<std::string> names;
  if (calls_.list(folder_, names) == 0) return;
  if (errno == ENOENT) {
    if (calls_.list(parent, names) != 0) return;
    if (std::ranges::find(names, fs::path(folder_).filename().string()) == names.end()) return;
  } else if (errno != ENOTDIR && errno != ELOOP) {
    return;
  }
  put_aside(folder_);
}

// rename() replaces files and links, pipes and sockets, but not folders.
void PackedCache::make_way_for_file(const std::string& path) {
  struct stat info = {};
  if (calls_.path_status(path, info) == 0 && S_ISDIR(info.st_mode)) put_aside(path);
}

void PackedCache::put_aside(const std::string& path) {
  const size_t slash = path.rfind('/');
  const auto moved = set_aside(calls_, path.substr(0, slash), path.substr(slash + 1));
  if (!moved.ok()) return;  // the write that follows reports the cause
  warn(data_corrupt(path, "is not what it should be"),
       "it is " + *moved + " now; delete it if nobody needs it");
}

// Refuses a folder where somebody else could exchange the weights: checksums show damage, not
// intent.
Status PackedCache::check_folder() {
  struct stat info = {};
  if (calls_.path_status(folder_, info) != 0) return io_error(folder_, errno);
  if (!S_ISDIR(info.st_mode)) return invalid_argument(folder_, "is not a folder");
  if (info.st_uid != ::geteuid()) return invalid_argument(folder_, "belongs to another user");
  if ((info.st_mode & 0022) != 0) return invalid_argument(folder_, "is writable by others");
  return {};
}

Status PackedCache::make_folder() {
  fs::path path;
  int made = 0;
  for (const fs::path& part : fs::path(folder_)) {
    path /= part;
    made = calls_.make_folder(path.string());  // a folder that exists already is checked below
  }
  if (made != 0 && errno != EEXIST) return io_error(folder_, errno);
  return check_folder();
}

std::string PackedCache::path_of(const PackedFileId& id) const {
  return folder_ + "/" + id.key.hex() + std::string(kPackedSuffix);
}

std::string PackedCache::stamp_path(const SourceState& source) const {
  return folder_ + "/" + source.place.hex() + std::string(kStampSuffix);
}

void PackedCache::warn(const Error& error, std::string_view consequence) {
  warnings_.push_back(warning_text(error, consequence));
}

bool PackedCache::prepare_to_write() {
  if (!usable() || !writable_) return false;
  if (const Status made = make_folder(); !made.ok()) {
    give_up(made.error());
    return false;
  }
  std::vector<std::string> names;
  calls_.list(folder_, names);  // files that cannot be listed stay
  for (const std::string& name : names) {
    if (is_temporary_name(name)) remove_if_abandoned(calls_, folder_ + "/" + name);
  }
  return true;
}

void PackedCache::give_up(const Error& error) {
  writable_ = false;
  warn(error, "packed weights are not kept");
}

Result<SourceStamp> PackedCache::read_stamp(const std::string& path) {
  const OwnedFd file(calls_, calls_.open(path, kRead));
  if (!file.ok()) return io_error(path, errno);
  ASSIGN_OR_RETURN(const auto text, read_fully(calls_, file.fd(), kStampBytesMax, 0, path));
  auto stamp = decode_stamp({reinterpret_cast<const char*>(text.data()), text.size()});
  if (stamp.ok()) return stamp;
  return data_corrupt(path, stamp.error().field + " " + stamp.error().message);
}

std::optional<Digest> PackedCache::known_digest(const SourceState& source) {
  if (!usable()) return std::nullopt;
  const auto stamp = read_stamp(stamp_path(source));
  if (stamp.ok()) {
    return stamp->state == source.state ? std::optional(stamp->weights) : std::nullopt;
  }
  if (stamp.error().code != ErrorCode::kNotFound) {
    warn(stamp.error(), "the model's files are read to tell their digest");
  }
  return std::nullopt;
}

void PackedCache::remember_digest(const SourceState& source, const Digest& weights) {
  // A time far ahead of the clock was set by somebody; a later change gives the file another time.
  const int64_t age_ns = clock_.wall_us() * 1000 - source.changed_ns;
  if (age_ns > -kTimeStepNs && age_ns < kTimeStepNs) return;
  if (!prepare_to_write()) return;
  make_way_for_file(stamp_path(source));
  const Status written = replace_file(calls_, stamp_path(source), encode_stamp(source, weights));
  if (!written.ok()) give_up(written.error());
}

bool PackedCache::may_hold(uint64_t body_bytes) {
  std::vector<std::string> names;
  if (!usable() || calls_.list(folder_, names) != 0) return false;
  const PackedFileId id = {{}, {}, body_bytes};
  return std::ranges::any_of(names, [&](const std::string& name) {
    struct stat info = {};
    return is_named(name, kPackedSuffix) && calls_.path_status(folder_ + "/" + name, info) == 0 &&
           static_cast<uint64_t>(info.st_size) == id.file_bytes();
  });
}

std::optional<PackedMemory> PackedCache::load(const PackedFileId& id, ThreadPool& pool,
                                              LoadProgress* progress) {
  if (!usable()) return std::nullopt;
  const std::string path = path_of(id);
  auto memory = read(path, id, pool, progress);
  if (memory.ok()) return std::move(memory).value();
  if (memory.error().code != ErrorCode::kNotFound) {
    warn(memory.error(), "the weights are packed again");
  }
  return std::nullopt;
}

Result<PackedMemory> PackedCache::read(const std::string& path, const PackedFileId& id,
                                       ThreadPool& pool, LoadProgress* progress) {
  const OwnedFd file(calls_, calls_.open(path, kRead));
  if (!file.ok()) return io_error(path, errno);
  struct stat info = {};
  if (calls_.status(file.fd(), info) != 0) return io_error(path, errno);
  if (!S_ISREG(info.st_mode)) return data_corrupt(path, "is not a regular file");
  ASSIGN_OR_RETURN(const auto head,
                   read_fully(calls_, file.fd(), kPackedHeaderBytes + id.table_bytes(), 0, path));
  const auto checksums = decode_packed_header(head, id);
  if (!checksums.ok()) {
    return data_corrupt(path, checksums.error().field + " " + checksums.error().message);
  }
  if (static_cast<uint64_t>(info.st_size) != id.file_bytes()) {
    return data_corrupt(path, "has " + std::to_string(info.st_size) + " bytes instead of " +
                                  std::to_string(id.file_bytes()));
  }
  ASSIGN_OR_RETURN(PackedMemory memory,
                   PackedMemory::map(calls_, file.fd(), id.body_offset(), id.body_bytes, path));
  const std::span<const uint8_t> body(memory.data(), memory.bytes());
  if (progress != nullptr) progress->expect(static_cast<int64_t>(body.size()));
  std::atomic<int> populate_errno = 0;
  std::atomic<size_t> damaged = SIZE_MAX;
  pool.run(static_cast<int>(id.pieces()), [&](int task, int) {
    const auto piece = packed_piece(id, body, static_cast<size_t>(task));
    if (calls_.populate(piece.data(), piece.size()) != 0) {
      populate_errno = errno;
    } else if (packed_checksum(piece) != (*checksums)[task]) {
      damaged = static_cast<size_t>(task);
    }
    if (progress != nullptr) progress->advance(static_cast<int64_t>(piece.size()));
  });
  if (populate_errno != 0) return io_error(path, populate_errno);
  if (damaged == SIZE_MAX) return memory;
  return data_corrupt(
      path, "is damaged: the checksum of the " + std::to_string(kPackedPieceBytes) + " bytes at " +
                std::to_string(id.body_offset() + damaged * kPackedPieceBytes) + " is wrong");
}

std::unique_ptr<PackedKeeper> PackedCache::keep(const PackedMemory& weights,
                                                const PackedFileId& id) {
  if (!prepare_to_write()) return nullptr;
  // A disk that becomes full while the model is in use takes no chunks either.
  uint64_t free = 0;
  if (calls_.free_bytes(folder_, free) == 0 && free < id.file_bytes()) {
    give_up(resource_exhausted(folder_, "has no room for a file of " +
                                            std::to_string(id.file_bytes()) + " bytes, only for " +
                                            std::to_string(free)));
    return nullptr;
  }
  auto file = NewFile::create(calls_, folder_);
  if (!file.ok()) {
    give_up(file.error());
    return nullptr;
  }
  const std::string path = path_of(id);
  make_way_for_file(path);
  const auto failed = [warn = late_warning_](const Error& error, std::string_view consequence) {
    if (warn) warn(warning_text(error, consequence));
  };
  try {
    return std::make_unique<PackedKeeper>(calls_, std::move(file).value(), id, path,
                                          std::span(weights.data(), weights.bytes()), failed);
  } catch (const std::system_error&) {
    give_up(resource_exhausted(path, "there can be no thread to write it"));
    return nullptr;
  }
}

void PackedCache::clean_up(const SourceState& source, const Digest& current) {
  std::vector<std::string> names;
  if (!usable() || calls_.list(folder_, names) != 0) return;
  std::vector<Digest> digests = {current};
  bool all_stamps_read = true;
  for (const std::string& name : names) {
    const std::string path = folder_ + "/" + name;
    if (!is_named(name, kStampSuffix) || path == stamp_path(source)) continue;
    const auto stamp = read_stamp(path);
    if (stamp.ok()) digests.push_back(stamp->weights);
    all_stamps_read &= stamp.ok();
  }
  if (!all_stamps_read) return;
  for (const std::string& name : names) {
    const std::string path = folder_ + "/" + name;
    if (is_named(name, kPackedSuffix) && is_outdated(path, digests)) calls_.remove(path);
  }
}

// A file that cannot be read stays: the start that needs it deals with it.
bool PackedCache::is_outdated(const std::string& path, const std::vector<Digest>& current) {
  const OwnedFd file(calls_, calls_.open(path, kRead));
  if (!file.ok()) return false;
  const auto head = read_fully(calls_, file.fd(), kPackedHeaderBytes, 0, path);
  if (!head.ok()) return false;
  const auto summary = summarize_packed_header(*head);
  return summary && (summary->packing_version != kPackingVersion ||
                     std::ranges::find(current, summary->weights) == current.end());
}

}  // namespace cascade
