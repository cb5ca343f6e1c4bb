// Opening a GGUF file and the parts that belong to it.
#include "model/gguf/files.h"

#include <cstdio>
#include <set>

#include "base/utf8.h"
#include "model/incomplete_file.h"

namespace cascade {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPartsMax = 1'024;
constexpr std::string_view kSuffix = ".gguf";
// "-00001-of-00003.gguf"
constexpr size_t kPartSuffixBytes = 20;

std::string part_suffix(int64_t index, int64_t count) {
  char text[64];
  std::snprintf(text, sizeof text, "-%05lld-of-%05lld.gguf", static_cast<long long>(index + 1),
                static_cast<long long>(count));
  return text;
}

Result<GgufFiles::Part> open_part(const fs::path& path) {
  ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(path));
  RETURN_IF_ERROR(check_is_downloaded(utf8_replace_malformed(path.native()), file.bytes()));
  Result<GgufHeader> header = parse_gguf_header(file.bytes());
  if (!header.ok()) return in_gguf_file(std::move(header).error(), path);
  return GgufFiles::Part{path, std::move(file), std::move(header).value()};
}

// The number of parts that the model has, and the index of this one.
struct Place {
  int64_t index = 0;
  int64_t count = 1;
};

Result<Place> place_of(const GgufFiles::Part& part) {
  const GgufMetadata& metadata = part.header.metadata;
  Place place;
  const auto read = [&]() -> Status {
    ASSIGN_OR_RETURN(const auto count, metadata.whole("split.count", 0, kPartsMax));
    place.count = count.value_or(0) == 0 ? 1 : *count;
    ASSIGN_OR_RETURN(const auto index, metadata.whole("split.no", 0, place.count - 1));
    place.index = index.value_or(0);
    return {};
  };
  const Status status = read();
  if (!status.ok()) return in_gguf_file(status.error(), part.path);
  return place;
}

Status check_tensor_count(const std::vector<GgufFiles::Part>& parts) {
  std::set<std::string_view> names;
  int64_t count = 0;
  for (const GgufFiles::Part& part : parts) {
    for (const GgufTensor& tensor : part.header.tensors) {
      ++count;
      if (names.insert(tensor.name).second) continue;
      return in_gguf_file(data_corrupt(tensor.name, "is in an earlier part, too"), part.path);
    }
  }
  if (parts.size() == 1) return {};
  const GgufMetadata& metadata = parts.front().header.metadata;
  const auto announced = metadata.whole("split.tensors.count", 0, INT64_MAX);
  if (!announced.ok()) return in_gguf_file(announced.error(), parts.front().path);
  if (!*announced || **announced == count) return {};
  return in_gguf_file(
      data_corrupt("split.tensors.count", "is " + std::to_string(**announced) +
                                              ", but the parts have " + std::to_string(count)),
      parts.front().path);
}

}  // namespace

Error in_gguf_file(Error error, const fs::path& path) {
  error.message += " (in " + utf8_replace_malformed(path.filename().native()) + ")";
  return error;
}

Result<GgufFiles> GgufFiles::open(const fs::path& path) {
  GgufFiles files;
  ASSIGN_OR_RETURN(Part first, open_part(path));
  ASSIGN_OR_RETURN(const Place place, place_of(first));
  files.parts_.push_back(std::move(first));
  if (place.count > 1) {
    const std::string name = path.filename().native();
    const std::string suffix = part_suffix(place.index, place.count);
    if (!name.ends_with(suffix)) {
      return invalid_argument(path.string(), "is part " + std::to_string(place.index + 1) + " of " +
                                                 std::to_string(place.count) +
                                                 ", so its name must end with " + suffix);
    }
    const std::string stem = name.substr(0, name.size() - kPartSuffixBytes);
    if (place.index != 0) {
      return invalid_argument(path.string(), "is a later part of a split model; give the first, " +
                                                 stem + part_suffix(0, place.count));
    }
    for (int64_t i = 1; i < place.count; ++i) {
      ASSIGN_OR_RETURN(Part part,
                       open_part(path.parent_path() / (stem + part_suffix(i, place.count))));
      ASSIGN_OR_RETURN(const Place there, place_of(part));
      if (there.index != i || there.count != place.count) {
        return in_gguf_file(
            data_corrupt("split.no", "says part " + std::to_string(there.index + 1) + " of " +
                                         std::to_string(there.count) + ", the name another"),
            part.path);
      }
      files.parts_.push_back(std::move(part));
    }
  }
  RETURN_IF_ERROR(check_tensor_count(files.parts_));
  return files;
}

std::string GgufFiles::model_name() const {
  std::string name = path().filename().native();
  if (parts_.size() > 1) {
    name.resize(name.size() - kPartSuffixBytes);
  } else if (name.ends_with(kSuffix)) {
    name.resize(name.size() - kSuffix.size());
  }
  return utf8_replace_malformed(name);
}

GgufFiles::Found GgufFiles::find(std::string_view tensor) const {
  for (const Part& part : parts_) {
    for (const GgufTensor& candidate : part.header.tensors) {
      if (candidate.name != tensor) continue;
      const uint64_t bytes = candidate.end - candidate.begin;
      return {&candidate, part.file.bytes().subspan(candidate.begin, bytes)};
    }
  }
  return {};
}

std::vector<MappedFile> GgufFiles::release_files() && {
  std::vector<MappedFile> files;
  for (Part& part : parts_) files.push_back(std::move(part.file));
  parts_.clear();
  return files;
}

}  // namespace cascade
