// The pieces first, then the header, the name, and the exchange of memory for the mapped file.
#include "model/packed_keeper.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace cascade {
namespace {

// Out of 19: requests get ten times as much of a core that they share with this.
constexpr int kNiceness = 10;

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
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness);  // best effort
  const Status written = write();
  file_.reset();  // deletes a file that has no name yet
  if (!written.ok()) return failed_(written.error(), "packed weights are not kept");
  if (!named_) return;
  const Status mapped = map_over();
  if (!mapped.ok()) failed_(mapped.error(), "the packed weights keep their own memory");
}

Status PackedKeeper::write() {
  std::vector<uint64_t> checksums(id_.pieces());
  for (size_t i = 0; i < checksums.size(); ++i) {
    if (ending_ && id_.body_bytes - offset_of(i) > kFinishBytes) return {};
    const auto piece = packed_piece(id_, weights_, i);
    checksums[i] = packed_checksum(piece);
    const uint64_t at = id_.body_offset() + offset_of(i);
    RETURN_IF_ERROR(write_fully(calls_, file_->fd(), piece, at, path_));
  }
  RETURN_IF_ERROR(write_fully(calls_, file_->fd(), encode_packed_header(id_, checksums), 0, path_));
  RETURN_IF_ERROR(file_->commit(path_));
  named_ = true;
  return {};
}

// Only what reads back as it was written is mapped. The file may be another process's by now, which
// has the same bytes.
Status PackedKeeper::map_over() {
  const OwnedFd file(calls_, calls_.open(path_, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  if (!file.ok()) return io_error(path_, errno);
  for (size_t i = 0; i < id_.pieces(); ++i) {
    if (ending_) return {};
    const auto piece = weights_.subspan(offset_of(i), packed_piece(id_, weights_, i).size());
    const uint64_t at = id_.body_offset() + offset_of(i);
    ASSIGN_OR_RETURN(const auto written, read_fully(calls_, file.fd(), piece.size(), at, path_));
    if (!std::ranges::equal(written, piece)) {
      return data_corrupt(path_,
                          "does not read back as it was written, at byte " + std::to_string(at));
    }
    if (calls_.map_over(file.fd(), at, piece) != 0 ||
        calls_.populate(piece.data(), piece.size()) != 0) {
      return io_error(path_, errno);
    }
  }
  return {};
}

}  // namespace cascade
