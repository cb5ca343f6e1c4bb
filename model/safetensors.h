// The tensors of a model in mapped files. Read from safetensors (huggingface.co/docs/safetensors):
// one file, or shards with an index; model/gguf has the other format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "model/tensor_type.h"

namespace cascade {

// A view of one tensor in a mapped file. Row-major, little-endian, possibly unaligned.
struct Tensor {
  TensorType type = TensorType::kF32;
  std::vector<int64_t> shape;
  std::span<const uint8_t> bytes;  // valid as long as the TensorFiles it came from
  // 0: rows are in order. Otherwise the number of rows of each head, which are interleaved: run
  // 2 i + j of the file is run j * head_rows / run / 2 + i of the matrix (model/gguf/tensors.h). A
  // run is a number of rows that stay together.
  int interleaved_head_rows = 0;
  int interleaved_run = 1;

  // The file has the columns of the matrix, one after the other. Only F32, F16 and BF16; rows are
  // in order. `shape` is the matrix's.
  bool transposed = false;

  // kMxfp4Apart: the scale of each block.
  std::span<const uint8_t> scales = {};

  // Where row `row` of the matrix is in the file.
  size_t file_row(size_t row) const;
};

// One entry of a file's table, before anything is mapped.
struct TensorEntry {
  std::string name;
  std::string type_name;  // as written, e.g. "BF16"; the types we cannot read are listed too
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // offsets into the data part
  uint64_t end = 0;
  int interleaved_head_rows = 0;  // as in Tensor; always 0 in safetensors
};

// Parses and checks the header at the start of `file` (the whole file's bytes). Entries come in the
// order of their offsets; they cover the data part exactly.
// Limits: header <= 16 MiB, <= 65,536 tensors, <= 8 dimensions, names <= 512 bytes.
// Errors: kDataCorrupt, field = tensor name or "header": truncated, not JSON, a key twice, an entry
// with other keys than dtype, shape and data_offsets, an unknown type, offsets that overlap, leave
// gaps, run beyond the file, or contradict type x shape.
Result<std::vector<TensorEntry>> parse_safetensors_header(std::span<const uint8_t> file);

// All tensors of a model, mapped: model.safetensors of its folder, the shards that
// model.safetensors.index.json names, or GGUF files. Immutable after open; any thread.
class TensorFiles {
 public:
  struct Source {
    std::filesystem::path path;
    FileIdentity identity;  // when it was opened
  };
  // A checked entry of file number `file`, and the offset where the data part of that file begins.
  struct Located {
    TensorEntry entry;
    size_t file = 0;
    uint64_t data_begin = 0;
  };

  // Takes the results of another format's reader. `place` is the path by which people know the
  // model: the folder, or the file. Preconditions: sources are those of `files`; entries lie in
  // their files; names differ.
  TensorFiles(std::filesystem::path place, std::vector<MappedFile> files,
              std::vector<Source> sources, std::vector<Located> tensors);

  // A folder. model.safetensors wins if both exist. Tensors of a shard that the index does not name
  // are left out: the index says what the model consists of, and find() says that there is no such
  // tensor.
  // Errors: as parse_safetensors_header; as MappedFile::open; kNotFound if neither file exists;
  // kDataCorrupt if the index is malformed, names over 65,536 tensors or 1,024 shards, a shard that
  // is no plain *.safetensors file name, a tensor that its shard lacks, or one that is in two
  // shards.
  // `text_part`: of a multimodal checkpoint, only the tensors of its text part, under the names
  // that a text model has (model/text_part.h). kDataCorrupt if two of them have the same name then.
  static Result<TensorFiles> open(const std::filesystem::path& model_dir, bool text_part = false);

  // The tensor `name` with exactly `shape`. Errors, field = name: kNotFound; kInvalidArgument if
  // the shape differs ("has shape [2048, 64], expected [2048, 128]"); kUnsupported for a type that
  // is not one of weights.
  Result<Tensor> find(std::string_view name, std::span<const int64_t> shape) const;
  // The same for a tensor of type U8. kUnsupported for any other type.
  Result<Tensor> find_bytes(std::string_view name, std::span<const int64_t> shape) const;
  bool contains(std::string_view name) const;
  // The names of all tensors that begin with `prefix`, sorted.
  std::vector<std::string> names(std::string_view prefix) const;
  // The name of the file that has the tensor; nullopt if none does.
  std::optional<std::string> file_of(std::string_view name) const;
  // Bytes of all tensors, by the name of their type. Pairs of NAME_blocks and NAME_scales of type
  // U8 count as "MXFP4".
  std::map<std::string, uint64_t> bytes_by_type() const;
  // Sum of all tensors' bytes.
  uint64_t bytes_total() const { return bytes_total_; }

  // The files that the tensors are in.
  const std::vector<Source>& sources() const { return sources_; }
  const std::filesystem::path& place() const { return place_; }
  // Whether the files are still those that were opened. If not, the data that was read may be a
  // mixture.
  bool unchanged() const;

 private:
  Result<Tensor> tensor(std::string_view name, std::span<const int64_t> shape, bool is_bytes) const;
  bool is_mxfp4(std::string_view name) const;

  std::filesystem::path place_;
  std::vector<MappedFile> files_;
  std::vector<Source> sources_;  // of the files
  std::map<std::string, Located, std::less<>> tensors_;
  uint64_t bytes_total_ = 0;
};

}  // namespace cascade
