// Which models make room for another one. Pure.
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
  bool is_default = false;  // stays
  bool busy = false;        // requests of it wait or run
  int64_t last_used_us = 0;
};

struct RoomPlan {
  bool fits = false;  // it may be loaded now
  // Else: unload this one and ask again. It was not used for longest of those that are idle, or, if
  // none is, of all: then it is to take no new requests until it is.
  std::string unload;
  bool unload_is_busy = false;
};

// Whether `bytes` more have room under `bytes_max` (0: no limit). Errors: kResourceExhausted, field
// "max_model_memory", if they have none beside the default model alone; it has the numbers.
Result<RoomPlan> plan_room(const std::string& name, int64_t bytes,
                           const std::vector<ResidentModel>& resident, int64_t bytes_max);

// What a file or folder of the models directory is called as a model.
struct ModelFile {
  std::string name;
  bool is_gguf = false;
};
// Of a file (its name ends with ".gguf") or a folder. nullopt for a later part of a split model,
// which counts with the first. Errors: kInvalidArgument, field = the file's name: it can be no
// model's.
Result<std::optional<ModelFile>> model_file_of(const std::string& file_name, bool is_folder);

}  // namespace cascade
