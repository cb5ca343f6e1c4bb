// Compares the daemon's paths with what somebody typed.
#include "clients/ctl/model_place.h"

#include <filesystem>
#include <system_error>

namespace cascade::ctl {
namespace {

namespace fs = std::filesystem;

// The path made absolute, without links as far as it exists, and without a slash at its end.
fs::path resolved(const fs::path& path) {
  std::error_code failed;
  const fs::path canonical = fs::weakly_canonical(fs::absolute(path, failed), failed);
  const fs::path whole = failed ? path : canonical;
  return whole.has_filename() ? whole : whole.parent_path();
}

bool is_of(const std::string& given, const wire::ModelInfo& model) {
  if (model.path.empty()) return fs::path(given).filename() == model.name + ".gguf";
  if (given.find('/') == given.npos) return fs::path(model.path).filename() == given;
  return resolved(given) == resolved(model.path);
}

}  // namespace

std::string without_end_slashes(const std::string& given) {
  const size_t last = given.find_last_not_of('/');
  return last == given.npos ? given.substr(0, 1) : given.substr(0, last + 1);
}

bool is_model_file(const std::string& given) {
  return given.find('/') != given.npos || given.ends_with(".gguf");
}

Result<std::string> model_name_of(const std::string& given, const wire::ModelListReply& models) {
  std::string names;
  for (const wire::ModelInfo& model : models.models) {
    // A model's folder may have a name like a file's.
    if (model.name == given || is_of(given, model)) return model.name;
    names += (names.empty() ? "" : ", ") + model.name;
  }
  const std::string where =
      models.models_dir.empty()
          ? "the daemon has no models directory (cascaded --models-dir)"
          : "the daemon loads what is in " + models.models_dir + ": put it, or a link to it, there";
  return invalid_argument(
      "NAME",
      "\"" + given + "\" is not one of the daemon's models, which are: " + names + "; " + where);
}

}  // namespace cascade::ctl
