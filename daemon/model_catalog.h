// The models that the daemon may load: what is in its models directory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/options.h"
#include "model/model.h"

namespace cascade {

// What a loaded model takes, estimated, in bytes.
struct ModelSize {
  int64_t weights = 0;
  int64_t kv = 0;                              // the whole budget
  int64_t other = 0;                           // tokenizer, activations
  WeightType weight_type = WeightType::kBf16;  // of most of them
  int64_t total() const { return weights + kv + other; }
};

struct CatalogEntry {
  std::string name;
  std::string path;    // absolute: clients run in other folders
  std::string format;  // "folder", "gguf"
  int64_t disk_bytes = 0;
  ModelSize size;                // zeros with `problem`
  std::optional<Error> problem;  // why it could not be read
};

struct Catalog {
  std::vector<CatalogEntry> models;   // by name
  std::vector<std::string> warnings;  // of what was left out
};

// One thread at a time.
class ModelCatalog {
 public:
  // The settings that sizes depend on, and models_dir. `default_name`: which no other model has.
  ModelCatalog(const DaemonOptions& options, std::string default_name);

  // Reads the folder anew; of each model the tables of its files, unless these are as they were.
  // Takes some milliseconds a model. A folder that cannot be read is a warning; without models_dir
  // there are none.
  Catalog scan();

  // Absolute; empty if there is none.
  const std::string& models_dir() const { return options_.models_dir; }

  // The model that is always loaded.
  CatalogEntry default_model();

 private:
  CatalogEntry describe(std::string name, const std::string& path, bool is_gguf);

  struct Known {
    int64_t disk_bytes = 0;
    int64_t changed_ns = 0;  // when the newest of its files was
    CatalogEntry entry;
  };

  const DaemonOptions options_;
  const std::string default_name_;
  std::map<std::string, Known> known_;  // by path
};

// How the daemon loads the model of this name, which is in the models directory; empty: the default
// model.
ModelOptions model_options_of(const DaemonOptions& options, const std::string& name = "");

// What the model at `path` takes when it is loaded with these options: reads its configuration and
// the tables of its files, no weights. Errors: as load_model(); "--kv-memory" holds no page of it.
Result<ModelSize> model_size(const std::string& path, const DaemonOptions& options);

}  // namespace cascade
