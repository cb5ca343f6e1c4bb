// Files that are either unchanged or wholly new: each is written beside its place, then renamed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/file_calls.h"
#include "base/result.h"

namespace cascade {

// A file that is written under a temporary name and gets its own name in the end. Other processes
// may do the same at the same time: then one of their files has the name in the end. A file that is
// not committed is deleted with this object, if it can be. Nothing is synchronised with the disk:
// after a loss of power the file may be torn, so it must have checksums. That is enough for files
// that can be made again, and it costs no waiting.
class NewFile {
 public:
  // Creates a file of mode 0600 in `folder`, for reading and writing. Errors: kIo, kNotFound if the
  // folder does not exist; field = folder.
  static Result<std::unique_ptr<NewFile>> create(FileCalls& calls, const std::string& folder);
  // Use create(). `fd` is the locked descriptor of the file `temporary`.
  NewFile(FileCalls& calls, int fd, std::string temporary);
  ~NewFile();

  int fd() const { return file_.fd(); }
  // Renames the file to `path`, which is in the same folder, and closes it. Call it once. Errors:
  // kIo, field = path; if closing failed, neither the old nor the new file exists any more, since
  // the content of the new file is not known.
  Status commit(const std::string& path);

 private:
  FileCalls& calls_;
  OwnedFd file_;
  std::string temporary_;  // empty: committed
};

// Makes these bytes the content of the file `path`, or leaves the file as it is. Errors as NewFile;
// field = path.
Status replace_file(FileCalls& calls, const std::string& path, std::string_view content);

// Whether this is the name of a file that a NewFile has not committed yet.
bool is_temporary_name(std::string_view name);

// Deletes a file with a temporary name if no process writes to it: its writer has crashed. Best
// effort.
void remove_if_abandoned(FileCalls& calls, const std::string& path);

}  // namespace cascade
