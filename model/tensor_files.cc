// The tensors of a model folder: one file, or the shards that an index names.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/utf8.h"
#include "model/folder_file.h"
#include "model/incomplete_file.h"
#include "model/json_fields.h"
#include "model/safetensors.h"
#include "model/text_part.h"
#include "model/unique_json.h"

namespace cascade {
namespace {

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";
constexpr std::string_view kSuffix = ".safetensors";

constexpr size_t kIndexBytesMax = size_t{16} << 20;  // 65,536 entries of 256 bytes
constexpr size_t kShardsMax = 1'024;
constexpr size_t kModelTensorsMax = 65'536;  // of the whole model; the same limit as of one file
constexpr size_t kIndexValuesMax =
    2 * kModelTensorsMax;  // one for each tensor, and room for metadata
constexpr int kIndexDepthMax = 8;
constexpr size_t kFileNameBytesMax = 255;  // NAME_MAX

// Tensor name -> file name.
using WeightMap = std::map<std::string, std::string, std::less<>>;

// A file that has been mapped, and its checked table.
struct Shard {
  std::string file_name;
  MappedFile file;
  std::vector<TensorEntry> entries;
  uint64_t data_begin = 0;  // the entries' offsets count from here
};

// A name that cannot lead out of the folder.
bool is_plain_file_name(std::string_view name) {
  const auto is_bad = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '/'; };
  return name.ends_with(kSuffix) && name.size() <= kFileNameBytesMax && !name.starts_with('.') &&
         std::ranges::none_of(name, is_bad);
}

Result<WeightMap> read_index(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(const std::string text, read_folder_file(path, kIndexBytesMax));
  const JsonLimits limits = {.bytes_max = kIndexBytesMax, .depth_max = kIndexDepthMax};
  ASSIGN_OR_RETURN(const Json index, parse_unique_json(text, kIndexFile, limits, kIndexValuesMax));
  const Json* weights = find_field(index, "weight_map");
  if (weights == nullptr || !weights->is_object() || weights->empty()) {
    return data_corrupt("weight_map", "must be an object of at least one string");
  }
  if (weights->size() > kModelTensorsMax) {
    return data_corrupt("weight_map", "names " + std::to_string(weights->size()) +
                                          " tensors, limit " + std::to_string(kModelTensorsMax));
  }
  WeightMap map;
  for (const auto& [name, file] : weights->items()) {
    if (!file.is_string() || !is_plain_file_name(file.get_ref<const std::string&>())) {
      return data_corrupt(
          "weight_map",
          quote_text(name) + " must be in a file of this folder named *" + std::string(kSuffix) +
              ", not " +
              (file.is_string() ? quote_text(file.get<std::string>()) : file.type_name()));
    }
    map.emplace(name, file.get<std::string>());
  }
  return map;
}

Result<Shard> open_shard(const std::filesystem::path& model_dir, const std::string& file_name) {
  ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(model_dir / file_name));
  RETURN_IF_ERROR(check_is_downloaded((model_dir / file_name).string(), file.bytes()));
  Result<std::vector<TensorEntry>> entries = parse_safetensors_header(file.bytes());
  if (!entries.ok()) {
    Error error = std::move(entries).error();
    error.message += " (in " + file_name + ")";
    return error;
  }
  // A checked table is in order and ends with the file, so the end of the last tensor is the size
  // of the data part.
  const uint64_t data_bytes = entries->empty() ? 0 : entries->back().end;
  const uint64_t data_begin = file.bytes().size() - data_bytes;
  return Shard{file_name, std::move(file), std::move(entries).value(), data_begin};
}

// Opens the shards that `map` names, with only those tensors that `map` places in them. A tensor
// that the index does not name is left out: the index says what the model consists of, and a lookup
// of such a tensor finds none.
Result<std::vector<Shard>> open_shards(const std::filesystem::path& model_dir,
                                       const WeightMap& map) {
  std::set<std::string> file_names;
  for (const auto& [name, file_name] : map) file_names.insert(file_name);
  if (file_names.size() > kShardsMax) {
    return data_corrupt("weight_map", "names " + std::to_string(file_names.size()) +
                                          " files, limit " + std::to_string(kShardsMax));
  }
  std::vector<Shard> shards;
  std::set<std::string, std::less<>> seen;
  for (const std::string& file_name : file_names) {
    ASSIGN_OR_RETURN(Shard shard, open_shard(model_dir, file_name));
    std::erase_if(shard.entries,
                  [&](const TensorEntry& entry) { return !map.contains(entry.name); });
    for (const TensorEntry& entry : shard.entries) {
      const std::string& place = map.find(entry.name)->second;
      if (place != file_name) {
        return data_corrupt(entry.name,
                            "is in " + file_name + ", but the index places it in " + place);
      }
      seen.insert(entry.name);
    }
    shards.push_back(std::move(shard));
  }
  for (const auto& [name, file_name] : map) {
    if (!seen.contains(name)) {
      return data_corrupt(name, "is not in " + file_name + ", where the index places it");
    }
  }
  return shards;
}

// Opens model.safetensors if it exists, as transformers prefers it; else the files that the index
// names.
Result<std::vector<Shard>> open_all(const std::filesystem::path& model_dir) {
  Result<Shard> single = open_shard(model_dir, kSingleFile);
  if (single.ok()) {
    std::vector<Shard> shards;
    shards.push_back(std::move(single).value());
    return shards;
  }
  if (single.error().code != ErrorCode::kNotFound) return std::move(single).error();
  Result<WeightMap> map = read_index(model_dir / kIndexFile);
  if (map.ok()) return open_shards(model_dir, *map);
  if (map.error().code != ErrorCode::kNotFound) return std::move(map).error();
  return not_found(model_dir.string(),
                   std::string("has neither ") + kSingleFile + " nor " + kIndexFile);
}

// "[2048, 64]"
std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (const int64_t dimension : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(dimension);
  }
  return text + "]";
}

}  // namespace

size_t Tensor::file_row(size_t row) const {
  if (interleaved_head_rows == 0) return row;
  const auto rows = static_cast<size_t>(interleaved_head_rows);
  const size_t within = row % rows;
  const size_t half = rows / 2;
  const auto run = static_cast<size_t>(interleaved_run);
  const size_t of_half = within % half;
  return row - within + of_half / run * 2 * run + within / half * run + of_half % run;
}

TensorFiles::TensorFiles(std::filesystem::path place, std::vector<MappedFile> files,
                         std::vector<Source> sources, std::vector<Located> tensors)
    : place_(std::move(place)), files_(std::move(files)), sources_(std::move(sources)) {
  for (Located& located : tensors) {
    bytes_total_ += located.entry.end - located.entry.begin;
    std::string name = located.entry.name;
    CHECK(tensors_.emplace(std::move(name), std::move(located)).second);
  }
}

Result<TensorFiles> TensorFiles::open(const std::filesystem::path& model_dir, bool text_part) {
  ASSIGN_OR_RETURN(std::vector<Shard> shards, open_all(model_dir));
  std::vector<MappedFile> files;
  std::vector<Source> sources;
  std::vector<Located> tensors;
  std::set<std::string> names;
  for (Shard& shard : shards) {
    for (TensorEntry& entry : shard.entries) {
      if (text_part) {
        std::optional<std::string> name = text_part_tensor(entry.name);
        if (!name) continue;
        if (!names.insert(*name).second) {
          return data_corrupt(entry.name, "is a second tensor for " + *name);
        }
        entry.name = *std::move(name);
      }
      tensors.push_back({std::move(entry), files.size(), shard.data_begin});
    }
    sources.push_back({model_dir / shard.file_name, shard.file.identity()});
    files.push_back(std::move(shard.file));
  }
  return TensorFiles(model_dir, std::move(files), std::move(sources), std::move(tensors));
}

Result<Tensor> TensorFiles::find(std::string_view name, std::span<const int64_t> shape) const {
  return tensor(name, shape, false);
}

Result<Tensor> TensorFiles::find_bytes(std::string_view name,
                                       std::span<const int64_t> shape) const {
  return tensor(name, shape, true);
}

Result<Tensor> TensorFiles::tensor(std::string_view name, std::span<const int64_t> shape,
                                   bool is_bytes) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    return not_found(std::string(name), "is not in the model's files");
  }
  const auto& [entry, file, data_begin] = found->second;
  if (!std::ranges::equal(entry.shape, shape)) {
    return invalid_argument(std::string(name), "has shape " + shape_text(entry.shape) +
                                                   ", expected " + shape_text(shape));
  }
  const std::optional<TensorType> type = tensor_type_from_string(entry.type_name);
  if (!type || (*type == TensorType::kU8) != is_bytes) {
    return unsupported(std::string(name), "has type " + entry.type_name + " (supported: " +
                                              (is_bytes ? "U8)" : "F32, F16, BF16)"));
  }
  return Tensor{*type, entry.shape,
                files_[file].bytes().subspan(data_begin + entry.begin, entry.end - entry.begin),
                entry.interleaved_head_rows};
}

bool TensorFiles::unchanged() const {
  return std::ranges::all_of(sources_, [](const Source& source) {
    const auto now = file_identity(source.path);
    return now.ok() && *now == source.identity;
  });
}

std::map<std::string, uint64_t> TensorFiles::bytes_by_type() const {
  std::map<std::string, uint64_t> bytes;
  for (const auto& [name, located] : tensors_) {
    const std::string type = is_mxfp4(name) ? "MXFP4" : located.entry.type_name;
    bytes[type] += located.entry.end - located.entry.begin;
  }
  return bytes;
}

bool TensorFiles::is_mxfp4(std::string_view name) const {
  constexpr std::string_view kBlocks = "_blocks", kScales = "_scales";
  const bool is_part = name.ends_with(kBlocks) || name.ends_with(kScales);
  if (!is_part) return false;
  const std::string whole(name.substr(0, name.size() - kBlocks.size()));
  static_assert(kBlocks.size() == kScales.size());
  const auto is_bytes = [&](std::string_view part) {
    const auto found = tensors_.find(whole + std::string(part));
    return found != tensors_.end() && found->second.entry.type_name == "U8";
  };
  return is_bytes(kBlocks) && is_bytes(kScales);
}

bool TensorFiles::contains(std::string_view name) const {
  return tensors_.find(name) != tensors_.end();
}

std::optional<std::string> TensorFiles::file_of(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return std::nullopt;
  return utf8_replace_malformed(sources_[found->second.file].path.filename().native());
}

std::vector<std::string> TensorFiles::names(std::string_view prefix) const {
  std::vector<std::string> names;
  for (auto it = tensors_.lower_bound(prefix); it != tensors_.end(); ++it) {
    if (!it->first.starts_with(prefix)) break;
    names.push_back(it->first);
  }
  return names;
}

}  // namespace cascade
