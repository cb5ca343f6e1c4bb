// Pieces behind the packers, checksums from the file, the header last.
#include "model/packed_writer.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <utility>
#include <vector>

namespace cascade {

PackedWriter::PackedWriter(FileCalls& calls, std::unique_ptr<NewFile> file, uint8_t* body,
                           uint64_t body_bytes)
    : calls_(calls), file_(std::move(file)), body_(body), sizes_{{}, {}, body_bytes} {}

void PackedWriter::packed_up_to(const uint8_t* end) {
  // Whole pieces, at whole pieces: the file system keeps them in folios as large as it has.
  write_up_to(static_cast<uint64_t>(end - body_) / kPackedPieceBytes * kPackedPieceBytes);
}

void PackedWriter::write_up_to(uint64_t end) {
  while (!error_ && written_ < end) {
    const auto piece = packed_piece(sizes_, {body_, sizes_.body_bytes},
                                    static_cast<size_t>(written_ / kPackedPieceBytes));
    const Status status =
        write_fully(calls_, file_->fd(), piece, sizes_.body_offset() + written_, "packed weights");
    if (!status.ok()) {
      error_ = status.error();
      return;
    }
    ::madvise(body_ + written_, piece.size(), MADV_DONTNEED);  // best effort
    written_ += piece.size();
  }
}

Result<PackedMemory> PackedWriter::finish(const PackedFileId& id, const std::string& path,
                                          ThreadPool& pool) {
  write_up_to(id.body_bytes);
  if (error_) return Error{error_->code, path, error_->message};
  ASSIGN_OR_RETURN(PackedMemory memory,
                   PackedMemory::map(calls_, file_->fd(), id.body_offset(), id.body_bytes, path));
  const std::span<const uint8_t> body(memory.data(), memory.bytes());
  std::vector<uint64_t> checksums(id.pieces());
  std::atomic<int> populate_errno = 0;
  pool.run(static_cast<int>(id.pieces()), [&](int task, int) {
    const auto piece = packed_piece(id, body, static_cast<size_t>(task));
    if (calls_.populate(piece.data(), piece.size()) != 0) {
      populate_errno = errno;
    } else {
      checksums[task] = packed_checksum(piece);
    }
  });
  if (populate_errno != 0) return io_error(path, populate_errno);
  RETURN_IF_ERROR(write_fully(calls_, file_->fd(), encode_packed_header(id, checksums), 0, path));
  RETURN_IF_ERROR(file_->commit(path));
  return memory;
}

}  // namespace cascade
