// The models that the daemon may load: the content of its models directory.
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

// The estimated memory of a loaded model, in bytes.
struct ModelSize {
  int64_t weights = 0;
  int64_t kv = 0;            // the whole budget, and that of recurrent states
  int64_t other = 0;         // tokenizer, activations
  std::string weight_types;  // describe_types()
  int64_t total() const { return weights + kv + other; }
};

struct CatalogEntry {
  std::string name;
  std::string path;    // absolute, since clients run in other folders
  std::string format;  // "folder", "gguf"
  int64_t disk_bytes = 0;
  ModelSize size;                // zeros with `problem`
  std::optional<Error> problem;  // why the model could not be read
};

struct Catalog {
  std::vector<CatalogEntry> models;   // by name
  std::vector<std::string> warnings;  // about entries that were left out
};

// One thread at a time.
class ModelCatalog {
 public:
  // `options` has models_dir and the settings that sizes depend on. `default_name`: a name that no
  // other model has.
  ModelCatalog(const DaemonOptions& options, std::string default_name);

  // Reads the folder again, and the tables of each model's files unless the files are unchanged.
  // Takes some milliseconds for each model. A folder that cannot be read is a warning; without
  // models_dir there are no models.
  Catalog scan();

  // Absolute; empty if there is none.
  const std::string& models_dir() const { return options_.models_dir; }

  // The model that is always loaded.
  CatalogEntry default_model();

 private:
  CatalogEntry describe(std::string name, const std::string& path, bool is_gguf);

  struct Known {
    int64_t disk_bytes = 0;
    int64_t changed_ns = 0;  // when the newest file changed
    CatalogEntry entry;
  };

  const DaemonOptions options_;
  const std::string default_name_;
  std::map<std::string, Known> known_;  // by path
};

// How the daemon loads the model of this name, which is in the models directory. An empty name
// means the default model.
ModelOptions model_options_of(const DaemonOptions& options, const std::string& name = "");

// The memory that a state of the model's recurrent layers takes, in whole pages of the system; 0:
// the model has no such layers.
int64_t state_slot_bytes(const ModelConfig& config);
// Returns how many states the daemon has room for; 0 as above. Error kInvalidArgument,
// "--state-memory": they are fewer than a request needs.
Result<int64_t> state_slots(const ModelConfig& config, const DaemonOptions& options);

// The memory of the model at `path` when it is loaded with these options. Reads its configuration
// and the tables of its files, but no weights. Errors: as load_model() and state_slots();
// "--kv-memory" if it is less than one page of this model.
Result<ModelSize> model_size(const std::string& path, const DaemonOptions& options);

}  // namespace cascade
