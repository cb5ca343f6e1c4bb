// Decides which models make room for another one. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace cascade {

// A model that is in memory.
struct ResidentModel {
  std::string name;
  int64_t bytes = 0;        // estimated
  bool is_default = false;  // is never unloaded
  bool busy = false;        // requests of the model wait or run
  int64_t last_used_us = 0;
};

struct RoomPlan {
  bool fits = false;  // the model may be loaded now
  // Otherwise: unload this model and ask again. It is the idle model that was not used for longest.
  // If no model is idle, it is the one of all that was not used for longest; then it must take no
  // new requests until it is idle.
  std::string unload;
  bool unload_is_busy = false;
};

// Whether there is room for `bytes` more under `bytes_max` (0: no limit). Errors:
// kResourceExhausted, field "max_model_memory", if there is no room even beside the default model
// alone; the message has the numbers.
Result<RoomPlan> plan_room(const std::string& name, int64_t bytes,
                           const std::vector<ResidentModel>& resident, int64_t bytes_max);

// The name of a file or folder of the models directory, as a model.
struct ModelFile {
  std::string name;
  bool is_gguf = false;
};
// The model of a file (its name ends with ".gguf") or of a folder. nullopt for a later part of a
// split model, which counts with the first part. Errors: kInvalidArgument, field = the file's name,
// if it cannot be a model's name.
Result<std::optional<ModelFile>> model_file_of(const std::string& file_name, bool is_folder);

}  // namespace cascade
