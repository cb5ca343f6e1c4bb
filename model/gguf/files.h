// A model in GGUF: one file, or the parts of a split one (NAME-00001-of-00003.gguf).
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "model/gguf/header.h"

namespace cascade {

// The files are mapped and checked. Immutable after open; any thread.
class GgufFiles {
 public:
  struct Part {
    std::filesystem::path path;
    MappedFile file;
    GgufHeader header;
  };

  // `path` is the file, or the first part of several: the others are found beside it by name.
  // Errors: as parse_gguf_header and MappedFile::open, with the file's name in the message;
  // kNotFound if a part is missing; kInvalidArgument (field = path) for a part that is not the
  // first, or (field = key) for more than 1,024 parts; kDataCorrupt if parts do not belong
  // together, or hold a tensor twice.
  static Result<GgufFiles> open(const std::filesystem::path& path);

  // The metadata of the first part, which describes the model.
  const GgufMetadata& metadata() const { return parts_.front().header.metadata; }
  const std::vector<Part>& parts() const { return parts_; }
  const std::filesystem::path& path() const { return parts_.front().path; }
  // The file's name, without ".gguf" and the number of the part.
  std::string model_name() const;
  struct Found {
    const GgufTensor* tensor = nullptr;  // null if there is none of that name
    std::span<const uint8_t> bytes;
  };
  Found find(std::string_view tensor) const;

  // Hands over the mapped files. The metadata must not be used afterwards.
  std::vector<MappedFile> release_files() &&;

 private:
  std::vector<Part> parts_;
};

// `error`, with the name of the file that the error is about in the message.
Error in_gguf_file(Error error, const std::filesystem::path& path);

}  // namespace cascade
