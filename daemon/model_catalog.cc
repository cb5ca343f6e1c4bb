// A folder with a config.json, or a GGUF file, is a model.
#include "daemon/model_catalog.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/checked.h"
#include "base/model_name.h"
#include "base/utf8.h"
#include "cache/reader_slices.h"
#include "daemon/model_plan.h"
#include "model/memory_estimate.h"
#include "model/model.h"
#include "model/transformer.h"

namespace cascade {
namespace {

namespace fs = std::filesystem;

// A folder with more entries is not read to its end: it is not a models directory.
constexpr int kEntriesMax = 10'000;
// The approximate memory of a tokenizer for each id. With it the estimate of the demo model (8,192
// ids) is 2 to 3 % below the growth of its process; larger vocabularies were not measured.
constexpr int64_t kTokenizerBytesPerId = 300;

// A sequence that begins at a kept state, and keeps another one, needs three.
constexpr int64_t kStateSlotsMin = 3;
// More kept states than this are of no use, and the table of them is searched state by state.
constexpr int64_t kStateSlotsMax = 4096;

struct Extent {
  int64_t disk_bytes = 0;
  int64_t changed_ns = 0;
};

void add_file(const fs::path& path, Extent& extent) {
  std::error_code failed;
  const auto bytes = fs::file_size(path, failed);
  if (failed) return;
  extent.disk_bytes += static_cast<int64_t>(bytes);
  const auto changed = fs::last_write_time(path, failed).time_since_epoch();
  if (failed) return;
  extent.changed_ns = std::max<int64_t>(
      extent.changed_ns, std::chrono::duration_cast<std::chrono::nanoseconds>(changed).count());
}

// For a folder, covers the files in the folder itself; for a GGUF file, the files whose names begin
// alike up to the part's number.
Extent extent_of(const fs::path& path, bool is_gguf) {
  Extent extent;
  std::error_code failed;
  const std::string file = path.filename().native();
  const size_t numbered = file.find("-00001-of-");
  if (is_gguf && numbered == std::string::npos) {
    add_file(path, extent);
    return extent;
  }
  const std::string stem = is_gguf ? file.substr(0, numbered) + "-" : "";
  int left = kEntriesMax;
  fs::directory_iterator entries(is_gguf ? path.parent_path() : path, failed);
  for (; !failed && entries != fs::directory_iterator() && left > 0; entries.increment(failed)) {
    --left;
    const std::string name = entries->path().filename().native();
    if (name.starts_with(stem) && entries->is_regular_file(failed)) add_file(*entries, extent);
  }
  return extent;
}

// "DIR/" and "DIR" give the same path. An empty path stays empty.
std::string absolute_path(const std::string& path) {
  std::error_code failed;
  const fs::path absolute = fs::absolute(path, failed).lexically_normal();
  if (failed || path.empty()) return path;
  return (absolute.has_filename() ? absolute : absolute.parent_path()).native();
}

DaemonOptions with_absolute_paths(DaemonOptions options) {
  options.models_dir = absolute_path(options.models_dir);
  options.model_dir = absolute_path(options.model_dir);
  return options;
}

// Sets how many rows the daemon computes together, and whether it reads pages from disk: it does
// with prompts that are longer than memory.
void set_rows(const ModelConfig& config, const DaemonOptions& options, MemoryDemand& demand) {
  if (config.recurrent.state_floats() > 0) return;  // its prompts must fit memory
  const auto page_bytes =
      static_cast<int64_t>(kv_layout(config, options.kv_type).indexed_page_bytes());
  const int64_t pages = options.kv_bytes_max / page_bytes;
  const bool all_fit = pages * kPageTokens >= config.context_tokens_max;
  if (all_fit || options.state_dir.empty()) return;
  demand.reads = true;
  demand.rows = static_cast<int>(reader_slice_tokens_max(pages, ReaderSliceLimits()));
}

}  // namespace

ModelOptions model_options_of(const DaemonOptions& options, const std::string& name) {
  ModelOptions model = {options.weight_type.value_or(WeightType::kBf16), options.kv_type,
                        options.isa, options.cache_dir,
                        /*weights_as_in_files=*/!options.weight_type};
  // The default model may be named by its path, too.
  const auto chosen = [&](const auto& choices) {
    const auto found = choices.find(name);
    return found == choices.end() && name.empty()
               ? choices.find(model_name_of_path(options.model_dir))
               : found;
  };
  if (const auto file = chosen(options.chat_templates); file != options.chat_templates.end()) {
    model.chat_template = file->second;
  }
  if (const auto scaling = chosen(options.rope_scalings); scaling != options.rope_scalings.end()) {
    model.rope_scaling = scaling->second;
  }
  return model;
}

int64_t state_slot_bytes(const ModelConfig& config) {
  constexpr size_t kSystemPageBytes = 4096;
  return static_cast<int64_t>(
      round_up(config.recurrent.state_floats() * sizeof(float), kSystemPageBytes));
}

Result<int64_t> state_slots(const ModelConfig& config, const DaemonOptions& options) {
  const int64_t state_bytes = state_slot_bytes(config);
  if (state_bytes == 0) return 0;
  const int64_t slots = options.state_bytes_max / state_bytes;
  if (slots >= kStateSlotsMin) return std::min(slots, kStateSlotsMax);
  return invalid_argument("--state-memory",
                          "must be at least " + std::to_string(kStateSlotsMin * state_bytes) +
                              " bytes, three states of this model's recurrent layers, got " +
                              std::to_string(options.state_bytes_max) + " bytes");
}

Result<ModelSize> model_size(const std::string& path, const DaemonOptions& options) {
  ASSIGN_OR_RETURN(const ModelConfig config, load_model_config(path));
  ASSIGN_OR_RETURN(const int64_t states, state_slots(config, options));
  ASSIGN_OR_RETURN(const Kernels* kernels, kernels_for(options.isa));
  ASSIGN_OR_RETURN(const TensorFiles files, open_model_tensors(path));
  const WeightChoice choice = choose_weights(files, model_options_of(options));
  const WeightPlan& plan = choice.plan;
  ASSIGN_OR_RETURN(const PackedWeights weights,
                   describe_model_weights(path, files, config, plan, *kernels));
  MemoryDemand demand = {.weight_type = plan.type,
                         .some_quantized = choice.some_quantized,
                         .kv_type = options.kv_type,
                         .threads = options.threads};
  set_rows(config, options, demand);
  ASSIGN_OR_RETURN(const MemoryEstimate needed, estimate_memory(config, weights.bytes, demand));
  ModelSize size;
  size.weight_types = describe_types(plan.type, weights.types);
  size.weights = static_cast<int64_t>(needed.weights_bytes);
  const auto page_bytes = static_cast<int64_t>(needed.page_bytes);
  if (options.kv_bytes_max < page_bytes) {
    return invalid_argument("--kv-memory", "must be at least " + std::to_string(page_bytes) +
                                               " bytes, one page of this model, got " +
                                               std::to_string(options.kv_bytes_max) + " bytes");
  }
  size.kv = options.kv_bytes_max / page_bytes * page_bytes + states * state_slot_bytes(config);
  size.other =
      static_cast<int64_t>(needed.activation_bytes) + kTokenizerBytesPerId * config.vocab_size;
  return size;
}

ModelCatalog::ModelCatalog(const DaemonOptions& options, std::string default_name)
    : options_(with_absolute_paths(options)), default_name_(std::move(default_name)) {}

CatalogEntry ModelCatalog::describe(std::string name, const std::string& path, bool is_gguf) {
  const Extent extent = extent_of(path, is_gguf);
  const auto found = known_.find(path);
  if (found != known_.end() && found->second.disk_bytes == extent.disk_bytes &&
      found->second.changed_ns == extent.changed_ns && found->second.entry.name == name) {
    return found->second.entry;
  }
  CatalogEntry entry;
  entry.name = std::move(name);
  entry.path = path;
  entry.format = is_gguf ? "gguf" : "folder";
  entry.disk_bytes = extent.disk_bytes;
  const auto size = model_size(path, options_);
  if (size.ok()) {
    entry.size = *size;
  } else {
    entry.problem = size.error();
  }
  known_.insert_or_assign(path, Known{extent.disk_bytes, extent.changed_ns, entry});
  return entry;
}

CatalogEntry ModelCatalog::default_model() {
  std::error_code unknown;
  const bool is_folder = fs::is_directory(options_.model_dir, unknown);
  return describe(default_name_, options_.model_dir, !is_folder);
}

Catalog ModelCatalog::scan() {
  Catalog catalog;
  if (options_.models_dir.empty()) return catalog;
  std::set<std::string> names = {default_name_};
  std::error_code failed;
  fs::directory_iterator entries(options_.models_dir, failed);
  std::vector<fs::path> paths;
  for (; !failed && entries != fs::directory_iterator(); entries.increment(failed)) {
    if (paths.size() == static_cast<size_t>(kEntriesMax)) {
      catalog.warnings.push_back(options_.models_dir + ": has more than " +
                                 std::to_string(kEntriesMax) + " entries; the others are left out");
      break;
    }
    paths.push_back(entries->path());
  }
  if (failed) catalog.warnings.push_back(options_.models_dir + ": " + failed.message());
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    std::error_code unknown;
    const bool is_folder = fs::is_directory(path, unknown);
    const bool is_model = is_folder
                              ? fs::exists(path / "config.json", unknown)
                              : path.extension() == ".gguf" && fs::is_regular_file(path, unknown);
    if (!is_model) continue;
    const auto file = model_file_of(path.filename().native(), is_folder);
    if (!file.ok()) {
      catalog.warnings.push_back(options_.models_dir + ": " + file.error().to_string());
      continue;
    }
    if (!file->has_value()) continue;
    if (!names.insert((*file)->name).second) {
      if ((*file)->name == default_name_) continue;
      catalog.warnings.push_back(options_.models_dir + ": there are two models " + (*file)->name +
                                 "; the first one is used");
      continue;
    }
    catalog.models.push_back(describe((*file)->name, path.native(), (*file)->is_gguf));
  }
  std::erase_if(known_, [&](const auto& known) {
    return known.first != options_.model_dir &&
           std::ranges::none_of(catalog.models,
                                [&](const auto& model) { return model.path == known.first; });
  });
  return catalog;
}

}  // namespace cascade
