// Packed weights on their way to a file, while they are packed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/replace_file.h"
#include "kernels/thread_pool.h"
#include "model/packed_file.h"
#include "model/packed_memory.h"

namespace cascade {

// Writes what has been packed behind the packers, and takes the memory from it: the weights are
// never in memory twice. One thread at a time.
class PackedWriter {
 public:
  // `body`: body_bytes bytes of anonymous memory, page-aligned. `calls` must outlive this.
  PackedWriter(FileCalls& calls, std::unique_ptr<NewFile> file, uint8_t* body, uint64_t body_bytes);

  // Everything before `end` is packed. Writes whole pieces of it; those are gone from memory then.
  // A failure is kept for finish(), and nothing more is written.
  void packed_up_to(const uint8_t* end);
  // Writes the rest, the checksums and the header, and names the file `path`. The weights, mapped.
  // Once. Errors: kIo, field = path.
  Result<PackedMemory> finish(const PackedFileId& id, const std::string& path, ThreadPool& pool);

 private:
  void write_up_to(uint64_t end);

  FileCalls& calls_;
  std::unique_ptr<NewFile> file_;
  uint8_t* body_;
  PackedFileId sizes_;  // without digests
  uint64_t written_ = 0;
  std::optional<Error> error_;
};

}  // namespace cascade
