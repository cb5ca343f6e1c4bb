// Files that are either as they were or wholly new: written beside their place, then renamed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/file_calls.h"
#include "base/result.h"

namespace cascade {

// A file that is written under a temporary name and given its own in the end. Other processes may
// do the same at the same time: one of the files has the name then. What is not committed is
// deleted with this object, if it can be.
// Nothing is synchronised with the disk: after a loss of power the file may be torn, so it must
// have checksums. That is what files that can be made anew need, and it costs no waiting.
class NewFile {
 public:
  // Creates a file of mode 0600 in `folder`, for reading and writing. Errors: kIo, kNotFound for a
  // folder that is not there; field = folder.
  static Result<std::unique_ptr<NewFile>> create(FileCalls& calls, const std::string& folder);
  // Use create(). `fd` is of the file `temporary`, and locked.
  NewFile(FileCalls& calls, int fd, std::string temporary);
  ~NewFile();

  int fd() const { return file_.fd(); }
  // Names it `path`, which is in the same folder, and closes it. Once. Errors: kIo, field = path;
  // neither file is there then if closing failed: nobody knows what it holds.
  Status commit(const std::string& path);

 private:
  FileCalls& calls_;
  OwnedFd file_;
  std::string temporary_;  // empty: committed
};

// Makes the file `path` of these bytes, or leaves it as it is. Errors as NewFile; field = path.
Status replace_file(FileCalls& calls, const std::string& path, std::string_view content);

// Whether a file of this name is one that a NewFile has before it is committed.
bool is_temporary_name(std::string_view name);

// Deletes such a file if no process writes to it: its writer has crashed. Best effort.
void remove_if_abandoned(FileCalls& calls, const std::string& path);

}  // namespace cascade
