// Every node has its bytes twice: as the process sees them, and as the disk has them.
#include "tests/persist/memory_disk.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

namespace cascade::testing {
namespace {

constexpr size_t kSectorBytes = 512;

std::string folder_of(const std::string& path) {
  const size_t end = path.rfind('/');
  return end == 0 ? "/" : path.substr(0, end);
}

int fail(int error) {
  errno = error;
  return -1;
}

}  // namespace

MemoryDisk::MemoryDisk() : owner_(::geteuid()) {
  names_["/"] = std::make_shared<Node>();
  names_["/"]->is_folder = true;
  durable_names_ = names_;
}

MemoryDisk MemoryDisk::copy() const {
  std::map<const Node*, NodePtr> copies;
  const auto copy_of = [&](const NodePtr& node) {
    if (node == nullptr) return node;
    NodePtr& made = copies[node.get()];
    if (made == nullptr) made = std::make_shared<Node>(*node);
    made->locked_by = made->range_locked_by = -1;
    return made;
  };
  MemoryDisk disk;
  for (const auto& [path, node] : names_) disk.names_[path] = copy_of(node);
  for (const auto& [path, node] : durable_names_) disk.durable_names_[path] = copy_of(node);
  disk.pending_names_ = pending_names_;
  for (NameChange& change : disk.pending_names_) {
    for (auto& [path, node] : change.names) node = copy_of(node);
  }
  disk.next_number_ = next_number_;
  disk.capacity_ = capacity_;
  disk.can_punch_ = can_punch_;
  return disk;
}

void MemoryDisk::apply(Bytes& bytes, const Change& change) {
  if (change.kind == Change::Kind::kTruncate) return bytes.resize(change.offset);
  const uint64_t end = change.offset + change.bytes.size();
  const bool grows = change.kind == Change::Kind::kWrite;
  if (end > bytes.size() && grows) bytes.resize(end);
  if (change.offset >= bytes.size()) return;
  const size_t count = std::min<size_t>(change.bytes.size(), bytes.size() - change.offset);
  std::memcpy(bytes.data() + change.offset, change.bytes.data(), count);
}

void MemoryDisk::apply_sectors(Bytes& bytes, const Change& change, Random& random) {
  if (change.kind == Change::Kind::kTruncate) {
    if (random.below(2) == 0) apply(bytes, change);
    return;
  }
  size_t at = 0;
  while (at < change.bytes.size()) {
    const uint64_t offset = change.offset + at;
    const size_t size = std::min(kSectorBytes - offset % kSectorBytes, change.bytes.size() - at);
    const auto begin = change.bytes.begin() + static_cast<ptrdiff_t>(at);
    if (random.below(2) == 0) {
      apply(bytes, {change.kind, offset, Bytes(begin, begin + static_cast<ptrdiff_t>(size))});
    }
    at += size;
  }
}

void MemoryDisk::apply(Names& names, const NameChange& change) {
  for (const auto& [path, node] : change.names) {
    if (node == nullptr) names.erase(path);
  }
  for (const auto& [path, node] : change.names) {
    if (node != nullptr) names[path] = node;
  }
}

void MemoryDisk::change(Node& node, Change change) {
  apply(node.bytes, change);
  node.pending.push_back(std::move(change));
}

void MemoryDisk::change_names(NameChange change) {
  apply(names_, change);
  pending_names_.push_back(std::move(change));
}

void MemoryDisk::cut_power(Random& random) {
  const uint64_t kept = random.below(pending_names_.size() + 1);
  for (uint64_t i = 0; i < kept; ++i) apply(durable_names_, pending_names_[i]);
  std::set<Node*> done;
  for (const auto& [path, node] : durable_names_) {
    if (!done.insert(node.get()).second) continue;
    // Some cuts keep all writes, some keep none, and the others keep something of each write.
    const uint64_t mode = random.below(4);
    for (const Change& change : node->pending) {
      if (mode == 0) break;
      if (mode == 1) apply(node->durable, change);
      if (mode >= 2) apply_sectors(node->durable, change, random);
    }
  }
  restart();
}

void MemoryDisk::cut_power() {
  restart();
}

void MemoryDisk::restart() {
  // If the folder of a name does not exist, the name does not exist either.
  Names reachable;
  for (const auto& [path, node] : durable_names_) {
    if (path != "/" && !reachable.contains(folder_of(path))) continue;
    reachable[path] = node;
    node->pending.clear();
    node->bytes = node->durable;
  }
  names_ = durable_names_ = std::move(reachable);
  pending_names_.clear();
  kill();
}

void MemoryDisk::kill() {
  open_.clear();
  for (const auto& [path, node] : names_) node->locked_by = node->range_locked_by = -1;
}

void MemoryDisk::lose_unsynced(int fd) {
  if (Node* node = node_of(fd); node != nullptr) node->pending.clear();
}

std::vector<std::string> MemoryDisk::paths() const {
  std::vector<std::string> paths;
  for (const auto& [path, node] : names_) {
    if (!node->is_folder) paths.push_back(path);
  }
  return paths;
}

std::vector<uint8_t>& MemoryDisk::bytes(const std::string& path) {
  return names_.at(path)->bytes;
}

bool MemoryDisk::contains(const std::string& text) const {
  for (const auto& [path, node] : names_) {
    const auto found =
        std::search(node->bytes.begin(), node->bytes.end(), text.begin(), text.end(),
                    [](uint8_t byte, char wanted) { return static_cast<char>(byte) == wanted; });
    if (found != node->bytes.end()) return true;
  }
  return false;
}

MemoryDisk::NodePtr MemoryDisk::find(const std::string& path) const {
  const auto found = names_.find(path);
  return found == names_.end() ? nullptr : found->second;
}

MemoryDisk::Node* MemoryDisk::node_of(int fd) {
  const auto found = open_.find(fd);
  if (found != open_.end()) return found->second.node.get();
  errno = EBADF;
  return nullptr;
}

MemoryDisk::NodePtr MemoryDisk::make(const std::string& path, bool is_folder) {
  const std::string folder = folder_of(path);
  const NodePtr parent = find(folder);
  if (parent == nullptr || !parent->is_folder) return fail(ENOENT), nullptr;
  if (read_only_) return fail(EROFS), nullptr;
  auto node = std::make_shared<Node>();
  node->is_folder = is_folder;
  node->number = next_number_++;
  change_names({folder, {{path, node}}});
  return node;
}

int MemoryDisk::open(const std::string& path, int flags, mode_t) {
  NodePtr node = find(path);
  if (node != nullptr && (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return fail(EEXIST);
  if (read_only_ && (flags & O_ACCMODE) != O_RDONLY) return fail(EROFS);
  if (node == nullptr) {
    if ((flags & O_CREAT) == 0) return fail(ENOENT);
    node = make(path, false);
    if (node == nullptr) return -1;
  }
  if (node->is_folder && (flags & O_ACCMODE) != O_RDONLY) return fail(EISDIR);
  if (!node->is_folder && (flags & O_DIRECTORY) != 0) return fail(ENOTDIR);
  if ((flags & O_TRUNC) != 0) change(*node, {Change::Kind::kTruncate, 0, {}});
  open_[next_fd_] = {node, path};
  return next_fd_++;
}

int MemoryDisk::close(int fd) {
  Node* node = node_of(fd);
  if (node == nullptr) return -1;
  if (node->locked_by == fd) node->locked_by = -1;
  if (node->range_locked_by == fd) node->range_locked_by = -1;
  open_.erase(fd);
  return 0;
}

void MemoryDisk::describe(const Node& node, struct stat& info) const {
  info = {};
  info.st_mode = node.is_folder ? S_IFDIR | 0700 : S_IFREG | 0600;
  info.st_uid = owner_;
  info.st_size = static_cast<off_t>(node.bytes.size());
  info.st_ino = node.number;
  info.st_nlink = 1;
}

int MemoryDisk::status(int fd, struct stat& info) {
  const Node* node = node_of(fd);
  if (node == nullptr) return -1;
  describe(*node, info);
  return 0;
}

int MemoryDisk::path_status(const std::string& path, struct stat& info) {
  const NodePtr node = find(path);
  if (node == nullptr) return fail(ENOENT);
  describe(*node, info);
  return 0;
}

ssize_t MemoryDisk::read(int fd, void* to, size_t bytes, uint64_t offset) {
  const Node* node = node_of(fd);
  if (node == nullptr) return -1;
  if (offset >= node->bytes.size()) return 0;
  const size_t count = std::min<size_t>(bytes, node->bytes.size() - offset);
  std::memcpy(to, node->bytes.data() + offset, count);
  return static_cast<ssize_t>(count);
}

uint64_t MemoryDisk::used_bytes() const {
  uint64_t used = 0;
  for (const auto& [path, node] : names_) used += node->bytes.size();
  return used;
}

ssize_t MemoryDisk::write(int fd, const void* from, size_t bytes, uint64_t offset) {
  Node* node = node_of(fd);
  if (node == nullptr) return -1;
  const uint64_t size = node->bytes.size();
  const uint64_t growth = std::max(offset + bytes, size) - size;
  if (const uint64_t used = used_bytes(); used + growth > capacity_) {
    const uint64_t missing = used + growth - capacity_;
    if (missing >= bytes) return fail(ENOSPC);
    bytes -= missing;  // only the part that fits
  }
  const auto* begin = static_cast<const uint8_t*>(from);
  change(*node, {Change::Kind::kWrite, offset, Bytes(begin, begin + bytes)});
  return static_cast<ssize_t>(bytes);
}

ssize_t MemoryDisk::read_parts(int fd, std::span<const iovec> parts, uint64_t offset) {
  ssize_t all = 0;
  for (const iovec& part : parts) {
    const ssize_t done = read(fd, part.iov_base, part.iov_len, offset + all);
    if (done < 0) return -1;
    all += done;
    if (static_cast<size_t>(done) < part.iov_len) break;
  }
  return all;
}

ssize_t MemoryDisk::write_parts(int fd, std::span<const iovec> parts, uint64_t offset) {
  ssize_t all = 0;
  for (const iovec& part : parts) {
    const ssize_t done = write(fd, part.iov_base, part.iov_len, offset + all);
    if (done < 0) return all > 0 ? all : -1;
    all += done;
    if (static_cast<size_t>(done) < part.iov_len) break;
  }
  return all;
}

int MemoryDisk::sync(int fd) {
  Node* node = node_of(fd);
  if (node == nullptr) return -1;
  for (const Change& change : node->pending) apply(node->durable, change);
  node->pending.clear();
  if (!node->is_folder) return 0;
  const std::string folder = open_.at(fd).path;
  std::vector<NameChange> others;
  for (NameChange& change : pending_names_) {
    if (change.folder == folder) {
      apply(durable_names_, change);
    } else {
      others.push_back(std::move(change));
    }
  }
  pending_names_ = std::move(others);
  return 0;
}

int MemoryDisk::truncate(int fd, uint64_t bytes) {
  Node* node = node_of(fd);
  if (node == nullptr) return -1;
  change(*node, {Change::Kind::kTruncate, bytes, {}});
  return 0;
}

int MemoryDisk::punch(int fd, uint64_t offset, uint64_t bytes) {
  Node* node = node_of(fd);
  if (node == nullptr) return -1;
  if (!can_punch_) return fail(EOPNOTSUPP);
  change(*node, {Change::Kind::kPunch, offset, Bytes(bytes, 0)});
  return 0;
}

int MemoryDisk::will_need(int fd, uint64_t, uint64_t) {
  return node_of(fd) == nullptr ? -1 : 0;
}

int MemoryDisk::free_bytes(const std::string&, uint64_t& bytes) {
  bytes = capacity_ - std::min(capacity_, used_bytes());
  return 0;
}

int MemoryDisk::lock(int fd) {
  Node* node = node_of(fd);
  if (node == nullptr) return -1;
  if (node->locked_by >= 0 && node->locked_by != fd) return fail(EWOULDBLOCK);
  node->locked_by = fd;
  return 0;
}

int MemoryDisk::lock_range(int fd, uint64_t, uint64_t) {
  Node* node = node_of(fd);
  if (node == nullptr) return -1;
  if (node->range_locked_by >= 0 && node->range_locked_by != fd) return fail(EAGAIN);
  node->range_locked_by = fd;
  return 0;
}

int MemoryDisk::rename(const std::string& from, const std::string& to) {
  const NodePtr node = find(from);
  if (node == nullptr) return fail(ENOENT);
  change_names({folder_of(to), {{from, nullptr}, {to, node}}});
  return 0;
}

int MemoryDisk::remove(const std::string& path) {
  if (find(path) == nullptr) return fail(ENOENT);
  if (read_only_) return fail(EROFS);
  change_names({folder_of(path), {{path, nullptr}}});
  return 0;
}

int MemoryDisk::make_folder(const std::string& path) {
  if (find(path) != nullptr) return fail(EEXIST);
  return make(path, true) == nullptr ? -1 : 0;
}

int MemoryDisk::list(const std::string& path, std::vector<std::string>& names) {
  const NodePtr node = find(path);
  if (node == nullptr) return fail(ENOENT);
  for (const auto& [name, unused] : names_) {
    if (name != "/" && folder_of(name) == path) names.push_back(name.substr(name.rfind('/') + 1));
  }
  return 0;
}

const uint8_t* MemoryDisk::map(int, uint64_t, size_t) {
  errno = ENODEV;
  return nullptr;
}

}  // namespace cascade::testing
