// A writer holds a lock on its temporary file, so that a lock that is free tells of a crash.
#include "base/replace_file.h"

#include <fcntl.h>

#include <cerrno>
#include <optional>

#include "base/random.h"

namespace cascade {
namespace {

constexpr std::string_view kSuffix = ".tmp";

// Somebody who deletes abandoned files can take a new one for such a file before it is locked.
constexpr int kAttempts = 8;

// Whether the file is ours: locked, and still in its folder.
bool claim(FileCalls& calls, int fd) {
  struct stat info = {};
  return calls.lock(fd) == 0 && calls.status(fd, info) == 0 && info.st_nlink > 0;
}

// Writes the file and gives it its name. The lock lasts until then.
Status finish(FileCalls& calls, OwnedFd& file, std::span<const FilePart> parts,
              const std::string& temporary, const std::string& path) {
  for (const FilePart& part : parts) {
    RETURN_IF_ERROR(write_fully(calls, file.fd(), part.bytes, part.offset, path));
  }
  if (calls.rename(temporary, path) != 0) return io_error(path, errno);
  if (file.close() == 0) return {};
  const int close_errno = errno;
  calls.remove(path);
  return io_error(path, close_errno);
}

}  // namespace

Status replace_file(FileCalls& calls, const std::string& path, std::span<const FilePart> parts) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string temporary = path + "." + random_id("new") + std::string(kSuffix);
    OwnedFd file(calls, calls.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    if (!file.ok()) return io_error(path, errno);
    if (!claim(calls, file.fd())) {
      calls.remove(temporary);
      continue;
    }
    Status written = finish(calls, file, parts, temporary, path);
    if (!written.ok()) calls.remove(temporary);
    return written;
  }
  return io_error(path, EBUSY);
}

bool is_temporary_name(std::string_view name) {
  return name.ends_with(kSuffix) && name.find(".new_") != std::string_view::npos;
}

void remove_if_abandoned(FileCalls& calls, const std::string& path) {
  const OwnedFd file(calls, calls.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  if (file.ok() && calls.lock(file.fd()) == 0) calls.remove(path);
}

}  // namespace cascade
