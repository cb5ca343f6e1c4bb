// A file system in memory whose power can be cut: what was not synchronised may then be lost.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file_calls.h"
#include "base/random.h"

namespace cascade::testing {

// Files and folders, from "/" on. The file system promises what POSIX promises, and no more: fsync
// of a file makes its bytes durable, and fsync of a folder makes the names in the folder durable.
// There is no mmap. One thread.
class MemoryDisk : public FileCalls {
 public:
  MemoryDisk();
  MemoryDisk(MemoryDisk&&) = default;
  MemoryDisk& operator=(MemoryDisk&&) = default;
  // The same files, none of them open. Changes of the copy are not seen here.
  MemoryDisk copy() const;

  // Cuts the power. Of the writes that were not synchronised, a random part is kept, in sectors of
  // 512 bytes; of the changes of names, a random beginning is kept. Everything is closed.
  void cut_power(Random& random);
  // Cuts the power, and keeps nothing that was not synchronised.
  void cut_power();
  // Ends the process: everything is closed, and nothing else happens.
  void kill();
  // Does to a file what a failed fsync does on Linux: what was written since the last fsync will
  // never be on the disk, though it can be read back until the power is cut.
  void lose_unsynced(int fd);

  // The disk holds `bytes` bytes, holes included.
  void set_capacity(uint64_t bytes) { capacity_ = bytes; }
  void set_read_only(bool read_only) { read_only_ = read_only; }
  void set_owner(uid_t owner) { owner_ = owner; }
  void set_can_punch(bool can_punch) { can_punch_ = can_punch; }

  size_t open_files() const { return open_.size(); }
  // Regular files, by path.
  std::vector<std::string> paths() const;
  bool has(const std::string& path) const { return names_.contains(path); }
  // The bytes of a file, to look at and to damage, until the power is cut. The file must exist.
  std::vector<uint8_t>& bytes(const std::string& path);
  // Whether some file holds `text`.
  bool contains(const std::string& text) const;

  int open(const std::string& path, int flags, mode_t mode) override;
  int close(int fd) override;
  int status(int fd, struct stat& info) override;
  int path_status(const std::string& path, struct stat& info) override;
  ssize_t read(int fd, void* to, size_t bytes, uint64_t offset) override;
  ssize_t write(int fd, const void* from, size_t bytes, uint64_t offset) override;
  ssize_t read_parts(int fd, std::span<const iovec> parts, uint64_t offset) override;
  ssize_t write_parts(int fd, std::span<const iovec> parts, uint64_t offset) override;
  int sync(int fd) override;
  int sync_data(int fd) override { return sync(fd); }
  int truncate(int fd, uint64_t bytes) override;
  int punch(int fd, uint64_t offset, uint64_t bytes) override;
  int will_need(int fd, uint64_t offset, uint64_t bytes) override;
  int free_bytes(const std::string& path, uint64_t& bytes) override;
  int lock(int fd) override;
  int lock_range(int fd, uint64_t offset, uint64_t bytes) override;
  int rename(const std::string& from, const std::string& to) override;
  int remove(const std::string& path) override;
  int make_folder(const std::string& path) override;
  int list(const std::string& path, std::vector<std::string>& names) override;
  const uint8_t* map(int fd, uint64_t offset, size_t bytes) override;

 private:
  using Bytes = std::vector<uint8_t>;
  struct Change {
    enum class Kind { kWrite, kTruncate, kPunch } kind;
    uint64_t offset;  // kTruncate: the new length
    Bytes bytes;      // kPunch: zeros
  };
  struct Node {
    bool is_folder = false;
    Bytes bytes;
    Bytes durable;
    std::vector<Change> pending;
    int locked_by = -1;        // flock
    int range_locked_by = -1;  // fcntl, for any range
    uint64_t number = 0;
  };
  using NodePtr = std::shared_ptr<Node>;
  using Names = std::map<std::string, NodePtr>;
  // Names that change together; nullptr: the name is removed.
  struct NameChange {
    std::string folder;
    std::vector<std::pair<std::string, NodePtr>> names;
  };
  struct OpenFile {
    NodePtr node;
    std::string path;
  };

  static void apply(Bytes& bytes, const Change& change);
  static void apply(Names& names, const NameChange& change);
  static void apply_sectors(Bytes& bytes, const Change& change, Random& random);
  void change(Node& node, Change change);
  void change_names(NameChange change);
  NodePtr find(const std::string& path) const;
  Node* node_of(int fd);
  NodePtr make(const std::string& path, bool is_folder);
  void describe(const Node& node, struct stat& info) const;
  void restart();
  uint64_t used_bytes() const;

  Names names_;
  Names durable_names_;
  std::vector<NameChange> pending_names_;
  std::map<int, OpenFile> open_;
  int next_fd_ = 1000;
  uint64_t next_number_ = 1;
  uint64_t capacity_ = uint64_t{1} << 40;
  bool read_only_ = false;
  bool can_punch_ = true;
  uid_t owner_;
};

}  // namespace cascade::testing
