// Files by POSIX calls: O_CLOEXEC, regular files only.
#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/checked.h"

namespace cascade {
namespace {

constexpr size_t kReadStep = 4096;  // how much the kernel returns of its own files at once

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

struct OpenFile {
  Descriptor descriptor;
  FileIdentity identity;
};

FileIdentity identity_of(const struct stat& info) {
  const auto ns = [](const timespec& time) {
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return {.inode = info.st_ino,
          .bytes = static_cast<uint64_t>(info.st_size),
          .modified_ns = ns(info.st_mtim),
          .changed_ns = ns(info.st_ctim)};
}

Result<OpenFile> open_regular(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a FIFO must not hang; it has no effect on regular files.
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (descriptor.get() < 0) return io_error(path.string(), errno);
  struct stat info = {};
  if (::fstat(descriptor.get(), &info) != 0) return io_error(path.string(), errno);
  if (!S_ISREG(info.st_mode)) return invalid_argument(path.string(), "is not a regular file");
  return OpenFile{std::move(descriptor), identity_of(info)};
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, size_t bytes_max) {
  ASSIGN_OR_RETURN(OpenFile file, open_regular(path));
  const auto too_large = [&] {
    return invalid_argument(path.string(),
                            "is larger than " + std::to_string(bytes_max) + " bytes");
  };
  if (file.identity.bytes > bytes_max) return too_large();
  // Read to the end, wherever that is: a file may grow, and files of /proc and /sys report no size.
  std::string content;
  content.resize(std::min(std::max<size_t>(file.identity.bytes, kReadStep), bytes_max) + 1);
  size_t done = 0;
  for (;;) {
    const ssize_t n = ::read(file.descriptor.get(), content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(path.string(), errno);
    if (n == 0) break;
    done += static_cast<size_t>(n);
    if (done > bytes_max) return too_large();
    if (done == content.size()) content.resize(std::min(2 * done, bytes_max + 1));
  }
  content.resize(done);
  return content;
}

Result<FileIdentity> file_identity(const std::filesystem::path& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return io_error(path.string(), errno);
  return identity_of(info);
}

void release_pages(std::span<const uint8_t> bytes) {
  static const auto page_bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t from = round_up(begin, page_bytes);
  const uintptr_t to = (begin + bytes.size()) / page_bytes * page_bytes;
  if (from < to) ::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);  // best effort
}

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(OpenFile file, open_regular(path));
  if (file.identity.bytes == 0) return MappedFile(nullptr, file.identity);
  void* data =
      ::mmap(nullptr, file.identity.bytes, PROT_READ, MAP_PRIVATE, file.descriptor.get(), 0);
  if (data == MAP_FAILED) return io_error(path.string(), errno);
  return MappedFile(static_cast<const uint8_t*>(data), file.identity);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      identity_(other.identity_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(identity_, other.identity_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<uint8_t*>(data_), size_);
}

}  // namespace cascade
