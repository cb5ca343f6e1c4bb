// A writer holds a lock on its temporary file, so a temporary file whose lock is free was left by a
// crash.
#include "base/replace_file.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "base/random.h"

namespace cascade {
namespace {

constexpr std::string_view kPrefix = "new";
constexpr std::string_view kSuffix = ".tmp";

// A process that deletes abandoned files can mistake a new file for an abandoned one until the new
// file is locked.
constexpr int kAttempts = 8;

// Whether the file is ours: locked, and still in its folder.
bool claim(FileCalls& calls, int fd) {
  struct stat info = {};
  return calls.lock(fd) == 0 && calls.status(fd, info) == 0 && info.st_nlink > 0;
}

}  // namespace

Result<std::unique_ptr<NewFile>> NewFile::create(FileCalls& calls, const std::string& folder) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string temporary = folder + "/" + random_id(kPrefix) + std::string(kSuffix);
    const int fd = calls.open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0) return io_error(folder, errno);
    auto file = std::make_unique<NewFile>(calls, fd, temporary);
    if (claim(calls, fd)) return file;
  }
  return io_error(folder, EBUSY);
}

NewFile::NewFile(FileCalls& calls, int fd, std::string temporary)
    : calls_(calls), file_(calls, fd), temporary_(std::move(temporary)) {}

NewFile::~NewFile() {
  if (!temporary_.empty()) calls_.remove(temporary_);
}

Status NewFile::commit(const std::string& path) {
  if (calls_.rename(temporary_, path) != 0) return io_error(path, errno);
  temporary_.clear();
  if (file_.close() == 0) return {};
  const int close_errno = errno;
  calls_.remove(path);
  return io_error(path, close_errno);
}

Status replace_file(FileCalls& calls, const std::string& path, std::string_view content) {
  auto file = NewFile::create(calls, path.substr(0, path.rfind('/')));
  if (!file.ok()) return Error{file.error().code, path, file.error().message};
  const std::span bytes(reinterpret_cast<const uint8_t*>(content.data()), content.size());
  RETURN_IF_ERROR(write_fully(calls, (*file)->fd(), bytes, 0, path));
  return (*file)->commit(path);
}

bool is_temporary_name(std::string_view name) {
  return name.starts_with(std::string(kPrefix) + "_") && name.ends_with(kSuffix);
}

void remove_if_abandoned(FileCalls& calls, const std::string& path) {
  const OwnedFd file(calls, calls.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  if (file.ok() && calls.lock(file.fd()) == 0) calls.remove(path);
}

}  // namespace cascade
