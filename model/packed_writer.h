// Packed weights on their way to a file, while they are packed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/replace_file.h"
#include "kernels/packed_matrix.h"
#include "kernels/thread_pool.h"
#include "model/packed_file.h"
#include "model/packed_memory.h"
#include "model/packed_sink.h"

namespace cascade {

// Writes one window while the packers fill another. The two windows are used in turn: their memory
// is used again, because clearing new memory takes longer than packing and writing together. One
// thread at a time, except for drain().
class PackedWriter : public PackedSink {
 public:
  // `body_bytes` is the size of all matrices. `calls` must outlive this.
  PackedWriter(FileCalls& calls, std::unique_ptr<NewFile> file, uint64_t body_bytes);

  uint8_t* window(uint64_t begin, uint64_t end) override;
  // Writes whole pieces. A failure is kept for finish(), and nothing more is written.
  void drain() override;
  // Everything is packed: writes the rest, the checksums and the header, and names the file `path`.
  // Returns the weights, mapped. Call it once. Errors: kIo, field = path.
  Result<PackedMemory> finish(const PackedFileId& id, const std::string& path, ThreadPool& pool);

 private:
  // Bytes [begin, end) of all matrices, some of which have already been written to the file.
  struct Window {
    AlignedBytes memory;
    uint64_t capacity = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  void write_up_to(const Window& window, uint64_t end);

  FileCalls& calls_;
  std::unique_ptr<NewFile> file_;
  PackedFileId sizes_;  // without digests
  Window filled_;       // will be drained
  Window current_;      // packers write to it
  uint64_t written_ = 0;
  std::optional<Error> error_;
};

}  // namespace cascade
