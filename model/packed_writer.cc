// Writes pieces while the packers go on, then computes checksums from the file, and writes the
// header last.
#include "model/packed_writer.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace cascade {

PackedWriter::PackedWriter(FileCalls& calls, std::unique_ptr<NewFile> file, uint64_t body_bytes)
    : calls_(calls), file_(std::move(file)), sizes_{{}, {}, body_bytes} {}

uint8_t* PackedWriter::window(uint64_t begin, uint64_t end) {
  std::swap(filled_, current_);
  // Whole pieces are written at multiples of their size, so that the file system keeps them in its
  // largest folios. An incomplete piece at the end is kept and written together with its rest.
  current_.begin = begin / kPackedPieceBytes * kPackedPieceBytes;
  current_.end = end;
  if (current_.capacity < end - current_.begin) {
    current_.capacity = end - current_.begin;
    current_.memory = allocate_aligned(current_.capacity);
  }
  uint8_t* memory = current_.memory.get();
  const uint64_t kept = begin - current_.begin;
  if (kept > 0) {
    std::memcpy(memory, filled_.memory.get() + (current_.begin - filled_.begin), kept);
  }
  return memory + kept;
}

void PackedWriter::drain() {
  write_up_to(filled_, filled_.end / kPackedPieceBytes * kPackedPieceBytes);
}

void PackedWriter::write_up_to(const Window& window, uint64_t end) {
  while (!error_ && written_ < end) {
    const uint64_t bytes = std::min<uint64_t>(kPackedPieceBytes, end - written_);
    const std::span piece(window.memory.get() + (written_ - window.begin), bytes);
    const Status status =
        write_fully(calls_, file_->fd(), piece, sizes_.body_offset() + written_, "packed weights");
    if (!status.ok()) {
      error_ = status.error();
      return;
    }
    written_ += bytes;
  }
}

Result<PackedMemory> PackedWriter::finish(const PackedFileId& id, const std::string& path,
                                          ThreadPool& pool) {
  write_up_to(current_, id.body_bytes);
  filled_ = Window();
  current_ = Window();
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
