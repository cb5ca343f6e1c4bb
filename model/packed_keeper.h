// Packed weights on their way from memory to a file, while the model is in use.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "base/replace_file.h"
#include "base/result.h"
#include "model/packed_file.h"

namespace cascade {

// Writes packed weights to a file on a thread of its own, of a lower priority than others. A model
// is thus ready when it is packed, however slow the disk is. When the file has its name, the thread
// maps the file over the weights, piece by piece: then the memory is the file's pages, which other
// processes share and the system may take. The bytes at every address stay the same throughout, so
// the weights may be read at any time, on any thread.
class PackedKeeper {
 public:
  // Receives the error that ended the work, at most once, on the keeper's thread.
  using Failed = std::function<void(const Error& error, std::string_view consequence)>;

  // Starts the thread. `weights` are all matrices, in anonymous memory that begins at a page.
  // Nobody writes to it any more, and it must outlive this, as must `calls`. `path` is the file's
  // name. Throws std::system_error if there can be no thread.
  PackedKeeper(FileCalls& calls, std::unique_ptr<NewFile> file, const PackedFileId& id,
               std::string path, std::span<uint8_t> weights, Failed failed);
  ~PackedKeeper();  // end(), then wait()
  PackedKeeper(const PackedKeeper&) = delete;
  PackedKeeper& operator=(const PackedKeeper&) = delete;

  // Asks the thread to end soon. It deletes a file that lacks more than kFinishBytes, and completes
  // any other. Any thread.
  void end() { ending_ = true; }
  // Waits until the thread has ended. Call it on one thread at a time.
  void wait();

  // A disk that writes 128 MB/s takes half a second for this. So small models are kept even by
  // programs that end at once, and no program waits for long.
  static constexpr uint64_t kFinishBytes = uint64_t{64} << 20;

 private:
  void run();
  Status write();
  Status sync();
  Status map_over();

  FileCalls& calls_;
  std::unique_ptr<NewFile> file_;  // nullptr: it has its name, or was deleted
  const PackedFileId id_;
  const std::string path_;
  const std::span<uint8_t> weights_;
  const Failed failed_;
  std::atomic<bool> ending_ = false;
  bool named_ = false;
  std::thread thread_;
};

}  // namespace cascade
