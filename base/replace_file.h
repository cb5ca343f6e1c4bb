// Files that are either as they were or wholly new: written beside their place, then renamed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/file_calls.h"
#include "base/result.h"

namespace cascade {

struct FilePart {
  uint64_t offset = 0;
  std::span<const uint8_t> bytes;
};

// Writes `parts` (zeros between them) to a new file of mode 0600 beside `path`, then renames it to
// `path`. The folder must exist. Other processes may do the same at the same time: one of the files
// is there in the end. On failure nothing of it is left, if that can be deleted.
// Nothing is synchronised with the disk: after a loss of power the file may be torn, so it must
// have checksums. That is what files that can be made anew need, and it costs no waiting.
// Errors: kIo, kNotFound for a folder that is not there; field = path.
Status replace_file(FileCalls& calls, const std::string& path, std::span<const FilePart> parts);

// Whether a file of this name is one that replace_file() writes to before it is renamed.
bool is_temporary_name(std::string_view name);

// Deletes such a file if no process writes to it: its writer has crashed. Best effort.
void remove_if_abandoned(FileCalls& calls, const std::string& path);

}  // namespace cascade
