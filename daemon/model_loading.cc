// The files of a model are read for the check and again for the load, since making room in between
// may take long.
#include "daemon/model_loading.h"

#include <exception>
#include <filesystem>
#include <new>
#include <system_error>

#include "daemon/descriptor_plan.h"
#include "model/model.h"
#include "persist/state_directory.h"

namespace cascade {
namespace {

namespace fs = std::filesystem;

std::string state_dir_of(const DaemonOptions& options, const std::string& name) {
  return options.state_dir.empty() ? "" : options.state_dir + "/models/" + name;
}

// The number of descriptors for the actors of another model, and for its files while they are read.
// ZeroMQ ends the process if its threads find none, so enough must be free beforehand.
constexpr int64_t kDescriptors = 80;

Status check_descriptors() {
  const int64_t left = free_descriptors();
  if (left >= kDescriptors) return {};
  return resource_exhausted("open files", "only " + std::to_string(left) +
                                              " more can be opened, a model takes up to " +
                                              std::to_string(kDescriptors) +
                                              ": raise the limit (LimitNOFILE= of the unit, "
                                              "ulimit -n)");
}

bool is_absent(const fs::path& path) {
  std::error_code unknown;
  return fs::symlink_status(path, unknown).type() == fs::file_type::not_found;
}

// Calls a function that may throw.
template <class Call>
auto without_exceptions(const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return resource_exhausted("memory", "is not enough to load the model");
  } catch (const std::exception& error) {
    return Error{ErrorCode::kInternal, "", error.what()};
  }
}

// Finds a lock of another process now. The load itself would find it only after other models have
// made room.
Status check_state_dir(const std::string& path) {
  if (path.empty() || is_absent(path)) return {};
  const auto directory = StateDirectory::open(system_file_calls(), path);
  if (!directory.ok()) return directory.error();
  return {};
}

}  // namespace

Result<ModelSize> check_load(const DaemonOptions& options, const CatalogEntry& entry) {
  return without_exceptions([&]() -> Result<ModelSize> {
    RETURN_IF_ERROR(check_model(entry.path, model_options_of(options, entry.name)));
    RETURN_IF_ERROR(check_state_dir(state_dir_of(options, entry.name)));
    return model_size(entry.path, options);
  });
}

Result<std::shared_ptr<LoadedModel>> load_host(const DaemonOptions& options,
                                               const CatalogEntry& entry, Compute& compute) {
  const fs::path state_dir = state_dir_of(options, entry.name);
  const bool is_new = !state_dir.empty() && is_absent(state_dir);
  const bool is_first = is_new && is_absent(state_dir.parent_path());
  auto loaded = without_exceptions([&]() -> Result<std::shared_ptr<LoadedModel>> {
    RETURN_IF_ERROR(check_descriptors());
    auto model = std::make_shared<LoadedModel>();
    ThreadPool packing(options.threads);
    ASSIGN_OR_RETURN(model->host,
                     ModelHost::load(options, {entry.path, state_dir, /*label=*/entry.name},
                                     model->context, compute, packing));
    return model;
  });
  if (loaded.ok() || !is_new) return loaded;
  // Nobody was told of anything in the folder, so it can be removed.
  std::error_code stays;
  fs::remove_all(state_dir, stays);
  if (is_first) fs::remove(state_dir.parent_path(), stays);
  return loaded;
}

}  // namespace cascade
