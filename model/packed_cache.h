// Packed weights on disk: written once, mapped at every start that follows.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file_calls.h"
#include "base/load_progress.h"
#include "kernels/thread_pool.h"
#include "model/packed_file.h"
#include "model/packed_keeper.h"
#include "model/packed_memory.h"
#include "model/source_stamp.h"

namespace cascade {

// The folder STATE_DIR/weights. KEY.packed holds packed weights; PLACE.stamp holds the digest of a
// model folder's weights. Nothing here fails a start: warnings() says what did not work, and the
// weights are packed from the model's files instead. Several processes may use one folder at the
// same time. One thread.
class PackedCache {
 public:
  // Receives a warning that comes after warnings() was read, on a thread of its own.
  using LateWarning = std::function<void(const std::string&)>;

  // With an empty `state_dir` there is no cache: nothing is found and nothing is kept. `calls` and
  // `clock` must outlive this, and `calls` also what keep() returns.
  explicit PackedCache(const std::filesystem::path& state_dir,
                       FileCalls& calls = system_file_calls(), const Clock& clock = system_clock(),
                       LateWarning late_warning = {});

  // Whether there is a folder to look into or to write to.
  bool usable() const { return !folder_.empty(); }

  // The digest of the model's weights, if its files are as they were when it was computed.
  std::optional<Digest> known_digest(const SourceState& source);
  // Stores the digest for the next start, unless a file is so young that its times may not show a
  // later change.
  void remember_digest(const SourceState& source, const Digest& weights);

  // Whether some file has the size that `body_bytes` bytes of packed weights would have.
  bool may_hold(uint64_t body_bytes);
  // Maps the weights read-only. All of them are then in memory and have the right checksums.
  // `progress`, unless null, is told to expect the bytes of the weights if there is a file of them.
  std::optional<PackedMemory> load(const PackedFileId& id, ThreadPool& pool,
                                   LoadProgress* progress = nullptr);
  // Starts to write the weights to a file; nullptr if there can be none. `weights` must outlive
  // what is returned. What does not work later is a late warning.
  std::unique_ptr<PackedKeeper> keep(const PackedMemory& weights, const PackedFileId& id);
  // Deletes the packed weights that no model folder uses any more: those that no stamp names, and
  // those of another packing version. `current` counts as the digest in the stamp of `source`.
  void clean_up(const SourceState& source, const Digest& current);

  // What did not work: one sentence each, with the file's path.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::string path_of(const PackedFileId& id) const;
  std::string stamp_path(const SourceState& source) const;
  void make_way_for_folder();
  void make_way_for_file(const std::string& path);
  void put_aside(const std::string& path);
  Status check_folder();
  Status make_folder();
  void warn(const Error& error, std::string_view consequence);
  // Makes the folder, and deletes the files that crashed writers left there.
  bool prepare_to_write();
  // Records a failure to write: adds a warning, and tries no other file.
  void give_up(const Error& error);

  Result<PackedMemory> read(const std::string& path, const PackedFileId& id, ThreadPool& pool,
                            LoadProgress* progress);
  Result<SourceStamp> read_stamp(const std::string& path);
  bool is_outdated(const std::string& path, const std::vector<Digest>& current);

  FileCalls& calls_;
  const Clock& clock_;
  const LateWarning late_warning_;  // may be empty
  std::string folder_;              // empty: not usable
  bool writable_ = true;
  std::vector<std::string> warnings_;
};

}  // namespace cascade
