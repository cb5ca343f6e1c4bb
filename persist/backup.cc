// Pages are copied to the places that their rows name. The rows are copied last, so that every page
// that they name exists.
#include "persist/backup.h"

#include <cerrno>
#include <utility>
#include <vector>

#include "base/replace_file.h"

namespace cascade {

Result<std::unique_ptr<Backup>> Backup::begin(Store& store, const std::string& folder) {
  FileCalls& calls = store.directory().calls();
  RETURN_IF_ERROR(make_folders(calls, folder));
  std::vector<std::string> names;
  if (calls.list(folder, names) != 0) return io_error(folder, errno);
  if (!names.empty()) {
    return Error{ErrorCode::kConflict, "directory", folder + " is not empty"};
  }
  RETURN_IF_ERROR(replace_file(calls, folder + kUnfinishedBackup, ""));
  RETURN_IF_ERROR(sync_folder(calls, folder));
  RETURN_IF_ERROR(make_folders(calls, folder + "/kv"));
  return std::unique_ptr<Backup>(new Backup(store, folder));
}

Result<bool> Backup::step(uint64_t bytes_max) {
  // Commits first: only committed pages have lasting places.
  RETURN_IF_ERROR(store_.commit());
  FileCalls& calls = store_.directory().calls();
  const std::string kv = folder_ + "/kv";
  ASSIGN_OR_RETURN(const bool more, store_.kv().copy_pages(calls, kv, after_, bytes_max));
  if (more) return true;
  RETURN_IF_ERROR(store_.kv().finish_copy(calls, kv));
  const SqliteVfs vfs(calls);
  RETURN_IF_ERROR(store_.database().copy_to(vfs, folder_ + "/metadata.db"));
  RETURN_IF_ERROR(sync_folder(calls, folder_));
  if (calls.remove(folder_ + kUnfinishedBackup) != 0) return io_error(folder_, errno);
  RETURN_IF_ERROR(sync_folder(calls, folder_));
  return false;
}

}  // namespace cascade
