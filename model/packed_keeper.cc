// The pieces first, then the header, the name, and the exchange of memory for the mapped file.
#include "model/packed_keeper.h"

#include <fcntl.h>
#include <pthread.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "base/thread_priority.h"
#include "model/packed_memory.h"

namespace cascade {
namespace {

// Data is synchronised in steps of this size. Otherwise gigabytes would wait for the disk, and with
// them every other file that is synchronised.
constexpr uint64_t kSyncBytes = uint64_t{64} << 20;
static_assert(kSyncBytes % kPackedPieceBytes == 0);

uint64_t offset_of(size_t piece) {
  return uint64_t{piece} * kPackedPieceBytes;
}

}  // namespace

PackedKeeper::PackedKeeper(FileCalls& calls, std::unique_ptr<NewFile> file, const PackedFileId& id,
                           std::string path, std::span<uint8_t> weights, Failed failed)
    : calls_(calls),
      file_(std::move(file)),
      id_(id),
      path_(std::move(path)),
      weights_(weights),
      failed_(std::move(failed)),
      thread_([this] { run(); }) {}

PackedKeeper::~PackedKeeper() {
  end();
  wait();
}

void PackedKeeper::wait() {
  if (thread_.joinable()) thread_.join();
}

void PackedKeeper::run() {
  pthread_setname_np(pthread_self(), "weights");
  lower_thread_priority();
  Status kept;
  try {
    kept = write();
    if (kept.ok() && named_) kept = map_over();
  } catch (const std::bad_alloc&) {
    kept = resource_exhausted(path_, "there is no memory to write it");
  }
  file_.reset();  // deletes a file that has no name yet
  if (kept.ok()) return;
  failed_(kept.error(), named_ ? "the weights from there on keep their own memory"
                               : "packed weights are not kept");
}

Status PackedKeeper::write() {
  std::vector<uint64_t> checksums(id_.pieces());
  for (size_t i = 0; i < checksums.size(); ++i) {
    if (ending_ && id_.body_bytes - offset_of(i) > kFinishBytes) return {};
    const auto piece = packed_piece(id_, weights_, i);
    checksums[i] = packed_checksum(piece);
    const uint64_t at = id_.body_offset() + offset_of(i);
    RETURN_IF_ERROR(write_fully(calls_, file_->fd(), piece, at, path_));
    if ((offset_of(i + 1) % kSyncBytes) == 0) RETURN_IF_ERROR(sync());
  }
  RETURN_IF_ERROR(write_fully(calls_, file_->fd(), encode_packed_header(id_, checksums), 0, path_));
  RETURN_IF_ERROR(sync());
  RETURN_IF_ERROR(file_->commit(path_));
  named_ = true;
  return {};
}

Status PackedKeeper::sync() {
  if (calls_.sync_data(file_->fd()) != 0) return io_error(path_, errno);
  return {};
}

// Each piece is mapped elsewhere first: only what can be read, and is what was written, takes the
// place of the memory. The file may be another process's by now, which has the same bytes.
Status PackedKeeper::map_over() {
  const OwnedFd file(calls_, calls_.open(path_, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!file.ok()) return io_error(path_, errno);
  for (size_t i = 0; i < id_.pieces(); ++i) {
    if (ending_) return {};
    const auto piece = weights_.subspan(offset_of(i), packed_piece(id_, weights_, i).size());
    const uint64_t at = id_.body_offset() + offset_of(i);
    ASSIGN_OR_RETURN(const PackedMemory written,
                     PackedMemory::map(calls_, file.fd(), at, piece.size(), path_));
    if (calls_.populate(written.data(), piece.size()) != 0) return io_error(path_, errno);
    if (std::memcmp(written.data(), piece.data(), piece.size()) != 0) {
      calls_.remove(path_);  // best effort: the next start would find the damage
      return data_corrupt(path_,
                          "does not read back as it was written, at byte " + std::to_string(at));
    }
    if (calls_.map_over(file.fd(), at, piece) != 0) return io_error(path_, errno);
    calls_.populate(piece.data(), piece.size());  // a part that fails is read when it is used
  }
  return {};
}

}  // namespace cascade
