// Which text files a model folder may lead to.
#include "model/folder_file.h"

#include <algorithm>
#include <system_error>

#include "base/file.h"
#include "base/utf8.h"

namespace cascade {
namespace {

namespace fs = std::filesystem;

bool is_inside(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

// CACHE/models--OWNER--NAME/snapshots/REVISION/... has its files in
// CACHE/models--OWNER--NAME/blobs: https://huggingface.co/docs/huggingface_hub/guides/manage-cache
bool is_blob_of(const fs::path& target, const fs::path& folder) {
  for (fs::path at = folder; at.has_relative_path(); at = at.parent_path()) {
    const fs::path above = at.parent_path();
    if (above.filename() == "snapshots")
      return target.parent_path() == above.parent_path() / "blobs";
  }
  return false;
}

bool is_same_file_of_other_model(const fs::path& target, const fs::path& path) {
  std::error_code unreadable;
  return target.filename() == path.filename() &&
         fs::is_regular_file(target.parent_path() / "config.json", unreadable) &&
         fs::is_regular_file(target.parent_path() / "tokenizer.json", unreadable);
}

}  // namespace

Status check_in_model_folder(const fs::path& path) {
  std::error_code unreadable;
  const fs::path target = fs::canonical(path, unreadable);
  if (unreadable) return {};
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const fs::path folder = fs::canonical(parent, unreadable);
  if (unreadable || is_inside(target, folder) || is_blob_of(target, folder) ||
      is_same_file_of_other_model(target, path)) {
    return {};
  }
  return invalid_argument(
      utf8_replace_malformed(path.native()),
      "is a link to " + utf8_replace_malformed(target.native()) +
          ", which is not a file of this model: put a copy into the folder if it belongs to the "
          "model");
}

Result<std::string> read_folder_file(const fs::path& path, size_t bytes_max) {
  RETURN_IF_ERROR(check_in_model_folder(path));
  return read_file(path, bytes_max);
}

}  // namespace cascade
