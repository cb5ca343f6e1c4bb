// The least recently used models are unloaded first, idle models before busy ones.
#include "daemon/model_plan.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "base/model_name.h"
#include "base/utf8.h"

namespace cascade {
namespace {

constexpr std::string_view kGguf = ".gguf";
// "-00001-of-00003", before ".gguf"
constexpr std::string_view kPartForm = "-#####-of-#####";

// The number of the part, from 1; 0 if the file is not a part of a split model.
int part_of(std::string_view stem) {
  if (stem.size() <= kPartForm.size()) return 0;
  const std::string_view suffix = stem.substr(stem.size() - kPartForm.size());
  int number = 0;
  for (size_t i = 0; i < kPartForm.size(); ++i) {
    const bool digit = suffix[i] >= '0' && suffix[i] <= '9';
    if (kPartForm[i] == '#' ? !digit : suffix[i] != kPartForm[i]) return 0;
    if (i <= 5 && digit) number = number * 10 + (suffix[i] - '0');
  }
  return number;
}

}  // namespace

Result<RoomPlan> plan_room(const std::string& name, int64_t bytes,
                           const std::vector<ResidentModel>& resident, int64_t bytes_max) {
  RoomPlan plan;
  int64_t all = 0;
  int64_t stay = 0;
  const ResidentModel* victim = nullptr;
  for (const ResidentModel& model : resident) {
    all += model.bytes;
    if (model.is_default) {
      stay += model.bytes;
      continue;
    }
    const auto order = [](const ResidentModel& m) { return std::tuple(m.busy, m.last_used_us); };
    if (victim == nullptr || order(model) < order(*victim)) victim = &model;
  }
  plan.fits = bytes_max == 0 || bytes <= bytes_max - all;
  if (plan.fits) return plan;
  if (bytes > bytes_max - stay) {
    const std::string beside =
        stay == 0 ? "" : ", beside the default model's " + std::to_string(stay);
    return Error{ErrorCode::kResourceExhausted, "max_model_memory",
                 "the model " + name + " takes " + std::to_string(bytes) + " bytes" + beside +
                     "; max_model_memory is " + std::to_string(bytes_max)};
  }
  CHECK(victim != nullptr);  // the models in the way can be unloaded
  plan.unload = victim->name;
  plan.unload_is_busy = victim->busy;
  return plan;
}

Result<std::optional<ModelFile>> model_file_of(const std::string& file_name, bool is_folder) {
  ModelFile file = {file_name, !is_folder};
  if (!is_folder) {
    file.name.resize(file.name.size() - std::min(file.name.size(), kGguf.size()));
    const int part = part_of(file.name);
    if (part > 1) return std::optional<ModelFile>();
    if (part == 1) file.name.resize(file.name.size() - kPartForm.size());
  }
  const std::string field = utf8_replace_malformed(file_name);
  if (!is_model_name(file.name)) {
    return invalid_argument(field, std::string("as a model's name ") + kModelNameRule);
  }
  if (file.name == "default") {
    return invalid_argument(field, "\"default\" is another name of the model of --model");
  }
  return std::optional<ModelFile>(std::move(file));
}

}  // namespace cascade
