// Packed weights on disk: written once, mapped at every start that follows.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file_calls.h"
#include "base/load_progress.h"
#include "kernels/thread_pool.h"
#include "model/packed_file.h"
#include "model/packed_memory.h"
#include "model/packed_writer.h"
#include "model/source_stamp.h"

namespace cascade {

// The folder STATE_DIR/weights: KEY.packed has packed weights, PLACE.stamp the digest of a model
// folder's weights. Nothing here fails a start: what does not work is said in warnings(), and the
// weights are packed from the model's files. Several processes may use one folder at the same time.
// One thread.
class PackedCache {
 public:
  // An empty `state_dir` is no cache: nothing is found, nothing kept. `calls` and `clock` must
  // outlive this.
  explicit PackedCache(const std::filesystem::path& state_dir,
                       FileCalls& calls = system_file_calls(), const Clock& clock = system_clock());

  // Whether there is a folder to look into or to write to.
  bool usable() const { return !folder_.empty(); }

  // The digest of the model's weights, if its files are as they were when it was computed.
  std::optional<Digest> known_digest(const SourceState& source);
  // Lets the next start know it, unless a file is so young that its times may not tell a change.
  void remember_digest(const SourceState& source, const Digest& weights);

  // Whether some file has the size that `body_bytes` bytes of packed weights would have.
  bool may_hold(uint64_t body_bytes);
  // The weights, mapped read-only; all of them are in memory and have the right checksums.
  // `progress`, if there is one, is told to expect their bytes if a file of them is there.
  std::optional<PackedMemory> load(const PackedFileId& id, ThreadPool& pool,
                                   LoadProgress* progress = nullptr);
  // A file to write weights to; nullptr if that cannot be. The cache must outlive it.
  std::unique_ptr<PackedWriter> start_writing(uint64_t body_bytes);
  // Gives the writer's file its name, and maps it as load() does. nullopt if that, or writing to it
  // before, did not work.
  std::optional<PackedMemory> finish_writing(PackedWriter& writer, const PackedFileId& id,
                                             ThreadPool& pool);
  // Deletes the packed weights that are no model folder's any more: those that no stamp names,
  // where `current` counts as what the stamp of `source` names.
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
  // Makes the folder, and deletes what crashed writers left there.
  bool prepare_to_write();
  // Takes note of a failure to write: it is warned of, and no other file is tried.
  void give_up(const Error& error);

  Result<PackedMemory> read(const std::string& path, const PackedFileId& id, ThreadPool& pool,
                            LoadProgress* progress);
  Result<SourceStamp> read_stamp(const std::string& path);
  bool is_outdated(const std::string& path, const std::vector<Digest>& current);

  FileCalls& calls_;
  const Clock& clock_;
  std::string folder_;  // empty: not usable
  bool writable_ = true;
  std::vector<std::string> warnings_;
};

}  // namespace cascade
